// Results in each format, byte by byte, in a locale with a decimal comma as well.

#include "results/formats.h"

#include <gtest/gtest.h>
#include <stdlib.h>
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
#include <utility>
#include <vector>

namespace tetraphone {
namespace {

using Phones = std::vector<Interval>;

const Phones kPhones = {{"AA", 0.12, 0.31, 0.97432}, {"T", 0.31, 0.34499999, 1.0}, {"ʃ", 1.5, 12.0, 0.00004}};

std::string Written(const std::string& format, const Recognition& recognition, bool first = true) {
  const Result<std::string> text = FormatResult(recognition, **FindResultFormat(format), "arpabet", first);
  EXPECT_TRUE(text) << text.error().message;
  return text ? *text : "";
}

std::string Written(const std::string& format, const std::string& name, double duration, const Phones& phones,
                    bool first = true) {
  return Written(format, {name, duration, {{"phones", phones}}}, first);
}

std::string Json(const std::string& name) {
  const std::string line = Written("json", name, 0, {});
  const std::string head = "{\"recording\": \"", tail = "\", \"duration\": 0.0, \"phones\": [], \"problems\": []}\n";
  EXPECT_EQ(line.substr(0, head.size()), head);
  EXPECT_EQ(line.substr(line.size() - tail.size()), tail);
  return line.substr(head.size(), line.size() - head.size() - tail.size());
}

TEST(Text, IsThatOfTetraphoneRecognize) {
  EXPECT_EQ(TextLine(kPhones[0]), "    0.12     0.31  AA  0.97\n");
  EXPECT_EQ(TextLine(kPhones[1]), "    0.31     0.34  T   1.00\n");
  EXPECT_EQ(TextLine(kPhones[2]), "    1.50    12.00  ʃ   0.00\n");
  EXPECT_EQ(TextLine({"SILENCE", 123456.789, 1234567.891, 0.5}), "123456.79 1234567.89  SILENCE 0.50\n");
  // Python rounds to microseconds, then prints 2 digits: 0.1349999999 -> 0.135 -> 0.14, but 0.125 -> 0.12.
  EXPECT_EQ(TextLine({"B", 0.1349999999, 0.125, 0.98999}), "    0.14     0.12  B   0.99\n");
}

TEST(Json, IsThatOfTetraphoneRecognize) {
  EXPECT_EQ(Written("json", "a.wav", 13.0000004, kPhones),
            "{\"recording\": \"a.wav\", \"duration\": 13.0, \"phones\": ["
            "{\"phone\": \"AA\", \"start\": 0.12, \"end\": 0.31, \"confidence\": 0.9743}, "
            "{\"phone\": \"T\", \"start\": 0.31, \"end\": 0.345, \"confidence\": 1.0}, "
            "{\"phone\": \"\\u0283\", \"start\": 1.5, \"end\": 12.0, \"confidence\": 0.0}], \"problems\": []}\n");
  const std::string line = Written("json", {"a", 1, {{"phones", {}}}, {"a is cut", "a is \"b\""}});
  EXPECT_EQ(line.substr(line.find("phones")), "phones\": [], \"problems\": [\"a is cut\", \"a is \\\"b\\\"\"]}\n");
}

TEST(Json, PhonesOfEqualLengthHaveEqualLengths) {
  for (int frame = 0; frame < 2000; ++frame) {  // on the grid of the default features: 30 ms, 7.5 ms late
    const double start = frame * 0.03 + 0.0075, end = (frame + 1) * 0.03 + 0.0075;
    const std::string line = Written("json", "", 0, {{"AA", start, end, 1}});
    const auto value = [&](const std::string& key) {
      return std::lround(1e6 * std::strtod(line.c_str() + line.find(key) + key.size(), nullptr));
    };
    ASSERT_EQ(value("\"end\": ") - value("\"start\": "), 30000) << line;
    ASSERT_EQ(value("\"start\": "), frame * 30000 + 7500) << line;
  }
}

TEST(Json, NumbersAreRoundedAsInPython) {
  auto duration = [](double value) {
    const std::string line = Written("json", "", value, {});
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
  EXPECT_EQ(Written("audacity", "", 13, kPhones),
            "0.120000\t0.310000\tAA\n0.310000\t0.345000\tT\n1.500000\t12.000000\tʃ\n");
  EXPECT_EQ(Written("audacity", "", 13, {}), "");
}

std::string Grid(const std::string& end, const std::vector<std::string>& intervals) {
  std::string text = "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\nxmin = 0.0\nxmax = " + end +
                     "\ntiers? <exists>\nsize = 1\nitem []:\n    item [1]:\n        class = \"IntervalTier\"\n"
                     "        name = \"phones\"\n        xmin = 0.0\n        xmax = " +
                     end + "\n        intervals: size = " + std::to_string(intervals.size() / 3) + "\n";
  for (std::size_t i = 0; i < intervals.size(); i += 3) {
    text += "        intervals [" + std::to_string(i / 3 + 1) + "]:\n            xmin = " + intervals[i] +
            "\n            xmax = " + intervals[i + 1] + "\n            text = \"" + intervals[i + 2] + "\"\n";
  }
  return text;
}

TEST(TextGrids, HaveEmptyIntervalsForGaps) {
  EXPECT_EQ(Written("textgrid", "a.wav", 13, kPhones),
            Grid("13.0", {"0.0", "0.12", "", "0.12", "0.31", "AA", "0.31", "0.345", "T",  //
                          "0.345", "1.5", "", "1.5", "12.0", "ʃ", "12.0", "13.0", ""}));
}

TEST(TextGrids, OfNothingHaveOneInterval) {
  EXPECT_EQ(Written("textgrid", "a.wav", 2.5, {}), Grid("2.5", {"0.0", "2.5", ""}));
  EXPECT_EQ(Written("textgrid", "a.wav", 0, {}), Grid("0.001", {"0.0", "0.001", ""}));
}

TEST(TextGrids, DoubleQuotesAndHoldEveryEnd) {
  EXPECT_EQ(Written("textgrid", "a.wav", 1, {{"a\"b", 0, 1.25, 1}}), Grid("1.25", {"0.0", "1.25", "a\"\"b"}));
  // Intervals neither overlap nor are empty, whatever the phones.
  const Phones phones = {{"A", 0, 2, 1}, {"B", 1, 2, 1}, {"C", 1, 2.5, 1}, {"D", 2.5, 2.5, 1}};
  EXPECT_EQ(Written("textgrid", "a.wav", 3, phones),
            Grid("3.0", {"0.0", "2.0", "A", "2.0", "2.5", "C", "2.5", "3.0", ""}));
}

const Phones kOdd = {{"a,b", 0, 0.1, 1}, {"\"<&>", 0.1, 0.2, 0.5}, {"a\nb\tc", 0.2, 0.3, 0}, {";;", 0.3, 0.4, 0.25}};

TEST(Csv, QuotesWhatNeedsIt) {
  EXPECT_EQ(Written("csv", "a \"b\", c.wav", 1, kOdd),
            "recording,tier,start,end,label,confidence\n"
            "\"a \"\"b\"\", c.wav\",phones,0.000000,0.100000,\"a,b\",1.0\n"
            "\"a \"\"b\"\", c.wav\",phones,0.100000,0.200000,\"\"\"<&>\",0.5\n"
            "\"a \"\"b\"\", c.wav\",phones,0.200000,0.300000,\"a\nb\tc\",0.0\n"
            "\"a \"\"b\"\", c.wav\",phones,0.300000,0.400000,;;,0.25\n");
  EXPECT_EQ(Written("csv", "a\xFF", 1, {{"T", 0, 0.1, 1}}, false), "a\uFFFD,phones,0.000000,0.100000,T,1.0\n");
  EXPECT_EQ(Written("csv", "a", 1, {}), "recording,tier,start,end,label,confidence\n");
  EXPECT_EQ(Written("csv", "a", 1, {}, false), "");
}

TEST(Ctm, HasFiveFieldsAndAConfidence) {
  EXPECT_EQ(Written("ctm", "b/a 1.x.wav", 1, kOdd),
            "a_1.x 1 0.000000 0.100000 a,b 1.0000\n"
            "a_1.x 1 0.100000 0.100000 \"<&> 0.5000\n"
            "a_1.x 1 0.200000 0.100000 a_b_c 0.0000\n"
            "a_1.x 1 0.300000 0.100000 __ 0.2500\n");
  const std::vector<std::pair<std::string, std::string>> names = {
      {";;a.wav", "__a"},          {"", "_"},       {".wav", ".wav"},
      {"C:\\x\\y.wav", "y"},       {"a\nb", "a_b"}, {"\xFF", "\uFFFD"},
      {"x\u00A0y\u3000z", "x_y_z"}};
  for (const auto& [name, shown] : names) {
    EXPECT_EQ(Written("ctm", name, 1, {{"T", 0, 1, 1}}), shown + " 1 0.000000 1.000000 T 1.0000\n");
  }
}

TEST(Srt, CountsCuesInMilliseconds) {
  EXPECT_EQ(Written("srt", "a.wav", 4000, {{"AA", 0.0004, 0.0006, 1}, {"T", 59.9995, 3661.0015, 1}}),
            "1\n00:00:00,000 --> 00:00:00,001\nAA\n\n2\n00:01:00,000 --> 01:01:01,002\nT\n\n");
  EXPECT_EQ(Written("srt", "a.wav", 1, {{"AA", 0.1, 0.1004, 1}, {"B", 0.1, 0.2, 1}, {"C", 0.15, 0.3, 1}}),
            "1\n00:00:00,100 --> 00:00:00,200\nB\n\n2\n00:00:00,200 --> 00:00:00,300\nC\n\n");
  EXPECT_EQ(Written("srt", "a.wav", 1, {}), "");
}

TEST(Eaf, HasSlotsInTheOrderOfTimeAndEscapesText) {
  const Recognition recognition{
      "/x y/a&b.WAV",
      1,
      {{"phones", {{"<&\">", 0.1, 0.2, 1}, {"B\x01", 0.2, 0.3, 1}}}, {"words", {{"w", 0.1, 0.3, 1}}}}};
  const std::string text = Written("eaf", recognition);
  const auto has = [&](const std::string& part) { EXPECT_NE(text.find(part), std::string::npos) << part << text; };
  has("MEDIA_URL=\"file:///x%20y/a%26b.WAV\" MIME_TYPE=\"audio/x-wav\" RELATIVE_MEDIA_URL=\"./a%26b.WAV\"");
  has("TIME_SLOT_ID=\"ts1\" TIME_VALUE=\"100\"/>\n        <TIME_SLOT TIME_SLOT_ID=\"ts5\" TIME_VALUE=\"100\"/>\n"
      "        <TIME_SLOT TIME_SLOT_ID=\"ts2\" TIME_VALUE=\"200\"/>\n        <TIME_SLOT TIME_SLOT_ID=\"ts3\" "
      "TIME_VALUE=\"200\"");
  has("<ANNOTATION_VALUE>&lt;&amp;&quot;&gt;</ANNOTATION_VALUE>");
  has("<ANNOTATION_VALUE>B </ANNOTATION_VALUE>");
  has("ANNOTATION_ID=\"a3\" TIME_SLOT_REF1=\"ts5\" TIME_SLOT_REF2=\"ts6\"");
  has("\"lastUsedAnnotationId\">3<");
  for (const char* name : {"microphone", "-", ""}) {
    EXPECT_EQ(Written("eaf", name, 1, {}).find("MEDIA_DESCRIPTOR"), std::string::npos);
  }
}

TEST(Tiers, AreAllWrittenWhereAFormatHasSeveral) {
  const Recognition recognition{"a", 1, {{"phones", {{"T", 0, 0.5, 1}}}, {"words", {{"to", 0, 0.5, 0.5}}}}};
  EXPECT_EQ(Written("json", recognition),
            "{\"recording\": \"a\", \"duration\": 1.0, "
            "\"phones\": [{\"phone\": \"T\", \"start\": 0.0, \"end\": 0.5, \"confidence\": 1.0}], "
            "\"words\": [{\"word\": \"to\", \"start\": 0.0, \"end\": 0.5, \"confidence\": 0.5}], \"problems\": []}\n");
  EXPECT_EQ(Written("csv", recognition, false), "a,phones,0.000000,0.500000,T,1.0\na,words,0.000000,0.500000,to,0.5\n");
  EXPECT_EQ(Written("audacity", recognition), "0.000000\t0.500000\tT\n");
  const std::string grid = Written("textgrid", recognition);
  EXPECT_NE(grid.find("size = 2"), std::string::npos);
  EXPECT_NE(grid.find("item [2]:\n        class = \"IntervalTier\"\n        name = \"words\""), std::string::npos);
  for (std::size_t i = 0; const ResultFormat* format = ResultFormatAt(i); ++i) Written(format->name, {"a", 0, {}});
}

TEST(Tiers, OfWordsHoldTheirPhonesInJson) {
  const Recognition recognition{"a", 2,
                                {{"words", {{"to", 0, 0.5, kNoConfidence}, {"be", 0.5, 0.9, kNoConfidence}}},
                                 {"phones", {{"T", 0, 0.3, kNoConfidence}, {"UW", 0.3, 0.5, 0.25},
                                             {"B", 0.5, 0.6, kNoConfidence}, {"IY", 0.6, 0.9, kNoConfidence}}},
                                 {"rests", {}}}};
  EXPECT_EQ(Written("json", recognition),
            "{\"recording\": \"a\", \"duration\": 2.0, \"words\": [{\"text\": \"to\", \"start\": 0.0, \"end\": 0.5, "
            "\"phones\": [{\"phone\": \"T\", \"start\": 0.0, \"end\": 0.3}, "
            "{\"phone\": \"UW\", \"start\": 0.3, \"end\": 0.5, \"confidence\": 0.25}]}, "
            "{\"text\": \"be\", \"start\": 0.5, \"end\": 0.9, \"phones\": "
            "[{\"phone\": \"B\", \"start\": 0.5, \"end\": 0.6}, "
            "{\"phone\": \"IY\", \"start\": 0.6, \"end\": 0.9}]}], \"rests\": [], \"problems\": []}\n");
}

TEST(Tiers, WithoutConfidencesSayNone) {
  const Recognition recognition{"a", 1, {{"words", {{"to", 0, 0.5, kNoConfidence}}}}};
  EXPECT_EQ(Written("text", recognition), "    0.00     0.50  to\n");
  EXPECT_EQ(Written("csv", recognition, false), "a,words,0.000000,0.500000,to,\n");
  EXPECT_EQ(Written("ctm", recognition), "a 1 0.000000 0.500000 to\n");
  EXPECT_EQ(Written("json", recognition),
            "{\"recording\": \"a\", \"duration\": 1.0, "
            "\"words\": [{\"word\": \"to\", \"start\": 0.0, \"end\": 0.5}], \"problems\": []}\n");
}

TEST(Results, ThatCannotBeAreRefused) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<Recognition, std::string>> cases = {
      {{"a.wav", kNan, {}}, "the duration of a.wav is"},
      {{"a.wav", -1, {}}, "the duration of a.wav is"},
      {{"a.wav", HUGE_VAL, {}}, "the duration of a.wav is"},
      {{"a", 1, {{"", {}}}}, "a tier without a name"},
      {{"a", 1, {{"phones", {{"T", 0, 1, 1}, {"T", kNan, 1, 1}}}}}, "interval 2 of phones lacks a start and"},
      {{"a", 1, {{"phones", {{"T", 0.5, 0.4, 1}}}}}, "interval 1 of phones lacks a start and"},
      {{"a", 1, {{"phones", {{"T", 0, 1, kNan}}}}}, "interval 1 of phones has a confidence"},
      {{"a", 1, {{"phones", {{"T", 0, 1, 1.01}}}}}, "interval 1 of phones has a confidence"},
      {{"a", 1, {{"phones", {{"T", 0.5, 1, 1}, {"T", 0.4, 1, 1}}}}}, "interval 2 of phones starts before"}};
  for (const auto& [recognition, says] : cases) {
    const auto text = FormatResult(recognition, *ResultFormatAt(0));
    ASSERT_FALSE(text) << says;
    EXPECT_EQ(text.error().message.substr(0, says.size()), says);
  }
}

TEST(Results, OfHoursAreWrittenInLinearTime) {
  Recognition recognition{"a.wav", 5000, {{"phones", Phones(100000)}}};
  double time = 0;
  for (Interval& interval : recognition.tiers[0].intervals) {
    interval = {"AA", time, time + 0.03, 0.5};
    time += 0.05;
  }
  for (std::size_t i = 0; const ResultFormat* format = ResultFormatAt(i); ++i) {
    EXPECT_GT(Written(format->name, recognition).size(), 1000000u) << format->name;
  }
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
  EXPECT_EQ(Written("json", "a", 1.5, {}),
            "{\"recording\": \"a\", \"duration\": 1.5, \"phones\": [], \"problems\": []}\n");
  EXPECT_EQ(Written("audacity", "", 13, {kPhones[0]}), "0.120000\t0.310000\tAA\n");
  EXPECT_EQ(Written("textgrid", "a.wav", 1.5, {}).find(','), std::string::npos);
}

}  // namespace
}  // namespace tetraphone
