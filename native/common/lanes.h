// Four floats side by side, by the vector types that GCC and clang share: +, -, * and / are those of the single floats,
// so every processor gives the same bits, and a compiler need not find out that a loop may be vectorised.

#pragma once

#include <cstddef>
#include <cstring>

namespace tetraphone {

using Lanes = float __attribute__((vector_size(16)));
constexpr std::size_t kLanes = 4;

// At any address. T is Lanes or, for what is too short for them, float.
template <typename T>
inline T Load(const float* from) {
  T values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

template <typename T>
inline void Store(T values, float* to) {
  std::memcpy(to, &values, sizeof values);
}

inline Lanes All(float value) { return value - Lanes{}; }

inline float Reversed(float value) { return value; }
inline Lanes Reversed(Lanes v) { return Lanes{v[3], v[2], v[1], v[0]}; }

// Every second of eight values, from the first or from the second on.
inline Lanes Even(Lanes low, Lanes high) { return Lanes{low[0], low[2], high[0], high[2]}; }
inline Lanes Odd(Lanes low, Lanes high) { return Lanes{low[1], low[3], high[1], high[3]}; }

// columns[j]: value j of a, b, c and d.
inline void Transpose(Lanes a, Lanes b, Lanes c, Lanes d, Lanes (&columns)[4]) {
  const Lanes even_ab = Even(a, b), odd_ab = Odd(a, b), even_cd = Even(c, d), odd_cd = Odd(c, d);
  columns[0] = Even(even_ab, even_cd);
  columns[1] = Even(odd_ab, odd_cd);
  columns[2] = Odd(even_ab, even_cd);
  columns[3] = Odd(odd_ab, odd_cd);
}

// Calls body(i, Lanes()) for as many of `count` values as fill lanes, then body(i, float()) for each that is left.
template <typename Body>
inline void ForLanes(std::size_t count, Body body) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) body(i, Lanes{});
  for (; i < count; ++i) body(i, float{});
}

}  // namespace tetraphone
