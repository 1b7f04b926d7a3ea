// The streaming front end against training's (values of kaldi-native-fbank and sound/features.py), against definitions,
// and against itself: chunks, streams and processors change no bit.

#include "frontend/features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "sounds.h"

static std::size_t allocations = 0;

// Not inlined, or GCC takes new and free for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace tetraphone {
namespace {

constexpr double kTolerance = 1e-4;  // of a log unit

FeatureOptions Options(int stack = 3, int stride = 3) {
  FeatureOptions options;
  options.sample_rate = 16000;
  options.bands = 40;
  options.window_ms = 25;
  options.hop_ms = 10;
  options.stack = stack;
  options.stride = stride;
  return options;
}

// With samples between the windows that no frame sees.
FeatureOptions Sparse() {
  FeatureOptions options = Options(4, 2);
  options.hop_ms = 40;
  return options;
}

// At 8 kHz the FFT is of an odd power of two.
FeatureOptions Telephone(int stack = 3, int stride = 3) {
  FeatureOptions options = Options(stack, stride);
  options.sample_rate = 8000;
  options.bands = 23;
  return options;
}

FrontEnd Make(const FeatureOptions& options, std::vector<float> mean, std::vector<float> deviation) {
  auto tables = FrontEnd::MakeTables(options, std::move(mean), std::move(deviation));
  if (!tables) ADD_FAILURE() << tables.error().message, std::abort();
  return FrontEnd(*tables);
}

// Without normalisation.
FrontEnd Plain(const FeatureOptions& options) {
  const std::size_t count = 4 * static_cast<std::size_t>(options.bands);
  return Make(options, std::vector<float>(count, 0.0f), std::vector<float>(count, 1.0f));
}

struct Output {
  std::vector<float> inputs, bands;
};

// All that a stream gives, its samples cut by `next`.
Output Streamed(FrontEnd& front_end, const std::vector<float>& samples, const std::function<std::size_t()>& next) {
  Output output;
  front_end.KeepBands(true);
  const auto take = [&] {
    std::vector<float> inputs;
    front_end.TakeInputs(&inputs);
    const std::vector<float> bands = front_end.TakeBands();
    output.inputs.insert(output.inputs.end(), inputs.begin(), inputs.end());
    output.bands.insert(output.bands.end(), bands.begin(), bands.end());
  };
  for (std::size_t first = 0; first < samples.size();) {
    const std::size_t count = std::min(next(), samples.size() - first);
    front_end.Accept(samples.data() + first, count);
    first += count;
    take();
  }
  front_end.Finish();
  take();
  return output;
}

Output Streamed(FrontEnd& front_end, const std::vector<float>& samples) {
  return Streamed(front_end, samples, [&] { return samples.size(); });
}

Output Streamed(const FeatureOptions& options, const std::vector<float>& samples) {
  FrontEnd front_end = Plain(options);
  return Streamed(front_end, samples);
}

// Training's values. `.venv/bin/python` prints them:
//
//   import numpy as np
//   from tetraphone.sound.features import FeatureOptions, Normalisation, log_mel, network_input
//   seed, voice = 1, []
//   for n in range(8000):
//       seed = (seed * 1664525 + 1013904223) % 2**32
//       voice.append((n * (17 + n // 1600 % 5 * 3) % 2003 - 1001) * (1 + n // 400 % 9) + (seed >> 23) - 256)
//   mel, i = log_mel(np.array(voice, np.float32) / 32768, FeatureOptions()), np.arange(160, dtype=np.float32)
//   for frame in (0, 17, 47):
//       print(", ".join(f"{x:.6f}f" for x in mel[frame]))
//   x = network_input(mel, FeatureOptions(), Normalisation(i / 16 - 5, 1 + i % 7 / 8))
//   for row in (0, 7, 15):
//       print(", ".join(f"{x:.6f}f" for x in x[row, ::16]))
//   mel = log_mel(np.array(voice, np.float32) / 32768, FeatureOptions(sample_rate=8000, bands=23))
//   print(", ".join(f"{x:.6f}f" for x in mel[60]))

constexpr std::size_t kVoice = 8000;  // samples: 48 frames, 16 inputs

struct GoldenBands {
  std::size_t frame;
  float values[40];
} const kBands[] = {
    {0,
     {-6.850514f, -4.298133f, -4.370060f, -5.370212f, -4.185311f, -5.449766f, -4.205811f, -5.088288f, -4.110698f,
      -4.586200f, -4.091889f, -3.750470f, -3.851222f, -3.875420f, -3.878702f, -3.213276f, -4.045355f, -4.031044f,
      -3.778883f, -3.281343f, -3.116894f, -3.897793f, -4.228543f, -3.522889f, -2.699169f, -2.901681f, -3.032438f,
      -2.686286f, -2.559798f, -1.952362f, -2.206022f, -2.482726f, -1.841752f, -2.164398f, -1.772476f, -1.578394f,
      -2.242212f, -1.694435f, -1.273666f, -0.990679f}},
    {17,
     {-5.643580f, -0.681779f, 0.425010f, -1.168893f, -0.426833f, 0.253894f, -1.524645f, 0.379661f, -0.902796f,
      0.343395f, -0.493138f, 0.362503f, -0.254384f, 0.296630f, 0.376954f, 0.172612f, 0.391627f, 0.544954f, 0.583711f,
      0.503985f, 0.566443f, 0.649767f, 0.721342f, 0.896422f, 0.838768f, 0.928200f, 0.946410f, 1.089917f, 0.975919f,
      1.064322f, 1.163864f, 1.288563f, 1.287080f, 1.511705f, 1.505954f, 1.484031f, 1.577969f, 1.611938f, 1.821437f,
      1.902613f}},
    {47,
     {-9.823815f, -8.676221f, -4.294590f, -1.718899f, -2.625731f, -6.365310f, -3.229725f, -1.683752f, -3.972664f,
      -3.278130f, -1.741550f, -3.843280f, -1.894031f, -2.220844f, -2.402361f, -1.947422f, -2.074635f, -1.928028f,
      -1.779843f, -2.040490f, -1.339819f, -1.933581f, -1.988861f, -1.809550f, -1.647874f, -1.567296f, -1.115886f,
      -1.645459f, -1.142025f, -1.008369f, -0.889090f, -0.396260f, -1.008870f, -0.831480f, -0.217188f, -0.771675f,
      -0.355804f, -0.530752f, -0.157712f, -0.126508f}},
};

constexpr float kTelephoneBands[] = {  // of frame 60
    -2.086033f, -2.098951f, -1.863005f, -1.885351f, -1.831048f, -1.672870f, -1.673660f, -1.622504f, -1.467749f,
    -1.480937f, -1.387807f, -1.250625f, -1.391686f, -1.340797f, -0.946947f, -0.828768f, -0.826933f, -0.854875f,
    -0.877196f, -0.772577f, -0.702338f, -0.461623f, -0.185684f};

struct GoldenInputs {
  std::size_t input;
  float values[30];  // every 16th
} const kInputs[] = {
    {0,
     {-1.850514f, -0.036284f, 0.772166f, 0.416114f, 0.630437f, -0.418587f, 1.114994f, 1.148574f, 1.293870f, 1.078477f,
      1.798830f, 1.911452f, 0.549626f, 1.465228f, 1.191124f, 0.091941f, -0.534791f, -1.920410f, -0.249433f,
      -0.808522f, -0.013614f, -0.619846f, -1.969147f, -2.407153f, -2.669007f, -2.264836f, -2.576533f, -2.778610f,
      -2.457910f, -2.690918f}},
    {7,
     {0.093153f, 3.736366f, 3.005876f, 1.379532f, 1.292451f, -3.989244f, 0.780294f, 0.876149f, 0.469147f, -0.091948f,
      1.141855f, 0.544225f, -0.272154f, 0.885797f, 0.377103f, -0.112728f, -0.715618f, -2.128711f, -0.170132f,
      -0.741719f, 0.201861f, -0.375416f, -1.634475f, -2.200984f, -2.529262f, -2.089350f, -2.409602f, -2.668109f,
      -2.337512f, -2.606896f}},
    {15,
     {-6.557725f, 0.238068f, 1.034536f, -0.146798f, 0.589704f, -4.823815f, 1.540292f, 1.327420f, 0.573913f, 0.005930f,
      1.294881f, 1.222148f, 0.047442f, 1.373791f, 1.186945f, 0.167895f, -0.389393f, -1.755753f, -0.065731f,
      -0.613178f, 0.077746f, -0.477333f, -1.749762f, -2.264102f, -2.552751f, -2.206187f, -2.548850f, -2.747574f,
      -2.491616f, -2.747976f}},
};

TEST(Features, LogMelEnergiesAreKaldis) {
  const Output output = Streamed(Options(), Voice(kVoice));
  ASSERT_EQ(output.bands.size(), 48u * 40);
  for (const GoldenBands& golden : kBands) {
    for (std::size_t b = 0; b < 40; ++b) {
      EXPECT_NEAR(output.bands[golden.frame * 40 + b], golden.values[b], kTolerance) << golden.frame << " " << b;
    }
  }
  const Output telephone = Streamed(Telephone(), Voice(kVoice));
  ASSERT_EQ(telephone.bands.size(), 98u * 23);
  for (std::size_t b = 0; b < 23; ++b) {
    EXPECT_NEAR(telephone.bands[60 * 23 + b], kTelephoneBands[b], kTolerance) << b;
  }
}

TEST(Features, InputsAreTrainings) {
  std::vector<float> mean, deviation;
  for (int i = 0; i < 160; ++i) {
    mean.push_back(static_cast<float>(i) / 16 - 5);
    deviation.push_back(1 + static_cast<float>(i % 7) / 8);
  }
  FrontEnd front_end = Make(Options(), mean, deviation);
  const Output output = Streamed(front_end, Voice(kVoice));
  ASSERT_EQ(output.inputs.size(), 16u * 480);
  for (const GoldenInputs& golden : kInputs) {
    for (std::size_t i = 0; i < 30; ++i) {
      EXPECT_NEAR(output.inputs[golden.input * 480 + 16 * i], golden.values[i], kTolerance) << golden.input << " " << i;
    }
  }
}

TEST(Features, AFrameIsAWholeWindow) {
  const std::pair<std::size_t, std::size_t> expected[] = {{0, 0},   {1, 0},   {399, 0},    {400, 1},
                                                          {559, 1}, {560, 2}, {16000, 98}};
  for (const auto& [samples, frames] : expected) {
    const Output output = Streamed(Options(), Noise(samples, 1));
    EXPECT_EQ(output.bands.size(), frames * 40) << samples;
    EXPECT_EQ(output.inputs.size(), (frames + 2) / 3 * 480) << samples;
  }
}

// Kaldi's add-deltas by their definition, in double: each order is a regression over five frames of the order before.
std::vector<std::vector<double>> Derivatives(std::vector<double> values) {
  std::vector<std::vector<double>> orders;
  const auto count = static_cast<std::ptrdiff_t>(values.size());
  std::vector<double> padded;  // six frames repeated on either side: each order loses two
  for (std::ptrdiff_t t = -6; t < count + 6; ++t) {
    padded.push_back(values[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(t, 0, count - 1))]);
  }
  for (std::size_t order = 0; order < 4; ++order) {
    const std::size_t margin = 6 - 2 * order;
    orders.emplace_back(padded.begin() + static_cast<std::ptrdiff_t>(margin),
                        padded.end() - static_cast<std::ptrdiff_t>(margin));
    std::vector<double> next;
    for (std::size_t t = 2; t + 2 < padded.size(); ++t) {
      next.push_back((2 * (padded[t + 2] - padded[t - 2]) + padded[t + 1] - padded[t - 1]) / 10);
    }
    padded = next;
  }
  return orders;
}

