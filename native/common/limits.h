// What a phone set and a network may be, so that a file of them loads, what may be asked of a decoder, and what sound
// is read: known here alone. The loader asks; so do training, quantisation, export and the readers of recordings
// through the C ABI, before anything long starts. What features may be is in frontend/features.h.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "result.h"

namespace tetraphone {

constexpr std::size_t kMostPhones = 10000;
constexpr std::size_t kLongestPhone = 32;  // bytes
constexpr std::size_t kMostLayers = 64;    // recurrent ones
constexpr std::size_t kMostWidth = 32768;  // reals of a frame between two layers
constexpr int kMostBeam = 256;
constexpr int kMostContext = 4;
constexpr double kMostWeight = 1000;  // of the grammar's costs, and of a phone's bonus
constexpr int kMostChannels = 1024;   // as libsndfile
constexpr int kLeastRate = 1000;      // Hz
constexpr int kMostRate = 768000;     // Hz

// Symbols that differ, of 1 to kLongestPhone bytes of UTF-8 without blanks, control or invisible characters; at most
// kMostPhones.
Failure CheckPhones(const std::vector<std::string>& phones);

struct NetworkSizes {
  std::string kind;       // of train/network/kinds.py: "qlstm", ...
  std::string direction;  // "uni", ...
  std::int64_t inputs = 0;   // reals
  std::int64_t hidden = 0;   // reals
  std::int64_t layers = 0;   // recurrent ones
  std::int64_t outputs = 0;  // scores
};

// Recurrent quaternion layers that stream, of sizes that the kernels take, and a real output layer.
Failure CheckNetwork(const NetworkSizes& network);

// Rates that are resampled, and 1 to kMostChannels.
Failure CheckSound(std::int64_t rate, std::int64_t channels);

// Refuses files of formats that no reader of ours decodes, by their first bytes (kMagicBytes are enough).
constexpr std::size_t kMagicBytes = 36;
Failure CheckDecoded(const std::uint8_t* begin, std::size_t size);

}  // namespace tetraphone
