// What a search found of a text.

#pragma once

#include <vector>

#include "search.h"
#include "timeline.h"

namespace tetraphone {

struct Course {
  std::vector<Segment> segments;  // of phones, in order
  std::vector<Span> unknown;      // where something is said that the text lacks
  double score = 0;               // of all, silences included
};

}  // namespace tetraphone
