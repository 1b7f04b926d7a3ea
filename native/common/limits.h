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
constexpr double kMostWeight = 1000;  // of the grammar's costs, of a phone's bonus and the blank's shift
constexpr double kLongestPause = 1e9;  // seconds
constexpr int kMostChannels = 1024;   // as libsndfile
constexpr int kLeastRate = 1000;      // Hz
constexpr int kMostRate = 768000;     // Hz
// Samples lie in [-1, 1]; filters and lossy formats overshoot it, but not by this much.
constexpr double kGreatestPeak = 8;
// Of the mean of N channels, of which one alone speaks, or which have nothing in common, 1/N of their mean energy is
// left; where it is less than this share of that, they cancel out. Of two microphones 0.42 or more is left (speech 0.4
// to 10 ms apart, in rooms, two speakers, one silent channel; as PCM, Vorbis, MP3, Opus, AAC), of opposite phase up to
// 0.24 after such a codec, and 0.2 of one channel at half amplitude.
constexpr double kCancelled = 0.3;
// Mean energy of the channels up to which nothing cancels out.
constexpr double kSilent = 1e-8;

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

// Sound that was heard, for what is wrong with its samples.
struct SoundLevels {
  std::uint64_t frames = 0;
  std::vector<double> energies;  // of each channel, summed over frames
  double mean_energy = 0;        // of the channels' mean, as well
  double peak = 0;               // greatest magnitude of a sample
};

// Refuses channels that cancel out in their mean, and floating-point samples on a scale of integers; the sentence
// follows the recording's name.
Failure CheckLevels(const SoundLevels& levels);

// Refuses files of formats that no reader of ours decodes, by their first bytes (kMagicBytes are enough).
constexpr std::size_t kMagicBytes = 36;
Failure CheckDecoded(const std::uint8_t* begin, std::size_t size);

}  // namespace tetraphone
