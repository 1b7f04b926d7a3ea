#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tetraphone {

// Tells 16-bit samples that are made of the low byte of one and the high byte of the next, as a copy as text leaves
// them and as another byte order has them; sound/audio.py's `mispaired`, a sample at a time.
class Pairing {
 public:
  // Whether enough blocks are wrong to rule chance out.
  bool Wrong(std::int16_t sample) {
    block_[samples_++ % kBlock] = sample;
    return samples_ % kBlock == 0 && BlocksAreWrong();
  }
  // The first sample of the first of them.
  std::uint64_t first() const { return first_; }

 private:
  static constexpr std::size_t kBlock = 512;  // samples over which bytes are compared
  bool BlocksAreWrong();
  bool BlockIsWrong() const;

  std::array<std::int16_t, kBlock> block_;  // the last samples
  std::uint64_t samples_ = 0;
  std::uint64_t first_ = 0;
  int wrong_ = 0;  // blocks, of the span so far
};

}  // namespace tetraphone
