// What a search found of a text.

#pragma once

#include <vector>

#include "search.h"
#include "timeline.h"

namespace tetraphone {

struct Course {
  std::vector<Segment> segments;  // of phones, in order
  std::vector<Span> unknown;      // where something is said that the text lacks
  std::vector<std::size_t> apart;  // segments that follow speech that the text lacks; their number: the end does
  double score = 0;               // of all, silences included
};

}  // namespace tetraphone
