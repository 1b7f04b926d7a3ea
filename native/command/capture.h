// The microphone, through the recorder that the system has (pw-record of PipeWire, parecord of PulseAudio or arecord of
// ALSA), which runs as a child process: nothing of theirs is linked.

#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "../common/result.h"
#include "../recordings/wav.h"

namespace tetraphone {

// One at a time in a process. The recorder ends with the object, and with the thread that started it.
class Capture {
 public:
  // Starts the first recorder in PATH that delivers sound at `rate` Hz. From then on the first SIGINT or SIGTERM ends
  // the recording, not the process. Sound that is not there after `patience` seconds is an error, here and later.
  static Result<Capture> Start(int rate, double patience = 10);
  Capture(Capture&&) noexcept;
  Capture& operator=(Capture&&) noexcept;
  ~Capture();

  // 1 to `most` samples, as soon as there are any. 0 at the end: after a signal, once all that the recorder had heard
  // is read, or when it ended with status 0.
  Result<std::size_t> Read(float* samples, std::size_t most) { return samples_.Read(samples, most); }

  // The recorder's name.
  const std::string& recorder() const;

 private:
  class Recorder;

  Capture(std::unique_ptr<Recorder> recorder, SampleReader samples);

  std::unique_ptr<Recorder> recorder_;
  SampleReader samples_;
};

}  // namespace tetraphone
