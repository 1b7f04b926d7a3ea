#include "live.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "../results/escape.h"
#include "../system/process.h"

namespace tetraphone {
namespace {

constexpr double kLeastLevel = -60;
constexpr std::size_t kMeterCells = 10;

}  // namespace

double Level(const float* samples, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(samples[i]) * samples[i];
  return sum == 0 ? kLeastLevel : std::max(kLeastLevel, 10 * std::log10(sum / static_cast<double>(count)));
}

std::string LiveText(double level, const std::vector<std::string>& symbols, std::size_t width, bool blocks) {
  const double share = std::min(std::max(1 - level / kLeastLevel, 0.0), 1.0);
  const auto cells = static_cast<std::size_t>(std::lround(share * kMeterCells));
  std::string line;
  for (std::size_t i = 0; i < kMeterCells; ++i) line += i < cells ? (blocks ? "█" : "#") : (blocks ? "░" : ".");
  char decibels[32];
  std::snprintf(decibels, sizeof decibels, "%5.0f dB ", level);
  line += decibels;
  std::size_t columns = Columns(line);
  if (columns > width) return "";
  std::size_t first = symbols.size();
  while (first > 0 && columns + 1 + Columns(symbols[first - 1]) <= width) columns += 1 + Columns(symbols[--first]);
  for (std::size_t i = first; i < symbols.size(); ++i) line += " " + symbols[i];
  return line;
}

LiveLine::LiveLine(int descriptor, bool quiet)
    : descriptor_(descriptor), terminal_(!quiet && IsTerminal(descriptor)), blocks_(TerminalHasBlocks()) {}

// The last column stays free: some terminals begin a new line behind it.
std::size_t LiveLine::Width() const { return TerminalColumns(descriptor_) - 1; }

void LiveLine::Show(double level, const std::vector<std::string>& symbols) {
  if (terminal_) Show(LiveText(level, symbols, Width(), blocks_));
}

void LiveLine::Show(const std::string& text) {
  if (!terminal_) return;
  std::string shown = PlainText(text);
  std::size_t first = 0;
  for (std::size_t over = Columns(shown); over > Width(); --over) {
    do ++first;
    while (first < shown.size() && (shown[first] & 0xC0) == 0x80);
  }
  Write("\r" + shown.substr(first) + "\x1b[K");
  shown_ = true;
}

void LiveLine::Clear() {
  if (shown_) Write("\r\x1b[K");
  shown_ = false;
}

void LiveLine::Write(const std::string& text) {
  // A terminal that takes no more bytes loses this line and gets the next.
  [[maybe_unused]] const ssize_t written = write(descriptor_, text.data(), text.size());
}

}  // namespace tetraphone
