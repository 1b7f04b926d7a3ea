// Recognised phones as text, JSON (both as `tetraphone recognize` prints them), Audacity labels or a Praat TextGrid,
// the same in any locale; and a line that lives on a terminal while a microphone is heard.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "../recognizer/recognizer.h"

namespace tetraphone {

// Digits behind the point of seconds: microseconds, finer than any network's grid, so that what lies on the grid stays
// there, start and end alike. As in recognition/recognizer.py.
constexpr int kTimeDigits = 6;

struct RecognizedRecording {
  std::string name;
  double duration;  // seconds
  std::vector<Phone> phones;
  std::vector<std::string> problems = {};  // why these are not the phones of the whole recording
};

// "    0.12     0.31  AA  0.97\n": start, end, phone, confidence.
std::string TextLine(const Phone& phone);
// The same object as `tetraphone recognize --json` prints, on one line; bytes of a name that are no UTF-8 as Python's
// surrogate escapes.
std::string JsonLine(const RecognizedRecording& recording);
// start, end, phone, separated by tabs, a line each.
std::string AudacityLabels(const std::vector<Phone>& phones);
// One interval tier, "phones"; silence as empty intervals.
std::string TextGrid(const RecognizedRecording& recording);

// The root mean square of samples in decibels of full scale, at least -60.
double Level(const float* samples, std::size_t count);
// A level meter and the last of the symbols, in at most `width` columns.
std::string LiveText(double level, const std::vector<std::string>& symbols, std::size_t width, bool blocks);

// One line of a terminal, rewritten. Prints nothing where the descriptor is no terminal.
class LiveLine {
 public:
  explicit LiveLine(int descriptor);
  ~LiveLine() { Clear(); }
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void Show(double level, const std::vector<std::string>& symbols);
  // Before other lines are printed.
  void Clear();

 private:
  void Write(const std::string& text);

  int descriptor_;
  bool terminal_;
  bool blocks_;  // the terminal's locale has them
  bool shown_ = false;
};

}  // namespace tetraphone
