// Words of a line, and numbers in words. Without C++ streams: a library for a phone is 30 % smaller without them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace tetraphone {

inline std::vector<std::string> Words(const std::string& line) {
  constexpr const char* kBlanks = " \t\n\v\f\r";
  std::vector<std::string> words;
  for (std::size_t end = 0;;) {
    const std::size_t first = line.find_first_not_of(kBlanks, end);
    if (first == std::string::npos) return words;
    end = std::min(line.find_first_of(kBlanks, first), line.size());
    words.push_back(line.substr(first, end - first));
  }
}

// As printf prints it in the C locale, whatever the process's locale takes for a decimal point.
inline std::string Text(double value, const char* format = "%.10g") {
  char printed[400];
  std::snprintf(printed, sizeof printed, format, value);
  std::string text;
  for (const char* c = printed; *c != 0; ++c) {
    const bool other = (*c < '0' || *c > '9') && (*c < 'a' || *c > 'z') && *c != '-' && *c != '+';
    if (!other || text.empty() || text.back() != '.') text += other ? '.' : *c;
  }
  return text;
}

}  // namespace tetraphone
