// Elementary functions by correctly rounded operations alone, so that every processor and C library gives the same bits
// (compile with -ffp-contract=off). The greatest errors are those that tests/native/common/numerics_test.cc measures.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace tetraphone {

constexpr double kPi = 3.14159265358979323846;
constexpr double kLn2 = 0.69314718055994530942;

// Natural logarithm of a positive normal number, to 4.5e-16 of itself.
inline double Log(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
  double m;
  std::memcpy(&m, &bits, sizeof m);
  if (m > 1.41421356237309504880) {
    m *= 0.5;
    ++exponent;
  }
  // ln m = 2 artanh s; |s| < 0.172.
  const double s = (m - 1.0) / (m + 1.0);
  const double square = s * s;
  double sum = 0.0;
  for (int k = 19; k >= 1; k -= 2) sum = sum * square + 1.0 / k;
  return exponent * kLn2 + 2.0 * s * sum;
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
