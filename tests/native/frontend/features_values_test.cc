// The front end's values against training's (kaldi-native-fbank and sound/features.py) and against definitions.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "../common/sounds.h"
#include "front_end.h"

namespace tetraphone {
namespace {

constexpr double kTolerance = 1e-4;  // of a log unit

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

}  // namespace
}  // namespace tetraphone