TEST(Features, InputsAreStackedFramesWithTheirDerivatives) {
  for (const auto& [stack, stride] : {std::pair(1, 1), {3, 3}, {3, 2}, {4, 1}, {5, 4}}) {
    for (const std::size_t frames : {1, 2, 3, 4, 7, 12, 13, 14, 40}) {
      const Output output = Streamed(Options(stack, stride), Voice(400 + 160 * (frames - 1)));
      const auto s = static_cast<std::size_t>(stack), step = static_cast<std::size_t>(stride);
      const std::size_t inputs = (frames + step - 1) / step;
      ASSERT_EQ(output.bands.size(), frames * 40);
      ASSERT_EQ(output.inputs.size(), inputs * s * 160);
      for (std::size_t b = 0; b < 40; ++b) {
        std::vector<double> band;
        for (std::size_t t = 0; t < frames; ++t) band.push_back(output.bands[t * 40 + b]);
        const auto orders = Derivatives(band);
        for (std::size_t k = 0; k < inputs; ++k) {
          for (std::size_t order = 0; order < 4; ++order) {
            for (std::size_t i = 0; i < s; ++i) {
              const double expected = orders[order][std::min(k * step + i, frames - 1)];
              EXPECT_NEAR(output.inputs[((k * 4 + order) * s + i) * 40 + b], expected, 1e-5);
            }
          }
        }
      }
    }
  }
}

