// Runs every program of a file on noise, hidden rows too, whatever the programs are.

#pragma once

#include <cstdint>
#include <vector>

#include "model/model.h"

namespace tetraphone {

// All scores and hidden rows, one program after another; empty if the file or the scores of one are refused.
inline std::vector<float> AllRows(const std::uint8_t* data, std::size_t size) {
  const auto model = Model::Load(data, size, "it");
  if (!model) return {};
  std::vector<float> all;
  for (const auto& [name, program] : (*model)->file().programs) {
    auto network = Network::Make(*model, name);
    if (!network) return {};
    const std::size_t frames = program.most_frames < 3 ? program.most_frames : 3;
    std::vector<float> x(frames * program.inputs), scores(frames * program.outputs), hidden(frames * program.hidden());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7919 % 2001) / 1000.0 - 1.0);
    if ((*network)->Run(x.data(), frames, scores.data(), hidden.empty() ? nullptr : hidden.data())) return {};
    all.insert(all.end(), scores.begin(), scores.end());
    all.insert(all.end(), hidden.begin(), hidden.end());
  }
  return all;
}

}  // namespace tetraphone
