// Scores of measured phones: by a head, as its programs define them, and without one.

#include "pronunciation/scorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "aligner/aligner.h"
#include "recognizer/recognizer.h"

namespace tetraphone {
namespace {

std::shared_ptr<const Model> Loaded() {
  const auto recognizer = Recognizer::Load(TETRAPHONE_MODELS "/programs.pte");
  EXPECT_TRUE(recognizer) << recognizer.error().message;
  return recognizer->shared_model();
}

// Of more phones than a program takes at a time; each word has three.
Measures Drawn(std::size_t phones, std::size_t count) {
  Measures measures{count, std::vector<float>(phones * count), std::vector<Heard>(phones + 1)};
  for (std::size_t i = 0; i < measures.rows.size(); ++i) {
    measures.rows[i] = static_cast<float>(i * 7919 % 2001) / 1000.0f - 1.0f;
  }
  for (std::size_t i = 0; i <= phones; ++i) measures.heard[i] = {i % 3, 0.5, static_cast<double>(i % 5) / 4, 0, 0};
  return measures;
}

std::vector<std::size_t> Words(std::size_t phones) {
  std::vector<std::size_t> words(phones);
  for (std::size_t i = 0; i < phones; ++i) words[i] = i / 3;
  return words;
}

double Hundred(double score) { return std::clamp(50 * score, 0.0, 100.0); }

TEST(Scorer, ReadsBothWays) {
  constexpr std::size_t kCount = 150;
  const std::shared_ptr<const Model> model = Loaded();
  const std::size_t outputs = model->info().phones.size() + 1, width = PaddedMeasures(outputs);
  const Measures measures = Drawn(kCount, MeasureCount(outputs));
  const auto run = [&](const char* name, const std::vector<std::vector<float>>& rows) {
    const auto network = *Network::Make(model, name);
    std::vector<std::vector<float>> found;
    for (const std::vector<float>& row : rows) {
      found.emplace_back(network->program().outputs);
      EXPECT_FALSE(network->Run(row.data(), 1, found.back().data()));
    }
    return found;
  };
  std::vector<std::vector<float>> rows(kCount, std::vector<float>(width));
  for (std::size_t i = 0; i < kCount; ++i) {
    for (std::size_t k = 0; k < width; ++k) {
      const float value = k < measures.count ? measures.rows[i * measures.count + k] : model->info().score_mean[k];
      rows[i][k] = (value - model->info().score_mean[k]) / model->info().score_deviation[k];
    }
  }
  std::vector<std::vector<float>> both = run(kScoreForward, rows);
  std::reverse(rows.begin(), rows.end());
  std::vector<std::vector<float>> back = run(kScoreBackward, rows);
  std::reverse(back.begin(), back.end());
  for (std::size_t i = 0; i < kCount; ++i) both[i].insert(both[i].end(), back[i].begin(), back[i].end());
  const std::vector<std::vector<float>> scores = run(kScore, both);

  const auto found = Scorer(model, false).Score(measures, Words(kCount));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->trained);
  const auto mean = [&](std::size_t first, std::size_t count, std::size_t output) {
    double sum = 0;
    for (std::size_t i = first; i < first + count; ++i) sum += scores[i][output];
    return Hundred(sum / static_cast<double>(count));
  };
  ASSERT_EQ(found->scores.phones.size(), kCount);
  ASSERT_EQ(found->scores.words.size(), kCount / 3);
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_EQ(found->scores.phones[i], Hundred(scores[i][0]));
  for (std::size_t i = 0; i < kCount / 3; ++i) {
    EXPECT_EQ(found->scores.words[i].accuracy, mean(3 * i, 3, 1));
    EXPECT_EQ(found->scores.words[i].stress, mean(3 * i, 3, 2));
    EXPECT_EQ(found->scores.words[i].total, mean(3 * i, 3, 3));
  }
  EXPECT_EQ(found->scores.sentence.accuracy, mean(0, kCount, 4));
  EXPECT_EQ(found->scores.sentence.fluency, mean(0, kCount, 5));
  EXPECT_EQ(found->scores.sentence.total, mean(0, kCount, 6));
}

// The middle of words' three phones, of heard labels 0, 1, 2, was left out: a third, so all words were said.
TEST(Scorer, GivesRatiosWithoutAHead) {
  const Measures measures = Drawn(6, 9);
  const Scorer scorer(Loaded(), true);
  auto found = scorer.Score(measures, Words(6));
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->trained);
  EXPECT_EQ(found->scores.phones, (std::vector<double>{0, 25, 50, 75, 100, 0}));
  EXPECT_NEAR(found->scores.words[0].total, 25, 1e-9);
  EXPECT_NEAR(found->scores.words[1].accuracy, 175 / 3.0, 1e-9);
  EXPECT_NEAR(found->scores.sentence.total, 250 / 6.0, 1e-9);
  EXPECT_EQ(found->scores.sentence.completeness, 100);
  EXPECT_TRUE(std::isnan(found->scores.sentence.fluency));
  EXPECT_TRUE(std::isnan(found->scores.words[0].stress));

