// Front ends of usual and unusual options, and all that a stream through one gives.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "frontend/features.h"

namespace tetraphone {

constexpr std::size_t kVoice = 8000;  // samples: 48 frames, 16 inputs

inline FeatureOptions Options(int stack = 3, int stride = 3) {
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
inline FeatureOptions Sparse() {
  FeatureOptions options = Options(4, 2);
  options.hop_ms = 40;
  return options;
}

// At 8 kHz the FFT is of an odd power of two.
inline FeatureOptions Telephone(int stack = 3, int stride = 3) {
  FeatureOptions options = Options(stack, stride);
  options.sample_rate = 8000;
  options.bands = 23;
  return options;
}

inline FrontEnd Make(const FeatureOptions& options, std::vector<float> mean, std::vector<float> deviation) {
  auto tables = FrontEnd::MakeTables(options, std::move(mean), std::move(deviation));
  if (!tables) ADD_FAILURE() << tables.error().message, std::abort();
  return FrontEnd(*tables);
}

// Without normalisation.
inline FrontEnd Plain(const FeatureOptions& options) {
  const std::size_t count = 4 * static_cast<std::size_t>(options.bands);
  return Make(options, std::vector<float>(count, 0.0f), std::vector<float>(count, 1.0f));
}

struct Output {
  std::vector<float> inputs, bands;
};

// All that a stream gives, its samples cut by `next`.
inline Output Streamed(FrontEnd& front_end, const std::vector<float>& samples,
                       const std::function<std::size_t()>& next) {
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

inline Output Streamed(FrontEnd& front_end, const std::vector<float>& samples) {
  return Streamed(front_end, samples, [&] { return samples.size(); });
}

inline Output Streamed(const FeatureOptions& options, const std::vector<float>& samples) {
  FrontEnd front_end = Plain(options);
  return Streamed(front_end, samples);
}

}  // namespace tetraphone
