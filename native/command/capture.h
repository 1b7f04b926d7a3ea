// The microphone as samples.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "../common/result.h"
#include "../recordings/wav.h"
#include "../system/recorder.h"

namespace tetraphone {

// One at a time in a process; see Recorder.
class Capture {
 public:
  // From then on the first Ctrl-C ends the recording, not the process. Sound that is not there after `patience` seconds
  // is an error, here and later.
  static Result<Capture> Start(int rate, double patience = 10);

  // 1 to `most` samples, as soon as there are any. 0 at the end: after a signal, once all that the recorder had heard
  // is read, or when it ended with status 0.
  Result<std::size_t> Read(float* samples, std::size_t most) { return samples_.Read(samples, most); }

  // The recorder's name.
  const std::string& recorder() const { return recorder_->name(); }

 private:
  Capture(std::unique_ptr<Recorder> recorder, SampleReader samples)
      : recorder_(std::move(recorder)), samples_(std::move(samples)) {}

  std::unique_ptr<Recorder> recorder_;
  SampleReader samples_;
};

}  // namespace tetraphone
