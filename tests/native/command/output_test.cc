// Phones as text, JSON, labels, TextGrid and a live line, byte by byte, in a locale with a decimal comma as well.

#include "command/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <vector>

namespace tetraphone {
namespace {

const std::vector<Phone> kPhones = {
    {0, "AA", 0.12, 0.31, 0.97432}, {1, "T", 0.31, 0.34499999, 1.0}, {2, "ʃ", 1.5, 12.0, 0.00004}};

std::string Json(const std::string& name) {
  const std::string line = JsonLine({name, 0, {}});
  const std::string head = "{\"recording\": \"", tail = "\", \"duration\": 0.0, \"phones\": [], \"problems\": []}\n";
  EXPECT_EQ(line.substr(0, head.size()), head);
  EXPECT_EQ(line.substr(line.size() - tail.size()), tail);
  return line.substr(head.size(), line.size() - head.size() - tail.size());
}

TEST(Text, IsThatOfTetraphoneRecognize) {
  EXPECT_EQ(TextLine(kPhones[0]), "    0.12     0.31  AA  0.97\n");
  EXPECT_EQ(TextLine(kPhones[1]), "    0.31     0.34  T   1.00\n");
  EXPECT_EQ(TextLine(kPhones[2]), "    1.50    12.00  ʃ   0.00\n");
  EXPECT_EQ(TextLine({0, "SILENCE", 123456.789, 1234567.891, 0.5}), "123456.79 1234567.89  SILENCE 0.50\n");
  // Python rounds to microseconds, then prints 2 digits: 0.1349999999 -> 0.135 -> 0.14, but 0.125 -> 0.12.
  EXPECT_EQ(TextLine({0, "B", 0.1349999999, 0.125, 0.98999}), "    0.14     0.12  B   0.99\n");
}

TEST(Json, IsThatOfTetraphoneRecognize) {
  EXPECT_EQ(JsonLine({"a.wav", 13.0000004, kPhones}),
            "{\"recording\": \"a.wav\", \"duration\": 13.0, \"phones\": ["
            "{\"phone\": \"AA\", \"start\": 0.12, \"end\": 0.31, \"confidence\": 0.9743}, "
            "{\"phone\": \"T\", \"start\": 0.31, \"end\": 0.345, \"confidence\": 1.0}, "
            "{\"phone\": \"\\u0283\", \"start\": 1.5, \"end\": 12.0, \"confidence\": 0.0}], \"problems\": []}\n");
  const std::string line = JsonLine({"a", 1, {}, {"a is cut", "a is \"b\""}});
  EXPECT_EQ(line.substr(line.find("phones")), "phones\": [], \"problems\": [\"a is cut\", \"a is \\\"b\\\"\"]}\n");
}

TEST(Json, PhonesOfEqualLengthHaveEqualLengths) {
  for (int frame = 0; frame < 2000; ++frame) {  // on the grid of the default features: 30 ms, 7.5 ms late
    const double start = frame * 0.03 + 0.0075, end = (frame + 1) * 0.03 + 0.0075;
    const std::string line = JsonLine({"", 0, {{0, "AA", start, end, 1}}});
    const auto value = [&](const std::string& key) {
      return std::lround(1e6 * std::strtod(line.c_str() + line.find(key) + key.size(), nullptr));
    };
    ASSERT_EQ(value("\"end\": ") - value("\"start\": "), 30000) << line;
    ASSERT_EQ(value("\"start\": "), frame * 30000 + 7500) << line;
  }
}

TEST(Json, NumbersAreRoundedAsInPython) {
  auto duration = [](double value) {
    const std::string line = JsonLine({"", value, {}});
    const std::size_t from = line.find("duration\": ") + 11;
    return line.substr(from, line.find(',', from) - from);
  };
  EXPECT_EQ(duration(0), "0.0");
  EXPECT_EQ(duration(100), "100.0");
  EXPECT_EQ(duration(0.0078125), "0.007812");  // a tie goes to even
  EXPECT_EQ(duration(0.0234375), "0.023438");
  EXPECT_EQ(duration(1.0000005), "1.000001");  // its exact value is above
  EXPECT_EQ(duration(0.0000005), "0.0");       // its exact value is below
  EXPECT_EQ(duration(28799.9999996), "28800.0");
  EXPECT_EQ(duration(std::numeric_limits<double>::quiet_NaN()), "0.0");
  EXPECT_EQ(duration(HUGE_VAL), "0.0");
}

TEST(Json, NamesAreEscapedAsInPython) {
  EXPECT_EQ(Json("a \"b\"\\c/d"), "a \\\"b\\\"\\\\c/d");
  EXPECT_EQ(Json("\b\f\n\r\t\x01\x1f\x7f~ "), "\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f~ ");
  EXPECT_EQ(Json(std::string(1, '\0')), "\\u0000");
  EXPECT_EQ(Json("é€𐍈"), "\\u00e9\\u20ac\\ud800\\udf48");
  EXPECT_EQ(Json("\xF4\x8F\xBF\xBF"), "\\udbff\\udfff");
  // No UTF-8: each byte is a surrogate of its own.
  EXPECT_EQ(Json("a\xFFz"), "a\\udcffz");
  EXPECT_EQ(Json("\xE2\x82"), "\\udce2\\udc82");
  EXPECT_EQ(Json("\xE2\x82\x41"), "\\udce2\\udc82A");
  EXPECT_EQ(Json("\xC0\xAF"), "\\udcc0\\udcaf") << "overlong";
  EXPECT_EQ(Json("\xE0\x80\xAF"), "\\udce0\\udc80\\udcaf") << "overlong";
  EXPECT_EQ(Json("\xF0\x80\x80\xAF"), "\\udcf0\\udc80\\udc80\\udcaf") << "overlong";
  EXPECT_EQ(Json("\xED\xA0\x80"), "\\udced\\udca0\\udc80") << "a surrogate";
  EXPECT_EQ(Json("\xF4\x90\x80\x80"), "\\udcf4\\udc90\\udc80\\udc80") << "beyond Unicode";
}

TEST(Labels, AreSeparatedByTabs) {
  EXPECT_EQ(AudacityLabels(kPhones), "0.120000\t0.310000\tAA\n0.310000\t0.345000\tT\n1.500000\t12.000000\tʃ\n");
  EXPECT_EQ(AudacityLabels({}), "");
}

std::string Grid(const std::string& end, const std::vector<std::string>& intervals) {
  std::string text = "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\nxmin = 0.0\nxmax = " + end +
                     "\ntiers? <exists>\nsize = 1\nitem []:\n    item [1]:\n        class = \"IntervalTier\"\n"
                     "        name = \"phones\"\n        xmin = 0.0\n        xmax = " + end +
                     "\n        intervals: size = " + std::to_string(intervals.size() / 3) + "\n";
  for (std::size_t i = 0; i < intervals.size(); i += 3) {
    text += "        intervals [" + std::to_string(i / 3 + 1) + "]:\n            xmin = " + intervals[i] +
            "\n            xmax = " + intervals[i + 1] + "\n            text = \"" + intervals[i + 2] + "\"\n";
  }
  return text;
}

TEST(TextGrids, HaveEmptyIntervalsForGaps) {
  EXPECT_EQ(TextGrid({"a.wav", 13, kPhones}),
            Grid("13.0", {"0.0", "0.12", "", "0.12", "0.31", "AA", "0.31", "0.345", "T",  //
                          "0.345", "1.5", "", "1.5", "12.0", "ʃ", "12.0", "13.0", ""}));
}

TEST(TextGrids, OfNothingHaveOneInterval) {
  EXPECT_EQ(TextGrid({"a.wav", 2.5, {}}), Grid("2.5", {"0.0", "2.5", ""}));
  EXPECT_EQ(TextGrid({"a.wav", 0, {}}), Grid("0.001", {"0.0", "0.001", ""}));
}

TEST(TextGrids, DoubleQuotesAndHoldEveryEnd) {
  EXPECT_EQ(TextGrid({"a.wav", 1, {{0, "a\"b", 0, 1.25, 1}}}), Grid("1.25", {"0.0", "1.25", "a\"\"b"}));
  // Intervals neither overlap nor are empty, whatever the phones.
  const std::vector<Phone> phones = {{0, "A", 0, 2, 1}, {0, "B", 1, 2, 1}, {0, "C", 1, 2.5, 1}, {0, "D", 2.5, 2.5, 1}};
  EXPECT_EQ(TextGrid({"a.wav", 3, phones}),
            Grid("3.0", {"0.0", "2.0", "A", "2.0", "2.5", "C", "2.5", "3.0", ""}));
}

// A locale for C and for streams that writes 1.5 as "1,5". Few systems have one, so glibc's file is written here.
class Comma : public testing::Test {
 protected:
  struct Point : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
  };