TEST(Features, ARampOverTimeHasAConstantDerivative) {
  std::vector<float> samples = Noise(400 + 29 * 160, 7);
  for (std::size_t n = 160; n < samples.size(); ++n) samples[n] = 2 * samples[n - 160];
  const Output output = Streamed(Options(1, 1), samples);
  ASSERT_EQ(output.inputs.size(), 30u * 160);
  for (std::size_t t = 6; t < 24; ++t) {
    for (std::size_t b = 0; b < 40; ++b) {
      EXPECT_NEAR(output.inputs[t * 160 + 40 + b], std::log(4.0), 1e-5);  // energy doubles twice a frame
      EXPECT_NEAR(output.inputs[t * 160 + 80 + b], 0, 1e-5);
      EXPECT_NEAR(output.inputs[t * 160 + 120 + b], 0, 1e-5);
    }
  }
}

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

TEST(Features, AWarmStreamAllocatesNothing) {
  FrontEnd front_end = Plain(Options());
  const std::vector<float> samples = Voice(16000);
  std::vector<float> inputs;
  std::size_t seen = 0;
  const auto second = [&] {
    for (std::size_t first = 0; first < samples.size(); first += 1600) {
      front_end.Accept(samples.data() + first, 1600);
      front_end.TakeInputs(&inputs);
      seen += inputs.size();
    }
  };
  second();
  const std::size_t before = allocations;
  for (int i = 0; i < 20; ++i) second();
  EXPECT_EQ(allocations, before);
  EXPECT_GT(seen, 20u * 30 * 480);
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

TEST(Features, EveryProcessorGivesTheseBits) {
  FeatureOptions wide = Options(4, 2);
  wide.sample_rate = 44100;
  wide.bands = 80;
  wide.window_ms = 20;
  wide.hop_ms = 7.3;
  std::vector<float> all;
  for (const FeatureOptions& options : {Options(), wide, Telephone(2, 1)}) {
    std::vector<float> samples = Voice(32000);
    const std::vector<float> noise = Noise(32000, 2);
    samples.insert(samples.end(), noise.begin(), noise.end());
    const std::size_t count = 4 * static_cast<std::size_t>(options.bands);
    FrontEnd front_end = Make(options, std::vector<float>(count, -3.7f), std::vector<float>(count, 1.9f));
    const Output output = Streamed(front_end, samples);
    all.insert(all.end(), output.inputs.begin(), output.inputs.end());
    all.insert(all.end(), output.bands.begin(), output.bands.end());
  }
  std::printf("%zu values, hash %016llx\n", all.size(), static_cast<unsigned long long>(Hash(all)));
  EXPECT_EQ(Hash(all), 0xe496475987c6ac01u);
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
