// A line that lives on a terminal: the level and the phones while a microphone is heard, or how far the work is.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tetraphone {

// The root mean square of samples in decibels of full scale, at least -60.
double Level(const float* samples, std::size_t count);
// A level meter and the last of the symbols, in at most `width` columns.
std::string LiveText(double level, const std::vector<std::string>& symbols, std::size_t width, bool blocks);

// One line of a terminal, rewritten. Prints nothing where the descriptor is no terminal.
class LiveLine {
 public:
  explicit LiveLine(int descriptor, bool quiet = false);
  ~LiveLine() { Clear(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void Show(double level, const std::vector<std::string>& symbols);
  // The text's last columns, should it have more than the terminal.
  void Show(const std::string& text);
  // Before other lines are printed.
  void Clear();

 private:
  std::size_t Width() const;
  void Write(const std::string& text);

  int descriptor_;
  bool terminal_;
  bool blocks_;  // the terminal's locale has them
  bool shown_ = false;
};

}  // namespace tetraphone
