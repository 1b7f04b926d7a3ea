// The ways to say a text: a chain of words, each with its pronunciations beside one another, and silence that may stand
// before, between and behind them. At a cost there may be filler, too, sound that no word of the text is, and from
// there on words may be skipped, as if they were not said: so a sentence that is missing in a text, or too much of it,
// does not make the search lose its way.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "../common/heap_bytes.h"
#include "../lexicon/vocabulary.h"

namespace tetraphone {

struct GraphOptions {
  int least_phone = 4;    // sub-frames that a phone lasts at least, where there is room for so many
  int least_silence = 3;  // and a silence, where there is one
  bool fills = true;      // whether there may be filler
  // What is taken off the score of a way where filler begins, for each word that is skipped, and for each sub-frame of
  // both, unless that is likelier to be silent. By joined readings of LibriSpeech, in which sentences were missing or
  // too many, and so that of the words of learners, who are hard to understand, one in a hundred is placed otherwise.
  double filler_cost = 120;
  double skip_cost = 2;
  double filler_gap = 2;
};

// Words that are said between two sub-frames.
struct Window {
  std::size_t first;   // word
  std::size_t words;   // their number
  std::int64_t begin;  // at the earliest
  std::int64_t end;    // at the latest; kNoEnd: when the sound ends
};
constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

class AlignmentGraph {
 public:
  static constexpr int kSilence = -1;
  static constexpr int kFiller = -2;

  // A phone of a pronunciation, a silence, filler, or a word that is skipped. It is a row of states, of which the last
  // may be stayed in.
  struct Unit {
    std::int32_t phone;      // or kSilence, or kFiller
    std::int32_t word;       // that it belongs to; of silence and filler the one behind it, beyond the last at the end
    std::uint32_t states;    // of a word that is skipped as many as its first pronunciation has phones
    std::uint32_t skips;     // of a word that is skipped: the unit of its first phone; else 0
    std::int64_t earliest;   // sub-frame at which it may begin
    std::int64_t latest;     // at which it must have ended, or all of its window's words cannot be said
    double cost;             // of coming into it
    std::uint32_t first;     // of its states
  };
  struct Units {
    const std::uint32_t* first;
    const std::uint32_t* last;
    const std::uint32_t* begin() const { return first; }
    const std::uint32_t* end() const { return last; }
  };

  // Of windows, one behind another, each has at least a sub-frame for each phone; without any there is one for all.
  AlignmentGraph(std::vector<SpokenWord> words, const GraphOptions& options, std::vector<Window> windows = {});

  // Phones of the shortest pronunciation.
  static std::int64_t LeastPhones(const SpokenWord& word);

  const std::vector<SpokenWord>& words() const { return words_; }
  // The sub-frame at which the last word must have ended, or kNoEnd.
  std::int64_t end() const { return windows_.back().end; }
  // The window of a word.
  std::size_t WindowOf(std::size_t word) const;
  // Whether the filler before a word, or behind the last, lies between windows: nothing is known of it.
  bool Between(std::size_t word) const;
  double filler_gap() const { return filler_gap_; }
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
  std::vector<Window> windows_;
  double filler_gap_;
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
