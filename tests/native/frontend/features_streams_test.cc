// Streams through the front end: chunks, resets and processors change no bit. And any sound, any options.

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "../common/sounds.h"
#include "front_end.h"

namespace tetraphone {
namespace {

TEST(Features, ChunksChangeNoBit) {
  for (const FeatureOptions& options : {Options(), Sparse()}) {
    for (const std::vector<float>& samples : {Noise(20011, 3), Voice(20011)}) {
      const Output whole = Streamed(options, samples);
      ASSERT_FALSE(whole.inputs.empty());
      FrontEnd front_end = Plain(options);
      for (const std::size_t chunk : {1, 3, 160, 399, 400, 4000}) {
        front_end.Reset();
        const Output pieces = Streamed(front_end, samples, [&] { return chunk; });
        EXPECT_EQ(pieces.inputs, whole.inputs) << chunk;
        EXPECT_EQ(pieces.bands, whole.bands) << chunk;
      }
      for (std::uint32_t seed = 1; seed <= 20; ++seed) {
        std::uint32_t state = seed;
        front_end.Reset();
        const Output pieces = Streamed(front_end, samples, [&] {
          state = state * 1664525u + 1013904223u;
          return 1 + (state >> 16) % 4000;
        });
        EXPECT_EQ(pieces.inputs, whole.inputs) << seed;
      }
    }
  }
}

TEST(Features, AResetStreamIsAFreshOne) {
  for (const FeatureOptions& options : {Options(), Sparse()}) {
    const Output fresh = Streamed(options, Voice(kVoice));
    FrontEnd front_end = Plain(options);
    const std::vector<float> noise = Noise(5003, 9);
    front_end.KeepBands(true);
    front_end.Accept(noise.data(), noise.size());
    front_end.Reset();
    std::vector<float> inputs;
    front_end.TakeInputs(&inputs);
    EXPECT_TRUE(inputs.empty());
    EXPECT_TRUE(front_end.TakeBands().empty());
    EXPECT_EQ(Streamed(front_end, Voice(kVoice)).inputs, fresh.inputs);
    front_end.Reset();  // after Finish
    EXPECT_EQ(Streamed(front_end, Voice(kVoice)).inputs, fresh.inputs);
  }
}

TEST(Features, BandsAreKeptOnRequestOnly) {
  FrontEnd front_end = Plain(Options());
  const std::vector<float> noise = Noise(1600, 9);
  front_end.Accept(noise.data(), noise.size());
  EXPECT_TRUE(front_end.TakeBands().empty());
}

TEST(Features, AnySamplesGiveFiniteInputs) {
  const float floor = std::log(FLT_EPSILON);
  std::vector<std::pair<std::string, std::vector<float>>> sounds = {
      {"silence", std::vector<float>(8000, 0.0f)},
      {"negative zeros", std::vector<float>(8000, -0.0f)},
      {"constant", std::vector<float>(8000, 0.5f)},
      {"constant that is no sum of halves", std::vector<float>(8000, 0.1f)},
      {"denormal constant", std::vector<float>(8000, FLT_TRUE_MIN)}};
  for (const auto& [name, samples] : sounds) {
    const Output output = Streamed(Options(), samples);
    ASSERT_EQ(output.bands.size(), 48u * 40) << name;
    for (const float band : output.bands) ASSERT_EQ(band, floor) << name;
    for (std::size_t i = 0; i < output.inputs.size(); ++i) {
      ASSERT_NEAR(output.inputs[i], i % 480 < 120 ? floor : 0.0f, 1e-5) << name;
    }
  }
  const auto made = [](const std::function<float(std::size_t)>& sample) {
    std::vector<float> samples(8000);
    for (std::size_t n = 0; n < samples.size(); ++n) samples[n] = sample(n);
    return samples;
  };
  const std::vector<float> voice = Voice(8000), noise = Noise(8000, 4);
  sounds = {{"full-scale square", made([](std::size_t n) { return n / 40 % 2 == 0 ? 1.0f : -1.0f; })},
            {"offset", made([&](std::size_t n) { return 0.9f + 0.1f * noise[n]; })},
            {"denormals", made([&](std::size_t n) { return noise[n] * 1e-38f; })},
            {"clipped", made([&](std::size_t n) { return std::clamp(20 * voice[n], -1.0f, 1.0f); })},
            {"one click", made([](std::size_t n) { return n == 4000 ? 1.0f : 0.0f; })},
            {"far too loud", made([&](std::size_t n) { return noise[n] * 1e30f; })},
            {"the greatest floats", made([](std::size_t n) { return n % 3 == 0 ? FLT_MAX : -FLT_MAX; })}};
  for (const auto& [name, samples] : sounds) {
    const Output output = Streamed(Options(), samples);
    ASSERT_EQ(output.inputs.size(), 16u * 480) << name;
    for (const float value : output.inputs) ASSERT_TRUE(std::isfinite(value)) << name;
    for (const float band : output.bands) ASSERT_LE(band, std::log(FLT_MAX)) << name;
  }
}

std::uint64_t HashOf(const std::vector<FeatureOptions>& all_options) {
  std::vector<float> all, samples = Voice(32000);
  const std::vector<float> noise = Noise(32000, 2);
  samples.insert(samples.end(), noise.begin(), noise.end());
  for (const FeatureOptions& options : all_options) {
    const std::size_t count = 4 * static_cast<std::size_t>(options.bands);
    FrontEnd front_end = Make(options, std::vector<float>(count, -3.7f), std::vector<float>(count, 1.9f));
    const Output output = Streamed(front_end, samples);
    all.insert(all.end(), output.inputs.begin(), output.inputs.end());
    all.insert(all.end(), output.bands.begin(), output.bands.end());
  }
  std::printf("%zu values, hash %016llx\n", all.size(), static_cast<unsigned long long>(Hash(all)));
  return Hash(all);
}

TEST(Features, EveryProcessorGivesTheseBits) {
  FeatureOptions wide = Options(4, 2);
  wide.sample_rate = 44100;
  wide.bands = 80;
  wide.window_ms = 20;
  wide.hop_ms = 7.3;
  EXPECT_EQ(HashOf({Options(), wide, Telephone(2, 1)}), 0xe496475987c6ac01u);
  std::vector<FeatureOptions> narrow;  // FFTs of 8, 16, 32 and 64 samples: shorter than vectors, or just as long
  for (const double window_ms : {5, 8, 9, 16, 17, 33}) {
    narrow.push_back(Options());
    narrow.back().sample_rate = 1000;
    narrow.back().bands = 3;
    narrow.back().window_ms = window_ms;
  }
  EXPECT_EQ(HashOf(narrow), 0xc5c776c2985262cau);
}

TEST(Features, ImpossibleOptionsAreRefusedByNameAndValue) {
  using Change = std::function<void(FeatureOptions&)>;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::pair<Change, const char*> changes[] = {
      {[](FeatureOptions& o) { o.sample_rate = 0; }, "sample_rate is 0; give 1000 to 192000"},
      {[](FeatureOptions& o) { o.sample_rate = -16000; }, "sample_rate is -16000;"},
      {[](FeatureOptions& o) { o.sample_rate = 2147483647; }, "sample_rate is 2147483647;"},
      {[](FeatureOptions& o) { o.bands = 2; }, "bands is 2; give 3 to 256"},
      {[](FeatureOptions& o) { o.bands = 257; }, "bands is 257;"},
      {[](FeatureOptions& o) { o.bands = -2147483647; }, "bands is -2147483647;"},
      {[](FeatureOptions& o) { o.window_ms = 0; }, "window_ms is 0; give 1 to 250"},
      {[](FeatureOptions& o) { o.window_ms = 1e300; }, "window_ms is 1e+300;"},
      {[&](FeatureOptions& o) { o.window_ms = nan; }, "window_ms is nan;"},
      {[](FeatureOptions& o) { o.window_ms = 1, o.sample_rate = 4000; }, "window_ms is 1; at 4000 Hz give five"},
      {[](FeatureOptions& o) { o.hop_ms = -10; }, "hop_ms is -10; give 0.01 to 1000"},
      {[](FeatureOptions& o) { o.hop_ms = 0.1; }, "hop_ms is 0.1; at 16000 Hz give two samples or more"},
      {[&](FeatureOptions& o) { o.hop_ms = nan; }, "hop_ms is nan;"},
      {[](FeatureOptions& o) { o.stack = 17; }, "stack is 17; give 1 to 16"},
      {[](FeatureOptions& o) { o.stack = 0; }, "stack is 0;"},
      {[](FeatureOptions& o) { o.stride = 4; }, "stride is 4; give 1 to 3"},
      {[](FeatureOptions& o) { o.stride = 0; }, "stride is 0;"},
      {[](FeatureOptions& o) { o.bands = 200; }, "bands is 200; a window of 25 ms resolves fewer"},
  };
  for (const auto& [change, message] : changes) {
    FeatureOptions options = Options();
    change(options);
    const std::size_t count = options.bands > 0 ? 4 * static_cast<std::size_t>(options.bands) : 0;
    const auto tables = FrontEnd::MakeTables(options, std::vector<float>(count), std::vector<float>(count, 1.0f));
    ASSERT_FALSE(tables) << message;
    EXPECT_EQ(tables.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(tables.error().message.substr(0, std::string(message).size()), message);
  }
}

TEST(Features, ImpossibleStatisticsAreRefusedByNameAndValue) {
  const auto message = [](std::vector<float> mean, std::vector<float> deviation) {
    const auto tables = FrontEnd::MakeTables(Options(), std::move(mean), std::move(deviation));
    return tables ? std::string("accepted") : tables.error().message;
  };
  const auto with = [](float value, float last) {
    std::vector<float> values(160, value);
    values.back() = last;
    return values;
  };
  const std::vector<float> zeros(160, 0.0f), ones(160, 1.0f);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(message(zeros, ones), "accepted");
  EXPECT_EQ(message({}, ones), "the count of mean is 0; give 4 for each of 40 bands");
  EXPECT_EQ(message(zeros, std::vector<float>(40, 1.0f)), "the count of deviation is 40; give 4 for each of 40 bands");
  EXPECT_EQ(message(with(0, infinity), ones), "mean is inf; give -1000000 to 1000000");
  EXPECT_EQ(message(with(0, std::nanf("")), ones), "mean is nan; give -1000000 to 1000000");
  EXPECT_EQ(message(zeros, with(1, 0)), "deviation is 0; give 1e-06 to 1000000");
  EXPECT_EQ(message(zeros, with(1, -1)), "deviation is -1; give 1e-06 to 1000000");
  EXPECT_EQ(message(zeros, with(1, std::nanf(""))), "deviation is nan; give 1e-06 to 1000000");
}

TEST(Features, TheGreatestOptionsWork) {
  FeatureOptions options = Options(16, 1);
  options.sample_rate = 192000;
  options.bands = 256;
  options.window_ms = 250;
  const Output output = Streamed(options, Noise(48000 + 1920, 5));
  EXPECT_EQ(output.bands.size(), 2u * 256);
  EXPECT_EQ(output.inputs.size(), 2u * options.inputs());
  for (const float value : output.inputs) ASSERT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace tetraphone
