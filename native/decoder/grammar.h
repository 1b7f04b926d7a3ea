// A phone grammar in memory: what decoder.h's ReadGrammar makes of a file.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decoder.h"

namespace tetraphone {

class Grammar {
 public:
  struct Arc {
    std::int32_t phone;
    std::int32_t target;
    double cost;
  };
  struct Arcs {
    const Arc* first;
    const Arc* last;
    const Arc* begin() const { return first; }
    const Arc* end() const { return last; }
  };

  // Sorted by phone, target and cost.
  Arcs ArcsOf(std::int32_t state) const {
    const auto at = static_cast<std::size_t>(state);
    return {arcs.data() + offsets[at], arcs.data() + offsets[at + 1]};
  }

  std::size_t phones = 0;
  std::int32_t start = 0;
  std::vector<std::size_t> offsets;  // of each state's first arc, and the end
  std::vector<Arc> arcs;
  std::vector<double> finals;  // cost of ending in a state; infinite where that is not allowed
};

}  // namespace tetraphone