  EXPECT_EQ(scorer.Score(Drawn(2, 9), {0, 0})->scores.sentence.completeness, 100);  // a half is enough
  Measures mute = measures;
  mute.heard[4].label = 0;  // as the first phone of this word, so that one of three is left
  EXPECT_EQ(scorer.Score(mute, Words(6))->scores.sentence.completeness, 50);
}

// However the sound is cut into calls, and however often it is asked.
TEST(Scorer, GivesTheSameBitsForAnyPieces) {
  const auto recognizer = Recognizer::Load(TETRAPHONE_MODELS "/programs.pte");
  ASSERT_TRUE(recognizer);
  const auto aligner = Aligner::Make(*recognizer, nullptr, "");
  ASSERT_TRUE(aligner) << aligner.error().message;
  std::vector<float> samples(16000);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<float>(i * 7919 % 2001) / 1000.0f - 1.0f;
  AlignmentOptions options;
  options.phones = true;
  const auto silent = *aligner->NewStream("S AE T | AE", options);
  ASSERT_FALSE(silent->Accept(samples.data(), samples.size(), 16000));
  ASSERT_FALSE(silent->Finish());
  const auto refused = silent->Pronounced();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("option pronounce"), std::string::npos);

  options.pronounce = true;
  std::vector<float> first;
  for (const std::size_t piece : {16000u, 777u}) {
    const auto stream = *aligner->NewStream("S AE T | AE", options);
    EXPECT_FALSE(stream->Measured());
    if (!first.empty()) {  // other sound, which leaves nothing behind
      ASSERT_FALSE(stream->Accept(samples.data() + 5000, 9000, 16000));
      ASSERT_FALSE(stream->Finish());
      EXPECT_NE(stream->Measured()->rows, first);
      ASSERT_FALSE(stream->Reset());
    }
    for (std::size_t at = 0; at < samples.size(); at += piece) {
      ASSERT_FALSE(stream->Accept(samples.data() + at, std::min(piece, samples.size() - at), 16000));
    }
    ASSERT_FALSE(stream->Finish());
    const auto found = stream->Measured();
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->rows.size(), 4 * found->count);
    if (first.empty()) first = found->rows;
    EXPECT_EQ(found->rows, first);
    const auto refusal = stream->Pronounced();  // the small model's head aligns by chance
    ASSERT_FALSE(refusal);
    EXPECT_NE(refusal.error().message.find("the text does not fit the sound"), std::string::npos);
    EXPECT_LT(*stream->LogLikelihood(), 0);
  }
  const auto stream = *aligner->NewStream("S AE T | AE", options);
  ASSERT_FALSE(stream->Accept(samples.data(), samples.size(), 16000));
  EXPECT_GT(stream->HeapBytes(), silent->HeapBytes());
}

}  // namespace
}  // namespace tetraphone
