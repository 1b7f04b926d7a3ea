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

inline std::string Text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

}  // namespace tetraphone
