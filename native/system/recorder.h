// The microphone as bytes of 16-bit samples of one channel.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "../common/result.h"

namespace tetraphone {

// One at a time in a process, which the first Ctrl-C (SIGINT, SIGTERM) does not end while it lives.
class Recorder {
 public:
  // Starts what delivers sound at `rate` Hz. Sound that is not there after `patience` seconds is an error, here and
  // later. On Linux and macOS a program that is installed records, as a child; on Windows the system itself.
  static Result<std::unique_ptr<Recorder>> Start(int rate, double patience);
  virtual ~Recorder() = default;

  // 1 to `size` bytes, as soon as there are any. 0 at the end: after a signal, once all that was heard is read, or when
  // the recorder ended by itself without a complaint.
  virtual Result<std::size_t> Read(std::uint8_t* to, std::size_t size) = 0;
  virtual const std::string& name() const = 0;
};

}  // namespace tetraphone
