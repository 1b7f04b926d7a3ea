// The sums over ways to say phones, against all ways one by one, and, where they are many, against plain CTC.

#include "pronunciation/trellis.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <random>
#include <vector>

namespace tetraphone {
namespace {

using Labels = std::vector<std::size_t>;

std::vector<float> Drawn(std::size_t count, unsigned seed, double scale) {
  std::mt19937 engine(seed);
  std::vector<float> drawn(count);
  for (float& value : drawn) value = static_cast<float>((engine() / 4294967296.0 - 0.5) * scale);
  return drawn;
}

std::vector<double> Posteriors(const std::vector<float>& scores, std::size_t outputs) {
  std::vector<double> found(scores.begin(), scores.end());
  for (std::size_t t = 0; t < found.size(); t += outputs) {
    double sum = 0;
    for (std::size_t k = 0; k < outputs; ++k) sum += found[t + k] = std::exp(found[t + k]);
    for (std::size_t k = 0; k < outputs; ++k) found[t + k] /= sum;
  }
  return found;
}

// The likelihood of each row of labels, from every way.
std::map<Labels, double> AllWays(const std::vector<double>& posteriors, std::size_t outputs) {
  const std::size_t frames = posteriors.size() / outputs;
  std::map<Labels, double> likelihoods;
  std::vector<std::size_t> way(frames, 0);
  for (;;) {
    double likelihood = 1;
    Labels labels;
    for (std::size_t t = 0; t < frames; ++t) {
      likelihood *= posteriors[t * outputs + way[t]];
      if (way[t] != 0 && (t == 0 || way[t] != way[t - 1])) labels.push_back(way[t]);
    }
    likelihoods[labels] += likelihood;
    std::size_t t = 0;
    while (t < frames && ++way[t] == outputs) way[t++] = 0;
    if (t == frames) return likelihoods;
  }
}

// That of one row of labels, by CTC's forward sums over all states, in logarithms.
double LogLikelihood(const std::vector<double>& posteriors, std::size_t outputs, const Labels& labels) {
  const std::size_t states = 2 * labels.size() + 1;
  const auto label = [&](std::size_t s) { return s % 2 == 0 ? 0 : labels[s / 2]; };
  std::vector<double> sums(states, 0.0);
  double logarithm = 0;
  for (std::size_t t = 0; t < posteriors.size() / outputs; ++t) {
    std::vector<double> next(states, 0.0);
    double all = 0;
    for (std::size_t s = 0; s < states; ++s) {
      double ways = t == 0 ? (s < 2 ? 1.0 : 0.0) : sums[s] + (s > 0 ? sums[s - 1] : 0.0);
      if (t > 0 && s > 2 && label(s) != 0 && label(s) != label(s - 2)) ways += sums[s - 2];
      all += next[s] = ways * posteriors[t * outputs + label(s)];
    }
    for (double& sum : next) sum /= all;
    logarithm += std::log(all);
    sums = next;
  }
  return logarithm + std::log(sums[states - 1] + sums[states - 2]);
}

Labels With(Labels labels, std::size_t at, std::size_t label) {
  labels[at] = label;
  return labels;
}

Labels Without(Labels labels, std::size_t at) {
  labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(at));
  return labels;
}

Labels More(Labels labels, std::size_t at, std::size_t label) {
  labels.insert(labels.begin() + static_cast<std::ptrdiff_t>(at), label);
  return labels;
}

TEST(Trellis, SumsAllWays) {
  constexpr std::size_t kFrames = 7, kOutputs = 4;
  const Labels rows[] = {{1}, {1, 2}, {2, 2}, {1, 2, 1}, {3, 3, 1}, {1, 2, 2, 3}};
  for (const Labels& labels : rows) {
    const std::vector<float> scores = Drawn(kFrames * kOutputs, 7 + static_cast<unsigned>(labels.size()), 6);
    std::map<Labels, double> likelihoods = AllWays(Posteriors(scores, kOutputs), kOutputs);
    const Trellis trellis(scores.data(), kFrames, kOutputs, labels, std::vector<std::size_t>(kFrames, 0));
    ASSERT_TRUE(trellis.possible());
    const double own = likelihoods[labels];
    EXPECT_NEAR(trellis.LogLikelihood(), std::log(own), 1e-5);
    std::vector<double> ratios(kOutputs);
    for (std::size_t i = 0; i <= labels.size(); ++i) {
      trellis.Added(i, ratios.data());
      EXPECT_EQ(ratios[0], 0);
      for (std::size_t k = 1; k < kOutputs; ++k) {
        EXPECT_NEAR(ratios[k] / (likelihoods[More(labels, i, k)] / own), 1, 1e-5) << "added " << i << " " << k;
      }
      if (i == labels.size()) break;
      trellis.Replaced(i, ratios.data());
      EXPECT_NEAR(ratios[0] / (likelihoods[Without(labels, i)] / own), 1, 1e-5) << "left out " << i;
      for (std::size_t k = 1; k < kOutputs; ++k) {
        EXPECT_NEAR(ratios[k] / (likelihoods[With(labels, i, k)] / own), 1, 1e-5) << "replaced " << i << " " << k;
      }
      EXPECT_NEAR(ratios[labels[i]], 1, 1e-9);
    }
  }
}

// Of a long row, with each phone likely where it is spoken, what is out of reach does not count.
TEST(Trellis, LosesNothingBeyondItsReach) {
  constexpr std::size_t kPhones = 60, kFrames = 3 * kPhones, kOutputs = 40;
  std::vector<float> scores = Drawn(kFrames * kOutputs, 1, 4);
  Labels labels(kPhones);
  std::vector<std::size_t> spoken(kFrames);
  for (std::size_t i = 0; i < kPhones; ++i) labels[i] = 1 + i * 7 % 39;
  for (std::size_t t = 0; t < kFrames; ++t) {
    spoken[t] = t / 3;
    scores[t * kOutputs + (t % 3 == 1 ? labels[t / 3] : 0)] += 4;
  }
  const std::vector<double> posteriors = Posteriors(scores, kOutputs);
  const Trellis trellis(scores.data(), kFrames, kOutputs, labels, spoken);
  ASSERT_TRUE(trellis.possible());
  const double own = LogLikelihood(posteriors, kOutputs, labels);
  std::vector<double> ratios(kOutputs);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{30}, kPhones - 1}) {
    trellis.Replaced(i, ratios.data());
    EXPECT_NEAR(std::log(ratios[0]), LogLikelihood(posteriors, kOutputs, Without(labels, i)) - own, 1e-4);
    EXPECT_NEAR(std::log(ratios[5]), LogLikelihood(posteriors, kOutputs, With(labels, i, 5)) - own, 1e-4);
    trellis.Added(i + 1, ratios.data());
    EXPECT_NEAR(std::log(ratios[5]), LogLikelihood(posteriors, kOutputs, More(labels, i + 1, 5)) - own, 1e-4);
  }
  double frames = 0;
  for (std::size_t t = 0; t < kFrames; ++t) frames += trellis.Occupancy(30, t);
  EXPECT_GT(frames, 1);
  EXPECT_LT(frames, 3);
}

