// The contracts of kernels.h as conditions, which RunWith asserts before each call in builds without NDEBUG.

#pragma once

#include <cassert>
#include <cstdint>

#include "kernels.h"

namespace tetraphone {

// Whether `count` floats at `floats` lie outside the bytes [begin, begin + size).
inline bool Apart(const float* floats, std::int64_t count, const void* begin, std::int64_t size) {
  const auto first = reinterpret_cast<std::uintptr_t>(floats), second = reinterpret_cast<std::uintptr_t>(begin);
  return first + static_cast<std::uintptr_t>(count) * sizeof(float) <= second ||
         second + static_cast<std::uintptr_t>(size) <= first;
}

inline bool Holds(const Gemv& g) {
  const std::int64_t rows = g.tiles * kTileRows, count = (kColumns - 1) * g.out_stride + rows;
  const bool in_place = g.init == g.out && g.init_stride == g.out_stride;
  return g.tiles > 0 && g.groups > 0 && g.out_stride >= rows && (g.init_stride == 0 || g.init_stride >= rows) &&
         (in_place || Apart(g.out, count, g.init, ((kColumns - 1) * g.init_stride + rows) * 4)) &&
         Apart(g.out, count, g.xhat, g.groups * kGroup * kColumns) && Apart(g.out, count, g.multiplier, kColumns * 4) &&
         Apart(g.out, count, g.values, g.groups * g.tiles * ValueBytes(4));
}

inline bool Holds(const Expand& e) {
  const std::int64_t covered = e.groups * (e.quaternion ? kStep : kGroup);
  return e.groups > 0 && e.stride % (e.quaternion ? kTileRows : kGroup) == 0 && e.stride >= covered &&
         (e.quaternion || !e.state) && Apart(e.planes, 4 * e.stride, e.xhat, e.groups * kGroup * kColumns) &&
         Apart(e.planes, 4 * e.stride, e.multiplier, kColumns * 4) &&
         Apart(e.planes, 4 * e.stride, e.quantized, 8 * e.stride);
}

inline bool Holds(const Gates& g) {
  bool holds = g.units > 0 && g.units % kTileRows == 0;
  for (int i = 0; i < kMostStates; ++i) {
    if (g.next[i] == nullptr || g.state[i] == nullptr) continue;  // which the kind lacks
    holds = holds && Apart(g.next[i], 4 * g.units, g.sums, 4 * g.units * 4) &&
            (g.next[i] == g.state[i] || Apart(g.next[i], 4 * g.units, g.state[i], 4 * g.units * 4));
  }
  return holds;
}

template <typename Arguments>
inline void Call(void (*kernel)(const Arguments&), const Arguments& arguments) {
  assert(Holds(arguments));
  kernel(arguments);
}

}  // namespace tetraphone
