// What is measured of phones: of sound that says them, and says something else at one place.

#include "pronunciation/measures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "model/model.h"
#include "pronunciation/trellis.h"

namespace tetraphone {
namespace {

constexpr std::size_t kOutputs = 6, kPhones = 4, kFrames = 5 * kPhones;
constexpr float kSure = 9;

// Phones of labels 1, 2, 3, 4, each in the middle of five frames; 5 stands for phone 2 where `instead`.
struct Sound {
  explicit Sound(bool instead, bool left_out = false) : scores(kFrames * kOutputs), parts(scores.size() * kSubFrames) {
    for (std::size_t t = 0; t < kFrames; ++t) {
      const std::size_t phone = t / 5, label = instead && phone == 1 ? 5 : phone + 1;
      const bool spike = t % 5 == 2 && !(left_out && phone == 1);
      scores[t * kOutputs + (spike ? label : 0)] = kSure;
      for (std::size_t k = 0; k < kSubFrames; ++k) parts[(t * kSubFrames + k) * kOutputs + label] = kSure;
    }
    for (std::size_t i = 0; i < kPhones; ++i) {
      const auto from = static_cast<std::int64_t>(i * 5 * kSubFrames);
      phones.push_back({i + 1, i / 2, from + static_cast<std::int64_t>(i == 2 ? 6 : 0), from + 15, false,
                        false});
    }
  }
  Measures Measured() const {
    return tetraphone::Measured(scores.data(), parts.data(), kFrames, kOutputs, phones, false);
  }
  double LogLikelihood() const { return tetraphone::LogLikelihood(scores.data(), kFrames, kOutputs, phones); }
  std::vector<float> scores, parts;
  std::vector<FoundPhone> phones;
};

// The numbers of a phone by the order in which they stand.
float Of(const Measures& measures, std::size_t phone, std::size_t number) {
  return measures.rows[phone * measures.count + number];
}

TEST(Measures, TellWhatWasHeard) {
  const Measures right = Sound(false).Measured(), wrong = Sound(true).Measured(), less = Sound(false, true).Measured();
  ASSERT_EQ(right.count, MeasureCount(kOutputs));
  ASSERT_EQ(right.rows.size(), kPhones * right.count);
  for (std::size_t i = 0; i < kPhones; ++i) {
    EXPECT_EQ(right.heard[i].label, i + 1);
    EXPECT_GT(right.heard[i].own, 0.9);
    EXPECT_EQ(right.heard[i].probability, right.heard[i].own);
    EXPECT_EQ(right.heard[i].added, 0u);
    EXPECT_EQ(wrong.heard[i].label, i == 1 ? 5 : i + 1);
    EXPECT_EQ(wrong.heard[i].own > 0.5, i != 1);
    EXPECT_EQ(less.heard[i].label, i == 1 ? 0 : i + 1);
  }
  EXPECT_GT(wrong.heard[1].probability, 0.9);
  EXPECT_GT(Of(less, 1, 1), Of(less, 1, 2) + 1);  // the best of all, and of all phones
  EXPECT_GT(Sound(false).LogLikelihood(), Sound(true).LogLikelihood() + 5);
}

// Text that lacks phone 2, so that it stands too much before phone 3 of the sound.
TEST(Measures, TellWhatWasAdded) {
  Sound sound(false);
  sound.phones.erase(sound.phones.begin() + 1);
  const Measures found = sound.Measured();
  EXPECT_EQ(found.heard[1].added, 2u);
  EXPECT_GT(found.heard[1].added_probability, 0.9);
  EXPECT_EQ(found.heard[0].added, 0u);
  sound.phones[1].apart = true;  // so that it belongs to others
  const Measures apart = sound.Measured();
  for (const Heard& heard : apart.heard) EXPECT_EQ(heard.added, 0u);
  EXPECT_NEAR(Of(apart, 1, 16), 1.0, 0.02);  // ten frames from one spike to the next
  sound.phones[1].apart = false;
  sound.phones.pop_back();
  EXPECT_EQ(sound.Measured().heard.back().added, 4u);
}

// A word that was not said is left out, and the words beside it are as they are without it.
TEST(Measures, LeaveOutWhatIsSkipped) {
  Sound sound(false);
  const Measures whole = sound.Measured();
  sound.phones[1].skipped = true;
  const Measures found = sound.Measured();
  EXPECT_EQ(found.heard[1].label, 0u);
  EXPECT_EQ(found.heard[1].own, 0);
  for (const std::size_t i : {0u, 2u, 3u}) {
    EXPECT_EQ(found.heard[i].label, i + 1);
    EXPECT_NEAR(found.heard[i].own, whole.heard[i].own, 0.01) << i;
  }
  // However many phones stand in a frame, what is around them is measured.
  const auto at = sound.phones[1].first;
  sound.phones.erase(sound.phones.begin() + 1);
  sound.phones.insert(sound.phones.begin() + 1, 40, FoundPhone{2, 0, at, at + 1, true, false});
  const Measures many = sound.Measured();
  EXPECT_GT(many.heard[0].own, 0.9);
  EXPECT_GT(many.heard[42].own, 0.9);
}

// Sound that belongs to others adds no phone.
TEST(Measures, HearNothingOfOthers) {
  Sound sound(false);
  sound.phones.resize(1);
  EXPECT_GE(sound.Measured().heard[1].added, 1u);
  EXPECT_EQ(tetraphone::Measured(sound.scores.data(), sound.parts.data(), kFrames, kOutputs, sound.phones, true)
                .heard[1].added, 0u);
  sound.phones = Sound(false).phones;
  sound.phones.erase(sound.phones.begin(), sound.phones.begin() + 3);
  EXPECT_GE(sound.Measured().heard[0].added, 1u);
  sound.phones[0].apart = true;
  EXPECT_EQ(sound.Measured().heard[0].label, 4u);
  EXPECT_GT(sound.Measured().heard[0].own, 0.9);
}

TEST(Measures, DescribePlaceLengthAndNeighbours) {
  const Measures found = Sound(false).Measured();
  constexpr std::size_t kPosterior = 0, kPart = 9, kMargin = 10, kBelow = 11, kLength = 12, kBefore = 13, kBehind = 14;
  constexpr std::size_t kRate = 15, kFrom = 16, kTo = 17, kRatios = 18, kParts = kRatios + kOutputs;
  constexpr std::size_t kOwn = kParts + kOutputs, kFirst = kOwn + kOutputs - 1, kLast = kFirst + 1;
  Sound sound(false);
  std::vector<std::size_t> labels, spoken(kFrames);
  for (const FoundPhone& phone : sound.phones) labels.push_back(phone.label);
  for (std::size_t t = 0; t < kFrames; ++t) spoken[t] = t / 5;
  const Trellis trellis(sound.scores.data(), kFrames, kOutputs, labels, spoken);
  const auto greatest = [](const std::vector<double>& values, std::size_t but, std::size_t from) {
    double most = 0;
    for (std::size_t k = from; k < values.size(); ++k) most = k == but ? most : std::max(most, values[k]);
    return std::log(most);
  };
  for (std::size_t i = 0; i < kPhones; ++i) {
    std::vector<double> replaced(kOutputs), before(kOutputs), behind(kOutputs);
    trellis.Replaced(i, replaced.data());
    trellis.Added(i, before.data());
    trellis.Added(i + 1, behind.data());
    EXPECT_NEAR(Of(found, i, 1), greatest(replaced, i + 1, 0), 1e-4);
    EXPECT_NEAR(Of(found, i, 2), greatest(replaced, i + 1, 1), 1e-4);
    EXPECT_NEAR(Of(found, i, 3), std::log(replaced[0]), 1e-4);
    EXPECT_NEAR(Of(found, i, 4), greatest(before, 0, 1), 1e-4);
    EXPECT_NEAR(Of(found, i, 5), greatest(behind, 0, 1), 1e-4);
    double frames = 0, most = 0, logarithms = 0;
    for (std::size_t t = 0; t < kFrames; ++t) {
      frames += trellis.Occupancy(i, t);
      most = std::max(most, trellis.Occupancy(i, t));
      logarithms += trellis.Occupancy(i, t) * std::log(trellis.posterior(t, i + 1));
    }
    EXPECT_NEAR(Of(found, i, 6), logarithms / frames, 1e-4);
    EXPECT_NEAR(Of(found, i, 7), std::log(frames + 1e-3), 1e-4);
    EXPECT_NEAR(Of(found, i, 8), most, 1e-4);
    EXPECT_NEAR(Of(found, i, kPosterior), std::log(found.heard[i].own), 1e-5);
    EXPECT_NEAR(Of(found, i, kPart), -std::log(1 + 5 * std::exp(-9)), 1e-5);
    EXPECT_NEAR(Of(found, i, kMargin), kSure, 1e-5);
    EXPECT_EQ(Of(found, i, kBelow), 0);
    EXPECT_NEAR(Of(found, i, kLength), std::log(i == 2 ? 9 : 15), 1e-6);
    EXPECT_NEAR(Of(found, i, kBefore), i == 2 ? std::log(7) : 0, 1e-6);
    EXPECT_NEAR(Of(found, i, kBehind), i == 1 ? std::log(7) : 0, 1e-6);
    EXPECT_NEAR(Of(found, i, kRate), 10.0 * kPhones / (kFrames * kSubFrames), 1e-6);
    EXPECT_NEAR(Of(found, i, kFrom), i == 0 ? 0 : 0.5, 0.01);
    EXPECT_NEAR(Of(found, i, kTo), i + 1 == kPhones ? 0 : 0.5, 0.01);
    EXPECT_EQ(Of(found, i, kRatios + i + 1), 0);
    EXPECT_LT(Of(found, i, kRatios), -0.2);
    EXPECT_NEAR(Of(found, i, kParts), -9 / 5.0, 1e-3);
    for (std::size_t k = 1; k < kOutputs; ++k) EXPECT_EQ(Of(found, i, kOwn + k - 1), k == i + 1);
    EXPECT_EQ(Of(found, i, kFirst), i % 2 == 0);
    EXPECT_EQ(Of(found, i, kLast), i % 2 == 1);
  }
}

}  // namespace
}  // namespace tetraphone
