#include "timeline.h"

#include <algorithm>
#include <cmath>

namespace tetraphone {
namespace {

// The shortest phone, seconds, unless the sound is too short for it.
constexpr double kLeast = 0.001;
// Before the end of the sound, so many seconds in which phones may move.
constexpr double kTail = 0.1;

}  // namespace

void Timeline::Add(double from, double to, const Span& within) {
  const double start = from == 0 ? 0.0 : At(from);
  Span span{std::max({start, within.start, spans_.empty() ? 0.0 : spans_.back().end}), std::min(At(to), within.end)};
  span.end = std::max(span.end, span.start + kLeast);
  spans_.push_back(span);
}

std::int64_t Timeline::Nearest(double seconds) const {
  constexpr double kMost = 1e15;
  const double place = std::round((seconds - offset_) / shift_);
  return static_cast<std::int64_t>(std::min(std::max(place, 0.0), kMost));
}

Timeline Timeline::Rest() const {
  Timeline rest(shift_, offset_);
  if (!spans_.empty()) rest.spans_.push_back(spans_.back());
  return rest;
}

std::size_t Timeline::Settled(double seconds) const {
  const auto settled = [=](const Span& span) { return span.end <= seconds - kTail; };
  return static_cast<std::size_t>(std::partition_point(spans_.begin(), spans_.end(), settled) - spans_.begin());
}

void Timeline::Finish(double seconds) {
  const std::size_t first = Settled(seconds);
  const double before = first == 0 ? 0.0 : spans_[first - 1].end;
  const double least = std::min(kLeast, (seconds - before) / static_cast<double>(spans_.size() - first + 1));
  double latest = seconds;
  for (std::size_t i = spans_.size(); i-- > first;) {
    Span& span = spans_[i];
    span.end = std::min(span.end, latest);
    span.start = latest = std::min(span.start, span.end - least);
  }
}

}  // namespace tetraphone
