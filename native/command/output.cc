#include "output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "../common/utf8.h"

namespace tetraphone {
namespace {

constexpr double kLeastLevel = -60;
constexpr std::size_t kMeterCells = 10;

// Rounded to the nearest, halves of the exact value to even, as in Python. "0.0" for what is not finite.
std::string Fixed(double value, int digits) {
  char text[400];
  const auto end = std::to_chars(text, text + sizeof text, std::isfinite(value) ? value : 0.0, std::chars_format::fixed,
                                 digits);
  return std::string(text, end.ptr);
}

double Rounded(double value, int digits) {
  const std::string text = Fixed(value, digits);
  double rounded = 0;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

// As Python prints round(value, digits).
std::string Shortest(double value, int digits) {
  std::string text = Fixed(value, digits);
  text.erase(std::max(text.find_last_not_of('0') + 1, text.find('.') + 2));
  return text;
}

void AppendUnit(std::string& json, std::uint32_t unit) {
  json += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) json += "0123456789abcdef"[(unit >> shift) & 15];
}

std::string Quoted(const std::string& text) {
  std::string json = "\"";
  for (std::size_t i = 0; i < text.size();) {
    std::uint32_t point = 0;
    const std::size_t length = DecodeUtf8(text.data() + i, text.size() - i, point);
    constexpr char kShort[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    const char* escape = nullptr;
    for (const char* pair = kShort; length == 1 && *pair != 0; pair += 2) {
      if (static_cast<std::uint32_t>(*pair) == point) escape = pair + 1;
    }
    if (length == 0) {
      AppendUnit(json, 0xDC00 + static_cast<std::uint8_t>(text[i]));
    } else if (escape != nullptr) {
      json += {'\\', *escape};
    } else if (point >= ' ' && point <= '~') {
      json += static_cast<char>(point);
    } else if (point < 0x10000) {
      AppendUnit(json, point);
    } else {
      AppendUnit(json, 0xD800 + ((point - 0x10000) >> 10));
      AppendUnit(json, 0xDC00 + ((point - 0x10000) & 0x3FF));
    }
    i += std::max<std::size_t>(length, 1);
  }
  return json + "\"";
}

std::size_t Columns(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string Interval(std::size_t number, const std::string& from, const std::string& to, const std::string& text) {
  const std::string indent(12, ' ');
  std::string doubled;
  for (const char c : text) doubled += c == '"' ? std::string("\"\"") : std::string(1, c);
  return "        intervals [" + std::to_string(number) + "]:\n" + indent + "xmin = " + from + "\n" + indent +
         "xmax = " + to + "\n" + indent + "text = \"" + doubled + "\"\n";
}

}  // namespace

std::string TextLine(const Phone& phone) {
  const std::size_t columns = Columns(phone.symbol);
  const std::string start = Fixed(Rounded(phone.start, kTimeDigits), 2);
  const std::string end = Fixed(Rounded(phone.end, kTimeDigits), 2);
  return Right(start, 8) + " " + Right(end, 8) + "  " + phone.symbol +
         std::string(3 - std::min<std::size_t>(columns, 3), ' ') + " " + Fixed(Rounded(phone.confidence, 4), 2) + "\n";
}

std::string JsonLine(const RecognizedRecording& recording) {
  std::string json = "{\"recording\": " + Quoted(recording.name);
  json += ", \"duration\": " + Shortest(recording.duration, kTimeDigits) + ", \"phones\": [";
  for (const Phone& phone : recording.phones) {
    if (json.back() == '}') json += ", ";
    json += "{\"phone\": " + Quoted(phone.symbol) + ", \"start\": " + Shortest(phone.start, kTimeDigits) +
            ", \"end\": " + Shortest(phone.end, kTimeDigits) +
            ", \"confidence\": " + Shortest(phone.confidence, 4) + "}";
  }
  json += "], \"problems\": [";
  for (const std::string& problem : recording.problems) json += (json.back() == '"' ? ", " : "") + Quoted(problem);
  return json + "]}\n";
}

std::string AudacityLabels(const std::vector<Phone>& phones) {
  std::string labels;
  for (const Phone& phone : phones) {
    labels += Fixed(phone.start, kTimeDigits) + "\t" + Fixed(phone.end, kTimeDigits) + "\t" + phone.symbol + "\n";
  }
  return labels;
}

std::string TextGrid(const RecognizedRecording& recording) {
  // Intervals touch and none is empty: an end before the last interval's, once rounded, leaves its phone out.
  double end = std::max(Rounded(recording.duration, kTimeDigits), 0.001);
  for (const Phone& phone : recording.phones) end = std::max(end, Rounded(phone.end, kTimeDigits));
  std::string intervals;
  std::size_t count = 0;
  double last = 0;
  auto add = [&](double to, const std::string& text) {
    if (to <= last) return;
    intervals += Interval(++count, Shortest(last, kTimeDigits), Shortest(to, kTimeDigits), text);
    last = to;
  };
  for (const Phone& phone : recording.phones) {
    add(Rounded(phone.start, kTimeDigits), "");
    add(Rounded(phone.end, kTimeDigits), phone.symbol);
  }
  add(end, "");
  const std::string xmax = "xmax = " + Shortest(end, kTimeDigits) + "\n";
  return "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\nxmin = 0.0\n" + xmax +
         "tiers? <exists>\nsize = 1\nitem []:\n    item [1]:\n"
         "        class = \"IntervalTier\"\n        name = \"phones\"\n        xmin = 0.0\n        " +
         xmax + "        intervals: size = " + std::to_string(count) + "\n" + intervals;
}

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
  line += Right(Fixed(level, 0), 5) + " dB ";
  std::size_t columns = Columns(line);
  if (columns > width) return "";
  std::size_t first = symbols.size();
  while (first > 0 && columns + 1 + Columns(symbols[first - 1]) <= width) columns += 1 + Columns(symbols[--first]);
  for (std::size_t i = first; i < symbols.size(); ++i) line += " " + symbols[i];
  return line;
}

LiveLine::LiveLine(int descriptor) : descriptor_(descriptor) {
  const char* kind = std::getenv("TERM");
  terminal_ = isatty(descriptor) == 1 && kind != nullptr && std::strcmp(kind, "dumb") != 0;
  const char* locale = nullptr;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (locale == nullptr || *locale == 0) locale = std::getenv(name);
  }
  blocks_ = locale != nullptr && (std::strstr(locale, "UTF-8") != nullptr || std::strstr(locale, "utf8") != nullptr);
}

void LiveLine::Show(double level, const std::vector<std::string>& symbols) {
  if (!terminal_) return;
  winsize size{};
  const bool known = ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  // The last column stays free: some terminals begin a new line behind it.
  Write("\r" + LiveText(level, symbols, (known ? size.ws_col : 80) - 1, blocks_) + "\x1b[K");
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
