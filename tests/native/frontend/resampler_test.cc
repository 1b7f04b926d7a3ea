// Resampling: length, gain, aliases, delay; chunks and processors change no bit.

#include "frontend/resampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "../common/sounds.h"

namespace tetraphone {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kStopBand = 1e-4;  // 80 dB
constexpr double kNoise = 2e-5;     // 94 dB

const std::pair<int, int> kRates[] = {{8000, 16000},  {11025, 16000}, {22050, 16000}, {32000, 16000}, {44100, 16000},
                                      {48000, 16000}, {96000, 16000}, {44056, 16000}, {44057, 16000}, {384000, 16000},
                                      {16000, 8000},  {16000, 44100}, {1001, 16000}, {15999, 16000}};

// Copies share their filter, which takes an emulated processor long to make.
Resampler Make(int from, int to) {
  static std::map<std::pair<int, int>, Resampler> made;
  const auto found = made.find({from, to});
  if (found != made.end()) return found->second;
  auto resampler = Resampler::Make(from, to);
  EXPECT_TRUE(resampler) << resampler.error().message;
  return made.emplace(std::pair(from, to), std::move(*resampler)).first->second;
}

std::vector<float> Resampled(Resampler& resampler, const std::vector<float>& samples,
                             const std::function<std::size_t()>& next) {
  std::vector<float> all;
  const auto append = [&](const std::vector<float>& some) { all.insert(all.end(), some.begin(), some.end()); };
  for (std::size_t first = 0; first < samples.size();) {
    const std::size_t count = std::min(next(), samples.size() - first);
    append(resampler.Process(samples.data() + first, count));
    first += count;
  }
  append(resampler.Finish());
  return all;
}

std::vector<float> Resampled(int from, int to, const std::vector<float>& samples) {
  Resampler resampler = Make(from, to);
  return Resampled(resampler, samples, [&] { return samples.size(); });
}

std::vector<float> Sine(int rate, double hertz, std::size_t count) {
  std::vector<float> samples(count);
  for (std::size_t n = 0; n < count; ++n) {
    samples[n] = static_cast<float>(0.5 * std::sin(2 * kPi * hertz * static_cast<double>(n) / rate));
  }
  return samples;
}

// 2,000 samples at the lower rate; and the outputs at either end that hear the silence outside.
std::size_t Count(int from, int to) { return static_cast<std::size_t>(from * std::int64_t{2000} / std::min(from, to)); }
std::size_t Margin(int from, int to) { return static_cast<std::size_t>(to * std::int64_t{120} / std::min(from, to)); }

// What of `samples` is a sine and a cosine of that frequency, by least squares, and the rest's root mean square, all
// relative to Sine's amplitude.
struct Fit {
  double sine, cosine, rest;
};

Fit FitTo(const std::vector<float>& samples, double turns_a_sample, std::size_t margin) {
  double ss = 0, sc = 0, cc = 0, sy = 0, cy = 0;
  const auto angle = [&](std::size_t m) { return 2 * kPi * turns_a_sample * static_cast<double>(m); };
  for (std::size_t m = margin; m + margin < samples.size(); ++m) {
    const double s = std::sin(angle(m)), c = std::cos(angle(m)), y = samples[m] / 0.5;
    ss += s * s, sc += s * c, cc += c * c, sy += s * y, cy += c * y;
  }
  const double determinant = ss * cc - sc * sc;
  Fit fit{(sy * cc - cy * sc) / determinant, (cy * ss - sy * sc) / determinant, 0};
  for (std::size_t m = margin; m + margin < samples.size(); ++m) {
    const double rest = samples[m] / 0.5 - fit.sine * std::sin(angle(m)) - fit.cosine * std::cos(angle(m));
    fit.rest += rest * rest / static_cast<double>(samples.size() - 2 * margin);
  }
  fit.rest = std::sqrt(fit.rest);
  return fit;
}

TEST(Resampler, SinesOfThePassBandKeepTheirStrengthAndTime) {
  for (const auto& [from, to] : kRates) {
    const double half_rate = 0.5 * std::min(from, to);
    for (const double part : {0.011, 0.1, 0.33, 0.5, 0.71, 0.8, 0.87, 0.9}) {
      const double hertz = part * half_rate;
      const auto output = Resampled(from, to, Sine(from, hertz, Count(from, to)));
      const Fit fit = FitTo(output, hertz / to, Margin(from, to));
      EXPECT_LT(std::fabs(20 * std::log10(std::hypot(fit.sine, fit.cosine))), 0.1) << from << " " << to << " " << hertz;
      EXPECT_LT(std::fabs(fit.cosine), kNoise) << from << " " << to << " " << hertz;  // a shift would show here
      EXPECT_LT(fit.rest, kNoise) << from << " " << to << " " << hertz;  // images and noise
    }
  }
}

TEST(Resampler, SinesAboveTheLowerHalfRateVanish) {
  for (const auto& [from, to] : kRates) {
    if (from < to) continue;
    for (const double part : {1.001, 1.02, 1.1, 1.3, 1.7, 1.99}) {
      const double hertz = part * to / 2;
      if (hertz >= 0.999 * from / 2) continue;
      const auto output = Resampled(from, to, Sine(from, hertz, Count(from, to)));
      double energy = 0;
      const std::size_t margin = Margin(from, to);
      for (std::size_t m = margin; m + margin < output.size(); ++m) energy += output[m] * output[m];
      const double power = energy / static_cast<double>(output.size() - 2 * margin);
      EXPECT_LT(std::sqrt(power / 0.125), kStopBand) << from << " " << to << " " << hertz;
    }
  }
}

TEST(Resampler, AConstantStaysThatConstant) {
  for (const auto& [from, to] : kRates) {
    const auto output = Resampled(from, to, std::vector<float>(Count(from, to), 0.25f));
    for (std::size_t m = Margin(from, to); m + Margin(from, to) < output.size(); ++m) {
      ASSERT_NEAR(output[m], 0.25f, 1e-6) << from << " " << to;
    }
  }
}

TEST(Resampler, AClickStaysInItsPlace) {
  for (const auto& [from, to] : kRates) {
    for (const std::size_t place : {std::size_t{0}, Count(from, to) / 3, Count(from, to) - 1}) {
      std::vector<float> click(Count(from, to));
      click[place] = 1.0f;
      const auto output = Resampled(from, to, click);
      const auto peak = std::max_element(output.begin(), output.end()) - output.begin();
      // Between two outputs either may be the greatest; after the last one there is none.
      const double expected = std::min(static_cast<double>(place) * to / from, static_cast<double>(output.size() - 1));
      const double tolerance = 0.5 + 0.01 * to / from;
      EXPECT_LE(std::fabs(static_cast<double>(peak) - expected), tolerance) << from << " " << to << " " << place;
    }
  }
}

TEST(Resampler, TheLengthIsThatOfTheSameTime) {
  for (const auto& [from, to] : kRates) {
    for (const std::uint64_t count : {0, 1, 2, 3, 100, 12347}) {
      const auto f = static_cast<std::uint64_t>(from), t = static_cast<std::uint64_t>(to);
      const std::uint64_t expected = (2 * count * t + f) / (2 * f);
      EXPECT_EQ(Resampled(from, to, std::vector<float>(count)).size(), expected) << from << " " << to << " " << count;
    }
  }
  EXPECT_EQ(Resampled(44056, 16000, std::vector<float>(1000000)).size(), 363174u);  // 363,174.14…
}

TEST(Resampler, ChunksChangeNoBit) {
  for (const auto& [from, to] : kRates) {
    const std::vector<float> samples = Noise(std::min<std::size_t>(Count(from, to), 12000), 5);
    const std::vector<float> whole = Resampled(from, to, samples);
    Resampler resampler = Make(from, to);
    for (const std::size_t chunk : {1, 7, 441, 4000}) {
      EXPECT_EQ(Resampled(resampler, samples, [&] { return chunk; }), whole) << from << " " << to << " " << chunk;
      resampler.Reset();
    }
    std::uint32_t state = 1;
    const auto random = [&] {
      state = state * 1664525u + 1013904223u;
      return std::size_t{1} + (state >> 16) % 4000;
    };
    EXPECT_EQ(Resampled(resampler, samples, random), whole) << from << " " << to;
  }
}

TEST(Resampler, SamplesComeOutWhileOthersGoIn) {
  Resampler resampler = Make(48000, 16000);
  const std::vector<float> samples = Noise(4800, 5);
  EXPECT_GE(resampler.Process(samples.data(), samples.size()).size(), 1600u - 60);
}

TEST(Resampler, EqualRatesPassThroughUntouched) {
  const std::vector<float> samples = Noise(5000, 3);
  EXPECT_EQ(Resampled(16000, 16000, samples), samples);
  EXPECT_EQ(Resampled(44056, 44056, samples), samples);
}

TEST(Resampler, AResetResamplerIsAFreshOne) {
  const std::vector<float> samples = Noise(5000, 3), other = Noise(777, 4);
  Resampler resampler = Make(44100, 16000);
  resampler.Process(other.data(), other.size());
  resampler.Reset();
  EXPECT_EQ(Resampled(resampler, samples, [] { return 100; }), Resampled(44100, 16000, samples));
}

TEST(Resampler, ImpossibleRatesAreRefusedByValue) {
  for (const int rate : {-1, 0, 999, 768001, 2147483647}) {
    for (const auto& [from, to] : {std::pair(rate, 16000), std::pair(16000, rate), std::pair(rate, rate)}) {
      const auto resampler = Resampler::Make(from, to);
      ASSERT_FALSE(resampler);
      EXPECT_EQ(resampler.error().code, ErrorCode::kInvalidArgument);
      EXPECT_EQ(resampler.error().message, "the sample rate is " + std::to_string(rate) + " Hz; give 1000 to 768000");
    }
  }
}

TEST(Resampler, EveryProcessorGivesTheseBits) {
  std::vector<float> all;
  for (const auto& [from, to] : kRates) {
    const auto output = Resampled(from, to, Noise(std::min<std::size_t>(Count(from, to), 12000), 6));
    all.insert(all.end(), output.begin(), output.end());
  }
  std::printf("%zu values, hash %016llx\n", all.size(), static_cast<unsigned long long>(Hash(all)));
  EXPECT_EQ(Hash(all), 0x82c6e06a28bd83aau);
}

}  // namespace
}  // namespace tetraphone
