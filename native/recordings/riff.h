// The chunks of a WAV file, or of several joined end to end, as they come through a pipe.
//
// A chunk's size holds unless it is 0, at least kUnknownFrom (their writers did not know it), or beyond the end.
// Samples end where it says, or where the next container begins. sound/containers.py has the same rules.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bytes.h"

namespace tetraphone {

enum class Coding { kPcm, kFloat, kALaw, kMuLaw };

struct WavForm {
  Coding coding = Coding::kPcm;
  int rate = 0;
  std::size_t channels = 0;
  std::size_t width = 0;  // bytes of a sample

  std::size_t frame() const { return channels * width; }
};

class WavFile {
 public:
  // Reads up to the first sample. `name` is for errors.
  static Result<WavFile> Open(ReadBytes read, const std::string& name);
  // Samples without a header.
  static Result<WavFile> Raw(ReadBytes read, const WavForm& form, const std::string& name);

  const WavForm& form() const { return form_; }

  // Waits for `least` bytes of samples; how many are at data(), fewer at their end.
  Result<std::size_t> Ready(std::size_t least);
  const std::uint8_t* data() const { return bytes_.data(); }
  void Take(std::size_t count);
  // Bytes of samples that the header says; 0 if it does not know.
  std::uint64_t declared() const { return unknown_ ? 0 : size_; }

  // Behind samples: what follows them.
  enum class Next { kEnd, kSound, kForeign };  // kSound: form() and data() are those of another container
  Result<Next> Follow();

 private:
  explicit WavFile(ByteQueue bytes) : bytes_(std::move(bytes)) {}
  bool AtContainer() const;
  std::size_t Clear();
  void SkipTags();
  void SkipPadding(std::uint64_t size);
  Next SkipChunks();
  Failure ReadHeader(const std::string& name);
  Failure ReadFormat(const std::uint8_t* chunk, std::size_t size, const std::string& name);
  void StartSamples(std::uint64_t size, std::uint64_t large_size, std::uint64_t riff_end);

  ByteQueue bytes_;
  WavForm form_;
  bool raw_ = false;
  bool unknown_ = false;         // the size of the samples
  std::uint64_t size_ = 0;       // of the samples, if known
  std::uint64_t remaining_ = 0;  // of them, not yet taken
  std::size_t clear_ = 0;        // bytes at data() in which no container begins
  bool met_ = false;             // one begins behind them
};

}  // namespace tetraphone
