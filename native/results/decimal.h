// Numbers of results, as Python rounds and prints them, the same in any locale. Without floating-point printing of the
// C++ library, which is as large as all formats together.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace tetraphone {

// Digits behind the point of seconds: microseconds, finer than any network's grid, so that what lies on the grid stays
// there, start and end alike. As in common/phones.py.
constexpr int kTimeDigits = 6;
constexpr std::int64_t kSecond = 1000000;  // microseconds
constexpr int kConfidenceDigits = 4;
constexpr double kMostSeconds = 1e9;

// value * scale, rounded to the nearest, halves of the exact value to even; 0 for what is not finite or below 0.
inline std::int64_t Scaled(double value, double scale) {
  value = value > 0 && std::isfinite(value) ? std::min(value, kMostSeconds) : 0;
  const double below = std::floor(value * scale);
  const double rest = std::fma(value, scale, -(below + 0.5));  // its sign is exact
  const auto count = static_cast<std::int64_t>(below);
  return count + (rest > 0 || (rest == 0 && count % 2 != 0));
}

// Microseconds of a time: the one place where times of results are rounded.
inline std::int64_t Micros(double seconds) { return Scaled(seconds, kSecond); }

// `count` of 10^-digits, with all digits.
inline std::string Fixed(std::int64_t count, int digits) {
  std::string text = std::to_string(count);
  const auto places = static_cast<std::size_t>(digits);
  if (text.size() <= places) text.insert(0, places + 1 - text.size(), '0');
  return text.insert(text.size() - places, ".");
}

// Without zeros at the end, but for one behind the point: as Python prints a float.
inline std::string Shortest(std::int64_t count, int digits) {
  std::string text = Fixed(count, digits);
  text.erase(std::max(text.find_last_not_of('0') + 1, text.find('.') + 2));
  return text;
}

}  // namespace tetraphone
