// Where phones begin and end in seconds, from the sub-frames that they cover.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "../model/model.h"

namespace tetraphone {

struct Span {
  double start = 0;  // seconds
  double end = std::numeric_limits<double>::infinity();
};

class Timeline {
 public:
  explicit Timeline(const ModelInfo& info)
      : shift_(info.frame_shift / static_cast<double>(kSubFrames)), offset_(info.frame_offset + info.align_shift) {}

  // Takes the next phone, between two places that are counted in sub-frames. The first sub-frame begins where the sound
  // does. A phone that is said within a span does not begin before it, nor end behind it.
  void Add(double from, double to, const Span& within = {});
  // The seconds of a place, and the sub-frame that begins nearest to so many seconds.
  double At(double place) const { return place * shift_ + offset_; }
  std::int64_t Nearest(double seconds) const;
  // The sound is so many seconds long: phones beyond it move so that all end within it, none without length.
  void Finish(double seconds);
  void Reset() { spans_.clear(); }
  // One for what follows, with the last phone alone.
  Timeline Rest() const;

  const std::vector<Span>& spans() const { return spans_; }
  // How many of them stand, whatever comes after so many seconds of sound.
  std::size_t Settled(double seconds) const;

 private:
  Timeline(double shift, double offset) : shift_(shift), offset_(offset) {}

  double shift_;  // seconds of a sub-frame
  double offset_;
  std::vector<Span> spans_;
};

}  // namespace tetraphone
