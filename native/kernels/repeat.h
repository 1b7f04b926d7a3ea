// Loops over a few registers, unrolled before the compiler decides which arrays live in registers.

#pragma once

namespace tetraphone {
namespace {

template <int kValue>
struct Index {
  constexpr operator int() const { return kValue; }
};

// body(Index<0>), ..., body(Index<kCount - 1>).
template <int kCount, int kBegin = 0, typename Body>
[[gnu::always_inline]] inline void Repeat(const Body& body) {
  if constexpr (kBegin < kCount) {
    body(Index<kBegin>());
    Repeat<kCount, kBegin + 1>(body);
  }
}

}  // namespace
}  // namespace tetraphone
