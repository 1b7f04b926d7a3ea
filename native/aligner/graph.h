// The ways to say a text: a chain of words, each with its pronunciations beside one another, and silence that may stand
// before, between and behind them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "../common/heap_bytes.h"
#include "../lexicon/vocabulary.h"

namespace tetraphone {

struct GraphOptions {
  int least_phone = 4;      // sub-frames that a phone lasts at least
  int least_silence = 3;    // and a silence, where there is one
  double silence_cost = 0;  // taken off the score of a way for each silence,
  double variant_cost = 0;  // and for each word that is said in another than its first pronunciation
};

class AlignmentGraph {
 public:
  static constexpr int kSilence = -1;

  // A phone of a pronunciation, or a silence. It is a row of states, of which the last may be stayed in.
  struct Unit {
    std::int32_t phone;          // or kSilence
    std::int32_t word;           // that it belongs to; of a silence the one behind it, beyond the last at the end
    std::int32_t pronunciation;  // of the word
    std::int32_t place;          // in the pronunciation
    std::uint32_t first;         // of its states
    std::uint32_t states;
    double cost;                 // of coming into it
  };
  struct Units {
    const std::uint32_t* first;
    const std::uint32_t* last;
    const std::uint32_t* begin() const { return first; }
    const std::uint32_t* end() const { return last; }
  };

  AlignmentGraph(std::vector<SpokenWord> words, const GraphOptions& options);

  const std::vector<SpokenWord>& words() const { return words_; }
  // In an order in which each comes behind those that lead to it.
  const std::vector<Unit>& units() const { return units_; }
  std::size_t states() const { return states_; }
  // Those that lead to a unit; kStart stands for the beginning.
  Units Before(std::size_t unit) const {
    return {before_.data() + offsets_[unit], before_.data() + offsets_[unit + 1]};
  }
  static constexpr std::uint32_t kStart = std::numeric_limits<std::uint32_t>::max();
  // The last of the units that units 0 to `unit`, or the beginning (kStart), lead to.
  std::size_t Reach(std::size_t unit) const { return unit == kStart ? first_reach_ : reach_[unit]; }
  // Those in which a way may end.
  const std::vector<std::uint32_t>& finals() const { return finals_; }
  // Sub-frames of the shortest way.
  std::int64_t least_frames() const { return least_frames_; }
  std::size_t heap_bytes() const;

 private:
  std::vector<SpokenWord> words_;
  std::vector<Unit> units_;
  std::vector<std::uint32_t> offsets_;
  std::vector<std::uint32_t> before_;
  std::vector<std::uint32_t> reach_;
  std::vector<std::uint32_t> finals_;
  std::uint32_t first_reach_ = 0;
  std::size_t states_ = 0;
  std::int64_t least_frames_ = 0;
};

}  // namespace tetraphone
