// Band-limited resampling of mono samples, streaming: how samples are cut into calls changes no bit.
//
// A windowed sinc (Kaiser), one row of taps for each phase: flat within 0.1 dB to 0.9 of the lower half rate, 80 dB
// down from that half rate on. Our own, because every processor has to give the same bits and the build for phones
// needs no other library: soxr and others add up in an order that depends on the processor.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "../common/result.h"

namespace tetraphone {

class Resampler {
 public:
  // Equal rates pass samples through untouched.
  static Result<Resampler> Make(int from, int to);

  // Output number m stands for the time of input number m * from / to; it is given once the inputs around it are there.
  // What is returned is valid until the next call.
  const std::vector<float>& Process(const float* samples, std::size_t count);
  // The rest, as if silence followed: round(n * to / from) outputs of n inputs in all. Reset before more samples.
  const std::vector<float>& Finish();
  // As newly made.
  void Reset();
  // See heap_bytes.h.
  std::size_t heap_bytes() const;

 private:
  // Copies of a resampler share it.
  struct Filter {
    Filter(std::int64_t from, std::int64_t to);
    float At(const float* samples, std::int64_t phase) const;

    std::int64_t step;  // from and to in lowest terms: output m is at input m * step / phases
    std::int64_t phases;
    std::int64_t rows;        // of taps: one for each phase, or fewer, between which phases are interpolated
    std::size_t half;         // taps on either side
    std::vector<float> taps;  // [rows + 1, 2 * half]
  };

  explicit Resampler(std::shared_ptr<const Filter> filter);
  void Produce(std::uint64_t most);

  std::shared_ptr<const Filter> filter_;  // none for equal rates
  std::vector<float> pending_;            // inputs that outputs to come need, silence before the first
  std::size_t first_ = 0;                 // of them for the next output
  std::int64_t phase_ = 0;                // of the next output
  std::uint64_t taken_ = 0;
  std::uint64_t given_ = 0;
  std::vector<float> output_;
};

}  // namespace tetraphone