// A phone twice needs a blank between, so five frames do not hold it three times and another one.
TEST(Trellis, SaysWhatCannotBeSaid) {
  constexpr std::size_t kOutputs = 3;
  const std::vector<float> scores = Drawn(6 * kOutputs, 3, 2);
  const Labels labels{1, 1, 1, 2};
  const Trellis tight(scores.data(), 6, kOutputs, labels, std::vector<std::size_t>(6, 0));
  EXPECT_TRUE(tight.possible());
  const Trellis impossible(scores.data(), 5, kOutputs, labels, std::vector<std::size_t>(5, 0));
  EXPECT_FALSE(impossible.possible());
  std::vector<double> ratios(kOutputs, 7);
  impossible.Replaced(1, ratios.data());
  EXPECT_EQ(ratios, (std::vector<double>{0, 0, 0}));
}

// Sound in which the phones are next to impossible, for long, leaves finite numbers.
TEST(Trellis, StaysFinite) {
  constexpr std::size_t kPhones = 200, kFrames = 600, kOutputs = 40;
  std::vector<float> scores(kFrames * kOutputs, -200.0f);
  for (std::size_t t = 0; t < kFrames; ++t) scores[t * kOutputs + 39] = 200;
  Labels labels(kPhones, 1);
  std::vector<std::size_t> spoken(kFrames);
  for (std::size_t t = 0; t < kFrames; ++t) spoken[t] = t / 3;
  const Trellis trellis(scores.data(), kFrames, kOutputs, labels, spoken);
  ASSERT_TRUE(trellis.possible());
  std::vector<double> ratios(kOutputs);
  for (std::size_t i = 0; i < kPhones; ++i) {
    trellis.Replaced(i, ratios.data());
    for (const double ratio : ratios) ASSERT_TRUE(std::isfinite(ratio) && ratio >= 0) << i;
    ASSERT_GT(ratios[39], 1e3) << i;
  }
}

}  // namespace
}  // namespace tetraphone
