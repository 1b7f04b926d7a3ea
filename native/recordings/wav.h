// A recording as mono samples, block by block: a WAV file of any kind, or raw 16-bit samples, from a file or a pipe.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../common/limits.h"
#include "../common/result.h"
#include "bytes.h"
#include "pairing.h"
#include "riff.h"

namespace tetraphone {

class SampleReader {
 public:
  // Reads the header up to the first sample. `name` is for errors; `channel` is the one to read, counted from 0, or -1
  // for the mean of all. Memory is 64 KB, whatever the header says.
  static Result<SampleReader> Wav(ReadBytes read, std::string name, int channel = -1);
  // 16-bit little-endian samples of one channel, without a header.
  static Result<SampleReader> Raw(ReadBytes read, std::string name, int rate, int channel = -1);

  // 1 to `most` samples, as soon as there are any; 0 at the end. They lie in [-1, 1], save for those that a
  // floating-point file has beyond it. WAV files joined end to end are one recording, if rates and channels agree. A
  // sample that is not finite is an error, and so are 16-bit samples whose bytes are paired wrongly (in the first
  // channel).
  Result<std::size_t> Read(float* samples, std::size_t most);

  int rate() const { return rate_; }
  // After the end: a sentence that says what could not be read, else nothing. What was there has been read.
  const std::string& fault() const { return fault_; }
  // After the end: a sentence that says what is wrong with the samples (CheckLevels), else nothing.
  std::string levels() const;

 private:
  SampleReader(WavFile file, std::string name, int channel)
      : file_(std::move(file)), name_(std::move(name)), rate_(file_.form().rate), channel_(channel) {}
  static Result<SampleReader> Make(WavFile file, std::string name, int channel);
  std::string Second() const;
  void Say(const std::string& what) { fault_ = name_ + " " + what; }
  Result<bool> GoOn(std::size_t left);
  Result<std::size_t> Decode(float* samples, std::size_t count);

  WavFile file_;
  std::string name_;
  std::string fault_;
  int rate_;
  int channel_;
  bool over_ = false;
  std::uint64_t frames_ = 0;  // given
  std::uint64_t begin_ = 0;   // of them, those of containers before
  SoundLevels levels_;        // of what may be wrong: samples of 16 bits in one channel are not
  Pairing pairing_;           // of the first channel
};

}  // namespace tetraphone