  Comma() : folder_(std::filesystem::temp_directory_path() / ("tetraphone-" + std::to_string(getpid()))) {
    constexpr char kNumeric[] =
        "\x14\x11\x03\x20\6\0\0\0\x20\0\0\0\x22\0\0\0\x23\0\0\0\x24\0\0\0\x28\0\0\0\x2C\0\0\0,\0\0\0,\0\0\0"
        "\0\0\0\0UTF-8";
    std::filesystem::create_directories(folder_ / "comma");
    std::ofstream(folder_ / "comma" / "LC_NUMERIC", std::ios::binary).write(kNumeric, sizeof kNumeric);
    setenv("LOCPATH", folder_.c_str(), 1);
    EXPECT_NE(std::setlocale(LC_NUMERIC, "comma"), nullptr);
    std::locale::global(std::locale(std::locale::classic(), new Point));
    std::setlocale(LC_NUMERIC, "comma");  // std::locale::global set the classic one
  }
  ~Comma() override {
    std::locale::global(std::locale::classic());
    std::setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    std::filesystem::remove_all(folder_);
  }

  std::filesystem::path folder_;
};

TEST_F(Comma, IsNotWritten) {
  char text[10];
  std::snprintf(text, sizeof text, "%.1f", 1.5);
  ASSERT_STREQ(text, "1,5");
  ASSERT_EQ((std::ostringstream() << 1.5).str(), "1,5");
  EXPECT_EQ(TextLine(kPhones[0]), "    0.12     0.31  AA  0.97\n");
  EXPECT_EQ(JsonLine({"a", 1.5, {}}), "{\"recording\": \"a\", \"duration\": 1.5, \"phones\": [], \"problems\": []}\n");
  EXPECT_EQ(AudacityLabels({kPhones[0]}), "0.120000\t0.310000\tAA\n");
  EXPECT_EQ(TextGrid({"a", 1.5, {}}).find(','), std::string::npos);
}

TEST(Levels, AreDecibelsOfFullScale) {
  const std::vector<float> full = {1, -1, 1, -1}, tenth = {0.1f, -0.1f}, faint = {1e-9f}, loud = {10};
  EXPECT_DOUBLE_EQ(Level(full.data(), full.size()), 0);
  EXPECT_NEAR(Level(tenth.data(), tenth.size()), -20, 1e-5);
  EXPECT_EQ(Level(faint.data(), faint.size()), -60);
  EXPECT_NEAR(Level(loud.data(), loud.size()), 20, 1e-5);
  EXPECT_EQ(Level(nullptr, 0), -60);
}

TEST(Live, ShowsTheLevelAndTheLastPhones) {
  const std::vector<std::string> phones = {"DH", "AH", "K", "AE", "T"};
  EXPECT_EQ(LiveText(-18, phones, 100, true), "███████░░░  -18 dB  DH AH K AE T");
  EXPECT_EQ(LiveText(-18, phones, 100, false), "#######...  -18 dB  DH AH K AE T");
  EXPECT_EQ(LiveText(-60, {}, 100, false), "..........  -60 dB ");
  EXPECT_EQ(LiveText(12, {}, 100, false), "##########   12 dB ");
  for (std::size_t width = 0; width < 40; ++width) {
    const std::string line = LiveText(-18, phones, width, false);
    EXPECT_LE(line.size(), width);
    if (width >= 21) {
      EXPECT_EQ(line.substr(line.size() - 2), " T");
    }
  }
  EXPECT_EQ(LiveText(-18, phones, 26, false), "#######...  -18 dB  K AE T");
  EXPECT_EQ(LiveText(-18, phones, 27, false), "#######...  -18 dB  K AE T");
  EXPECT_EQ(LiveText(-18, {"t", "ʃ", "ʃ"}, 23, false), "#######...  -18 dB  ʃ ʃ") << "columns, not bytes";
}

// The two ends of a new terminal.
struct Terminal {
  Terminal() {
    program = posix_openpt(O_RDWR | O_NOCTTY);
    EXPECT_EQ(grantpt(program) + unlockpt(program), 0);
    screen = open(ptsname(program), O_RDWR | O_NOCTTY);
  }
  ~Terminal() {
    close(screen);
    close(program);
  }
  std::string Seen() const {
    std::string text;
    char piece[1000];
    pollfd ready = {program, POLLIN, 0};
    while (poll(&ready, 1, 100) > 0) {
      const ssize_t count = read(program, piece, sizeof piece);
      if (count <= 0) break;
      text.append(piece, static_cast<std::size_t>(count));
    }
    return text;
  }
  int program, screen;
};

TEST(Live, IsRewrittenOnATerminalOfItsWidth) {
  const Terminal terminal;
  winsize size{};
  size.ws_col = 24;  // the last stays free
  ASSERT_EQ(ioctl(terminal.program, TIOCSWINSZ, &size), 0);
  setenv("TERM", "xterm", 1);
  setenv("LC_ALL", "C", 1);
  {
    LiveLine line(terminal.screen);
    line.Show(-18, {"DH", "AH", "K"});
    EXPECT_EQ(terminal.Seen(), "\r#######...  -18 dB  K\x1b[K");
    line.Clear();
    EXPECT_EQ(terminal.Seen(), "\r\x1b[K");
    line.Clear();
    EXPECT_EQ(terminal.Seen(), "") << "nothing is shown any more";
    setenv("LC_ALL", "C.UTF-8", 1);
    LiveLine blocks(terminal.screen);
    blocks.Show(0, {});
    EXPECT_EQ(terminal.Seen(), "\r██████████    0 dB \x1b[K");
  }
  EXPECT_EQ(terminal.Seen(), "\r\x1b[K") << "the line goes with the object";
}

TEST(Live, IsNothingElsewhere) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  char piece[10];
  setenv("TERM", "xterm", 1);
  { LiveLine(ends[1]).Show(-18, {"DH"}); }
  EXPECT_EQ(read(ends[0], piece, sizeof piece), -1) << "a pipe";
  close(ends[0]);
  close(ends[1]);
  const Terminal terminal;
  for (const char* kind : {"dumb", static_cast<const char*>(nullptr)}) {
    if (kind == nullptr) unsetenv("TERM");
    if (kind != nullptr) setenv("TERM", kind, 1);
    LiveLine(terminal.screen).Show(-18, {"DH"});
    EXPECT_EQ(terminal.Seen(), "");
  }
}

}  // namespace
}  // namespace tetraphone
