// Elementary functions by correctly rounded operations alone, so that every processor and C library gives the same bits
// (compile with -ffp-contract=off). The greatest errors are those that tests/native/common/numerics_test.cc measures.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "lanes.h"

namespace tetraphone {

constexpr double kPi = 3.14159265358979323846;
constexpr double kLn2 = 0.69314718055994530942;

// Natural logarithm of positive normal numbers, to 4.5e-16 of itself. T is double, or a vector of them; Bits as large.
template <typename T, typename Bits, typename Convert>
inline T LogOf(T x, Convert convert) {
  Bits bits;
  std::memcpy(&bits, &x, sizeof bits);
  const Bits parts = (bits & 0x000fffffffffffff) | 0x3ff0000000000000;
  T m;
  std::memcpy(&m, &parts, sizeof m);
  const auto halved = m > 1.41421356237309504880;
  m = halved ? m * 0.5 : m;
  const T exponent = convert((bits >> 52) - (halved ? Bits{} + 1022 : Bits{} + 1023));
  // ln m = 2 artanh s; |s| < 0.172.
  const T s = (m - 1.0) / (m + 1.0);
  const T square = s * s;
  T sum{};
  for (int k = 19; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return exponent * kLn2 + 2.0 * s * sum;
}

inline double Log(double x) {
  return LogOf<double, std::int64_t>(x, [](std::int64_t whole) { return static_cast<double>(whole); });
}

// Log of each, to the nearest float.
inline Lanes LogLanes(Lanes x) {
  using Doubles = double __attribute__((vector_size(16)));
  using Integers = std::int64_t __attribute__((vector_size(16)));
  const auto log = [](Doubles pair) {
    return LogOf<Doubles, Integers>(pair, [](Integers whole) { return __builtin_convertvector(whole, Doubles); });
  };
  const Doubles low = log(Doubles{x[0], x[1]}), high = log(Doubles{x[2], x[3]});
  return Lanes{static_cast<float>(low[0]), static_cast<float>(low[1]), static_cast<float>(high[0]),
               static_cast<float>(high[1])};
}

// e^x, to 2.3e-16 of itself; 0 below -700 and for not a number, that of 700 above it.
inline double Exp(double x) {
  if (!(x > -700.0)) return 0.0;
  if (x > 700.0) x = 700.0;
  const double k = std::nearbyint(x / kLn2);
  const double r = x - k * 6.93147180369123816490e-01 - k * 1.90821492927058770002e-10;
  double sum = 1.0;
  for (int n = 14; n >= 1; --n) sum = 1.0 + sum * r * (1.0 / n);
  const std::uint64_t bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023) << 52;
  double power;
  std::memcpy(&power, &bits, sizeof power);
  return sum * power;
}

// Cosine of any angle, in radians, to 4.5e-16, and beyond a turn to 1e-16 of the angle; for tables, not for speed.
inline double Cos(double x) {
  x = std::fabs(x - 2.0 * kPi * std::nearbyint(x / (2.0 * kPi)));
  const bool mirrored = x > kPi / 2;
  if (mirrored) x = kPi - x;
  double sum = 1.0;
  for (int n = 26; n >= 2; n -= 2) sum = 1.0 - sum * x * x * (1.0 / (n * (n - 1)));
  return mirrored ? -sum : sum;
}

// Sine, to twice the error of Cos.
inline double Sin(double x) { return Cos(x - kPi / 2); }

}  // namespace tetraphone
