#include "capture.h"

#include <utility>

namespace tetraphone {

Result<Capture> Capture::Start(int rate, double patience) {
  auto recorder = Recorder::Start(rate, patience);
  if (!recorder) return recorder.error();
  auto read = [from = recorder->get()](std::uint8_t* to, std::size_t size) { return from->Read(to, size); };
  Result<SampleReader> samples = SampleReader::Raw(read, (*recorder)->name(), rate);
  if (!samples) return samples.error();
  return Capture(std::move(*recorder), std::move(*samples));
}

}  // namespace tetraphone
