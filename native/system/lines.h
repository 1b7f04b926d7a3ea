// Lines of text files that are not trusted: their length is bounded.

#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>

#include "files.h"

namespace tetraphone {

// Calls take(line, cut) for each line of a file, without its end and a byte order mark before the first, until that
// gives a failure, which is returned, as is `unreadable` where the file cannot be read. `cut`: the line has more bytes
// than `longest`, and is cut there.
template <typename Take>
Failure EachLine(const std::string& path, std::size_t longest, const Error& unreadable, Take take) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(OpenFile(path, "rb"), std::fclose);
  if (!file) return unreadable;
  constexpr const char* kByteOrderMark = "\xEF\xBB\xBF";  // which editors put before text in UTF-8
  std::string line;
  bool first = true, cut = false;
  const auto end = [&]() -> Failure {
    if (first && line.rfind(kByteOrderMark, 0) == 0) line.erase(0, 3);
    first = false;
    return take(line, cut);
  };
  for (int character; (character = std::getc(file.get())) != EOF && !cut;) {
    if (character != '\n') {
      cut = line.size() == longest;
      if (!cut) line.push_back(static_cast<char>(character));
      continue;
    }
    if (Failure failure = end()) return failure;
    line.clear();
  }
  if (std::ferror(file.get())) return unreadable;
  return end();
}

}  // namespace tetraphone
