// What is said of how well a text fits.

#include "aligner/alignment.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "aligner/course.h"

namespace tetraphone {
namespace {

constexpr double kSkipped = -1.25;

// Of a text of words of one phone, each ten sub-frames long, that score so much in each.
Alignment Fitting(const std::vector<double>& fits, const std::vector<bool>& guessed = {}, Course course = {}) {
  std::vector<SpokenWord> words;
  for (std::size_t i = 0; i < fits.size(); ++i) {
    words.push_back({"W" + std::to_string(i % 8), {{0}}, !guessed.empty() && guessed[i]});
  }
  GraphOptions options;
  options.fills = false;
  const AlignmentGraph graph(words, options);
  ModelInfo info;
  info.phones = {"AA"};
  info.frame_shift = 0.03;
  Timeline timeline(info);
  for (std::size_t i = 0; i < fits.size(); ++i) {
    Segment segment{};
    segment.unit = 2 * i + 1;  // behind a silence
    segment.first = static_cast<std::int64_t>(10 * i);
    segment.end = segment.first + 10;
    segment.score = 10 * fits[i];
    segment.skipped = fits[i] == kSkipped;
    course.score += segment.score;
    course.segments.push_back(segment);
    timeline.Add(segment.first, segment.end);
  }
  return AlignmentOf(course, timeline, static_cast<std::int64_t>(10 * fits.size()), graph, info);
}

std::string Misfits(const Alignment& alignment) {
  std::string words;
  for (const AlignedWord& word : alignment.words) words += word.fits ? '.' : 'x';
  return words;
}

TEST(Fit, IsTheMeanOfSubFrames) {
  const Alignment alignment = Fitting({-1, -0.5, 0});
  EXPECT_NEAR(alignment.fit, -0.5, 1e-12);
  EXPECT_NEAR(alignment.words[1].fit, -0.5, 1e-12);
  EXPECT_TRUE(alignment.fits);
  EXPECT_TRUE(alignment.problems.empty());
  EXPECT_TRUE(Fitting({-1.09, -1.09}).fits);
  const Alignment other = Fitting({-1.11, -1.11, -1.11});
  EXPECT_FALSE(other.fits);
  EXPECT_EQ(Misfits(other), "...");  // not by the words around them
  EXPECT_EQ(other.problems.at(0), "the text does not fit the sound; check that it is what is said there");
}

TEST(Fit, OfAStretchThatWasNotSaidIsLow) {
  std::vector<double> fits(30, 0.0);
  fits[3] = -7;  // a word alone may be hard to hear
  for (std::size_t i = 12; i < 19; ++i) fits[i] = -3.5;
  const Alignment alignment = Fitting(fits);
  EXPECT_EQ(Misfits(alignment), "............xxxxxxx...........");
  EXPECT_TRUE(alignment.fits);
  EXPECT_EQ(alignment.problems.at(0),
            "the sound does not fit 'W4' to 'W2' (1.20 to 1.90 s); check that the text is what is said there");
  EXPECT_EQ(Misfits(Fitting({-9, 0, 0, 0})), "x...");
}

TEST(Fit, OfSkippedWordsIsNone) {
  std::vector<double> fits(9, 0.0);
  fits[4] = kSkipped;
  EXPECT_EQ(Misfits(Fitting(fits)), "....x....");
  for (std::size_t i = 0; i < 5; ++i) fits[i] = kSkipped;
  const Alignment alignment = Fitting(fits);
  EXPECT_GT(alignment.fit, -1.1);
  EXPECT_FALSE(alignment.fits);  // most words were not said
}

TEST(Fit, NamesWhatTheTextLacks) {
  Course course;
  course.unknown = {{0.5, 0.9}, {2, 2.5}, {7.004, 12}};
  EXPECT_EQ(Fitting({0, 0}, {}, course).problems.at(0),
            "the text lacks what is said from 2.00 to 2.50 s, 7.00 to 12.00 s; check that it is complete");
}

TEST(Fit, NamesWordsThatWereGuessedOnce) {
  std::vector<bool> guessed(16, true);
  guessed[0] = guessed[8] = false;
  EXPECT_EQ(Fitting(std::vector<double>(16, 0.0), guessed).problems.at(0),
            "the dictionary lacks 'W1', 'W2', 'W3', 'W4', 'W5' and 2 more, whose sound was guessed by the spelling; "
            "give a dictionary that has it");
}

}  // namespace
}  // namespace tetraphone
