// The best way through a text's graph, sub-frame by sub-frame: Viterbi's algorithm within a beam. The same bits on
// every processor; memory grows with the text and with what is undecided, not with the sound.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "graph.h"
#include "speech.h"

namespace tetraphone {

struct SearchOptions {
  // Ways whose score is less than the best one's by more than this are dropped.
  double beam = 150.0;
  // And the worst of them where more states than these are reached: sound that says nothing of the text must not let
  // the search spread over all of it.
  std::size_t most_states = 4000;
};

// A unit of the graph that the best way passes. A word that it skips is given as the phones of its first pronunciation,
// as evenly as may be.
struct Segment {
  std::size_t unit;
  std::int64_t first;  // sub-frame, counted from the start of the sound
  std::int64_t end;    // the sub-frame behind its last
  double score;        // summed over its sub-frames: of its phone less that of the best phone or silence; at most 0
  double from;         // its boundaries, in sub-frames: near `first` and `end`, where the scores of the phones on both
  double to;           // sides cross
  bool skipped;        // whether its word is
};

class AlignmentSearch {
 public:
  AlignmentSearch(std::shared_ptr<const AlignmentGraph> graph, std::size_t outputs, const SearchOptions& options = {});

  // A sub-frame's logarithmic likelihoods, [outputs]: silence, then the phones; all finite.
  void Accept(const float* scores);
  // The sound ends: the best way that says all of the text is taken. False if there is none: the text goes on beyond
  // the sound; what Take() gave stands, and the rest of the best way follows, up to where it came. A window may end a
  // little behind the sound: the last sub-frame is repeated then, as often as is needed.
  bool Finish();
  void Reset();

  // Segments that no later sub-frame can change, each given once, in order.
  std::vector<Segment> Take();
  // What would follow them if the sound ended here, however far the text was said.
  std::vector<Segment> Provisional() const;

  std::int64_t frames() const { return frames_; }
  // States that are reached.
  std::size_t alive() const { return alive_; }
  const SpeechMeter& speech() const { return speech_; }
  const AlignmentGraph& graph() const { return *graph_; }
  // Without the graph; see heap_bytes.h.
  std::size_t heap_bytes() const {
    return sizeof *this + HeapBytes(gaps_, gaps_before_, states_, exits_, occupied_, records_, final_, sorted_) +
           speech_.heap_bytes();
  }

 private:
  static constexpr double kNever = -std::numeric_limits<double>::infinity();
  static constexpr int kGaps = 2;  // before that of the first phone: of filler and silence

  // The best way to a state. Scores are less than the best output's in each sub-frame, so that they stay small.
  struct State {
    double score = kNever;
    std::int32_t record = 0;  // of its unit; just come into it, −1 − the record of the one before it
  };
  // Where a way came into a unit.
  struct Record {
    std::int32_t before;  // record; of the first, which stands for the beginning, 0
    std::int32_t unit;
    std::int64_t frame;
    double boundary;  // see Segment
    double score;     // of the way before that frame, the unit's cost included
  };

  State Entering(std::size_t unit) const;
  double Boundary(std::int32_t before, std::size_t unit) const;
  double Step();
  void Prune(double threshold);
  void PruneMost();
  State Best(bool final) const;
  void Advance();
  double GapOf(const AlignmentGraph::Unit& unit) const { return gaps_[static_cast<std::size_t>(unit.phone + kGaps)]; }
  void Add(const Segment& segment, std::vector<Segment>* segments) const;
  void Trace(std::int32_t record, double score, std::vector<Segment>* segments) const;
  void Settle();
  void Clear(std::size_t root, std::vector<std::int32_t> followers);

  std::shared_ptr<const AlignmentGraph> graph_;
  const SearchOptions options_;
  std::vector<double> gaps_;         // below the greatest score of the sub-frame: of filler, silence, phones
  std::vector<double> gaps_before_;  // of the sub-frame before
  std::vector<State> states_;
  std::vector<State> exits_;            // the last of each unit
  std::vector<std::uint8_t> occupied_;  // units that have a state that is reached
  std::size_t begin_ = 0;  // the units that are reached
  std::size_t end_ = 0;
  std::size_t alive_ = 0;  // states
  std::vector<Record> records_;  // each behind the one before it
  std::size_t kept_ = 0;         // of them, when they were last cleared
  std::vector<Segment> final_;
  std::vector<double> sorted_;
  std::int64_t frames_ = 0;
  SpeechMeter speech_;
  bool finished_ = false;
  bool complete_ = false;
};

}  // namespace tetraphone
