// The lists of formats and alphabets, and numbers as Python rounds them.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <set>
#include <string>

#include "results/alphabet.h"
#include "results/decimal.h"
#include "results/formats.h"

namespace tetraphone {
namespace {

TEST(Formats, HaveNamesAndSuffixesOfTheirOwn) {
  std::set<std::string> names, suffixes;
  std::size_t count = 0;
  for (; const ResultFormat* format = ResultFormatAt(count); ++count) {
    names.insert(format->name);
    suffixes.insert(format->suffix);
    EXPECT_EQ(*FindResultFormat(format->name), format);
    EXPECT_EQ(format->suffix[0], '.');
  }
  EXPECT_EQ(names.size(), count);
  EXPECT_EQ(suffixes.size(), count);
  EXPECT_EQ(FindResultFormat("praat").error().message,
            "there is no format praat; give text, json, jsonl, csv, ctm, textgrid, eaf, audacity or srt");
}

TEST(Alphabets, ChangePhonesAlone) {
  const Recognition recognition{
      "a", 1, {{"phones", {{"SH", 0, 0.5, 1}, {"JH", 0.5, 1, 1}}}, {"words", {{"SH", 0, 1, 1}}}}};
  const auto ipa = FormatResult(recognition, **FindResultFormat("csv"), "ipa", false);
  EXPECT_EQ(*ipa,
            "a,phones,0.000000,0.500000,ʃ,1.0\na,phones,0.500000,1.000000,dʒ,1.0\na,words,0.000000,1.000000,SH,1.0\n");
  EXPECT_EQ(FormatResult(recognition, *ResultFormatAt(0), "xsampa").error().message,
            "there is no alphabet xsampa; give arpabet or ipa");
  const Recognition own{"a", 1, {{"phones", {{"sj", 0, 1, 1}}}}};
  EXPECT_EQ(FormatResult(own, *ResultFormatAt(0), "ipa").error().message.substr(0, 41),
            "the phone sj is not in the ARPABET, so it");
  EXPECT_EQ(AlphabetAt(2), nullptr);
  EXPECT_EQ(PhoneAt(39), nullptr);
}

// glibc prints the exact value, rounded half to even.
std::int64_t Printed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  std::string number;
  for (const char* c = text; *c != 0; ++c) {
    if (*c != '.') number += *c;
  }
  return std::stoll(number);
}

TEST(Numbers, AreRoundedToTheNearestOfTheExactValue) {
  std::mt19937_64 draw(0);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 60000; ++i) {
    const double any = unit(draw) * std::pow(10, draw() % 10);
    const double tie = (static_cast<double>(draw() % 100000000) + 0.5) / 1e6;
    const double samples = static_cast<double>(draw() % 10000000) / (i % 2 ? 16000 : 44100);
    for (const double value : {any, tie, std::nextafter(tie, 0), std::nextafter(tie, 1e9), samples}) {
      ASSERT_EQ(Micros(value), Printed(value, 6)) << value;
      ASSERT_EQ(Scaled(value, 100), Printed(value, 2)) << value;
    }
  }
  EXPECT_EQ(Micros(std::nan("")), 0);
  EXPECT_EQ(Micros(-1), 0);
  EXPECT_EQ(Micros(HUGE_VAL), 0);
  EXPECT_EQ(Micros(1e300), 1000000000000000);
}

TEST(Numbers, ArePrintedAsInPython) {
  EXPECT_EQ(Fixed(0, 6), "0.000000");
  EXPECT_EQ(Fixed(1234567, 6), "1.234567");
  EXPECT_EQ(Fixed(5, 2), "0.05");
  EXPECT_EQ(Shortest(1200000, 6), "1.2");
  EXPECT_EQ(Shortest(100000000, 6), "100.0");
}

}  // namespace
}  // namespace tetraphone
