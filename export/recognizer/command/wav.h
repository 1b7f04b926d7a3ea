// A recording as mono samples, block by block: a WAV file of any kind, or raw 16-bit samples, from a file or a pipe.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "../result.h"

namespace tetraphone {

// Puts 1 to `size` bytes at `to` and gives how many; 0 at the end.
using ReadBytes = std::function<Result<std::size_t>(std::uint8_t* to, std::size_t size)>;

// The bytes of a file; of standard input for "-".
Result<ReadBytes> OpenBytes(const std::string& path);

// Tells 16-bit samples that are made of the low byte of one and the high byte of the next, as a copy as text leaves
// them and as another byte order has them; train/audio.py's `mispaired`, a sample at a time.
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

class SampleReader {
 public:
  // Reads the header up to the first sample. `name` is for errors. A WAV file that gives 0 or the greatest number as
  // the size of its samples is read to its end. Memory is 64 KB, whatever the header says.
  static Result<SampleReader> Wav(ReadBytes read, std::string name);
  // 16-bit little-endian samples of one channel, without a header.
  static Result<SampleReader> Raw(ReadBytes read, std::string name, int rate);

  // 1 to `most` samples, the channels' mean, as soon as there are any; 0 at the end. They lie in [-1, 1], save for
  // those that a floating-point file has beyond it. A sample that is not finite is an error, and so are 16-bit samples
  // whose bytes are paired wrongly (in the first channel).
  Result<std::size_t> Read(float* samples, std::size_t most);

  int rate() const { return rate_; }
  int channels() const { return static_cast<int>(channels_); }
  // After the end: a sentence if the recording was cut short, else nothing. What was there has been read.
  const std::string& truncated() const { return truncated_; }

 private:
  enum class Coding { kPcm, kFloat, kALaw, kMuLaw };

  SampleReader(ReadBytes read, std::string name) : read_(std::move(read)), name_(std::move(name)) {}
  Error Fault(const std::string& what) const;
  std::size_t Fill(std::uint8_t* to, std::size_t size);
  Failure Prepare(std::int64_t rate);
  Failure ReadHeader();
  Failure ReadFormat(const std::uint8_t* chunk, std::size_t size);
  Failure StartSamples(std::uint64_t size, std::uint64_t riff_size);
  float Sample(const std::uint8_t* bytes) const;
  std::size_t frame_bytes() const { return channels_ * width_; }

  ReadBytes read_;
  std::string name_;
  std::string truncated_;
  Failure unreadable_;  // what the last Fill failed with
  int rate_ = 0;
  Coding coding_ = Coding::kPcm;
  std::size_t channels_ = 0;
  std::size_t width_ = 0;                   // bytes of a sample
  std::uint64_t position_ = 0;              // bytes of header read
  std::uint64_t declared_ = 0;              // bytes of samples
  std::uint64_t remaining_ = 0;             // of them, not yet read
  std::uint64_t frames_ = 0;                // given
  std::unique_ptr<std::uint8_t[]> buffer_;  // what was read and not given
  std::size_t held_ = 0;                    // its bytes
  Pairing pairing_;                         // of the first channel
};

}  // namespace tetraphone
