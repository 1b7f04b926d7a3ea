#include "search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace tetraphone {
namespace {

constexpr std::size_t kRecords = 4096;  // beside twice those that are needed, before the rest is cleared away
constexpr int kBeyond = 5;              // sub-frames by which a window may end behind the sound

}  // namespace

AlignmentSearch::AlignmentSearch(std::shared_ptr<const AlignmentGraph> graph, std::size_t outputs,
                                 const SearchOptions& options)
    : graph_(std::move(graph)),
      options_(options),
      gaps_(outputs + 1),
      gaps_before_(outputs + 1),
      states_(graph_->states()),
      exits_(graph_->units().size()),
      occupied_(graph_->units().size()),
      speech_(outputs) {
  Reset();
}

void AlignmentSearch::Reset() {
  std::fill(states_.begin(), states_.end(), State{});
  std::fill(exits_.begin(), exits_.end(), State{});
  std::fill(occupied_.begin(), occupied_.end(), false);
  begin_ = end_ = alive_ = 0;
  speech_.Reset();
  records_.assign(1, {0, -1, 0, 0.0, 0.0});
  kept_ = 1;
  final_.clear();
  frames_ = 0;
  finished_ = complete_ = false;
}

void AlignmentSearch::Accept(const float* scores) {
  if (finished_) return;
  gaps_.swap(gaps_before_);
  const std::size_t outputs = gaps_.size() - 1;
  const float* greatest = std::max_element(scores, scores + outputs);
  for (std::size_t i = 0; i < outputs; ++i) gaps_[i + 1] = static_cast<double>(scores[i]) - *greatest;
  gaps_[0] = std::max(gaps_[1], -graph_->filler_gap());
  speech_.Accept(gaps_.data() + 1);
  Advance();
}

// By a sub-frame, whose gaps are known.
void AlignmentSearch::Advance() {
  const std::size_t reach = graph_->Reach(frames_ == 0 ? AlignmentGraph::kStart : end_ - 1);
  end_ = std::max(end_, reach + 1);
  Prune(Step() - options_.beam);
  if (alive_ > options_.most_states) PruneMost();
  ++frames_;
  if (records_.size() > 2 * kept_ + kRecords) Settle();
}

// The best way into a unit, before its first sub-frame. Of equal ones that from the first unit counts.
AlignmentSearch::State AlignmentSearch::Entering(std::size_t unit) const {
  State best;
  for (const std::uint32_t before : graph_->Before(unit)) {
    const State from = before != AlignmentGraph::kStart ? exits_[before] : frames_ == 0 ? State{0.0, 0} : State{};
    if (from.score > best.score) best = {from.score, -1 - from.record};
  }
  best.score -= graph_->units()[unit].cost;
  return best;
}

// Where the unit of a record ends and another begins whose first sub-frame this one is: between the middles of the
// sub-frame before and of this one, at the place where the scores of both are equal if they change linearly.
double AlignmentSearch::Boundary(std::int32_t before, std::size_t unit) const {
  const double edge = static_cast<double>(frames_);
  const std::int32_t other = records_[static_cast<std::size_t>(before)].unit;
  if (other < 0) return edge;
  const auto left = static_cast<std::size_t>(graph_->units()[static_cast<std::size_t>(other)].phone + kGaps);
  const auto right = static_cast<std::size_t>(graph_->units()[unit].phone + kGaps);
  const double ahead = std::max(gaps_before_[left] - gaps_before_[right], 0.0);
  const double behind = std::max(gaps_[right] - gaps_[left], 0.0);
  return ahead + behind > 0 ? edge - 0.5 + ahead / (ahead + behind) : edge;
}

// All ways a sub-frame further; the best score. Units come behind those that lead to them: from the last to the first,
// each finds the others as they were.
double AlignmentSearch::Step() {
  double best = kNever;
  for (std::size_t index = end_; index-- > begin_;) {
    const AlignmentGraph::Unit& unit = graph_->units()[index];
    const State entering = frames_ < unit.earliest ? State{} : Entering(index);
    if (entering.score == kNever && !occupied_[index]) continue;
    occupied_[index] = true;
    const double gap = GapOf(unit);
    // States before this one come too late for what must follow.
    const std::int64_t in_time = static_cast<std::int64_t>(unit.states) - (unit.latest - frames_);
    State* states = states_.data() + unit.first;
    for (std::size_t i = unit.states; i-- > 0;) {
      const State& moved = i > 0 ? states[i - 1] : entering;
      State& state = states[i];
      if (i + 1 < unit.states || moved.score > state.score) state = moved;
      state.score = static_cast<std::int64_t>(i) < in_time ? kNever : state.score + gap;
      best = std::max(best, state.score);
    }
  }
  return best;
}

// Drops the states below the threshold, and those of the window's ends that none is left of; notes where ways came into
// units.
void AlignmentSearch::Prune(double threshold) {
  alive_ = 0;
  std::size_t first = end_, end = begin_;
  for (std::size_t index = begin_; index < end_; ++index) {
    if (!occupied_[index]) continue;
    const AlignmentGraph::Unit& unit = graph_->units()[index];
    const std::size_t before = alive_;
    for (State* state = states_.data() + unit.first; state != states_.data() + unit.first + unit.states; ++state) {
      if (!(state->score >= threshold) || state->score == kNever) {
        state->score = kNever;
        continue;
      }
      ++alive_;
      if (state->record >= 0) continue;
      const double score = state->score - GapOf(unit);
      const std::int32_t from = -1 - state->record;
      records_.push_back({from, static_cast<std::int32_t>(index), frames_, Boundary(from, index), score});
      state->record = static_cast<std::int32_t>(records_.size() - 1);
    }
    exits_[index] = states_[unit.first + unit.states - 1];
    occupied_[index] = alive_ != before;
    if (alive_ == before) continue;
    first = std::min(first, index);
    end = index + 1;
  }
  begin_ = std::min(first, end);
  end_ = end;
}

// Keeps the best; of those that equal the worst of them none, unless all do.
void AlignmentSearch::PruneMost() {
  sorted_.clear();
  const State* first = states_.data() + graph_->units()[begin_].first;
  const AlignmentGraph::Unit& last = graph_->units()[end_ - 1];
  for (const State* state = first; state != states_.data() + last.first + last.states; ++state) {
    if (state->score != kNever) sorted_.push_back(state->score);
  }
  const double best = *std::max_element(sorted_.begin(), sorted_.end());
  const auto nth = sorted_.begin() + static_cast<std::ptrdiff_t>(options_.most_states);
  std::nth_element(sorted_.begin(), nth, sorted_.end(), std::greater<double>());
  Prune(std::min(std::nextafter(*nth, 0.0), best));
}

// The best state; of equal ones the last. With `final` of those in which a way may end.
AlignmentSearch::State AlignmentSearch::Best(bool final) const {
  State best;
  const auto take = [&](const State& state) {
    if (state.score >= best.score && state.score != kNever) best = state;
  };
  if (final) {
    for (const std::uint32_t index : graph_->finals()) {
      const AlignmentGraph::Unit& unit = graph_->units()[index];
      take(states_[unit.first + unit.states - 1]);
    }
  } else {
    for (std::size_t index = begin_; index < end_; ++index) {
      const AlignmentGraph::Unit& unit = graph_->units()[index];
      for (std::size_t i = 0; i < unit.states; ++i) take(states_[unit.first + i]);
    }
  }
  return best;
}

// A segment, or those of the phones of a word that is skipped.
void AlignmentSearch::Add(const Segment& segment, std::vector<Segment>* segments) const {
  const AlignmentGraph::Unit& unit = graph_->units()[segment.unit];
  if (unit.skips == 0) return segments->push_back(segment);
  const std::int64_t frames = segment.end - segment.first, phones = std::min<std::int64_t>(unit.states, frames);
  for (std::int64_t i = 0; i < phones; ++i) {
    const std::int64_t first = segment.first + frames * i / phones, end = segment.first + frames * (i + 1) / phones;
    const double score = segment.score * static_cast<double>(end - first) / static_cast<double>(frames);
    segments->push_back({unit.skips + static_cast<std::size_t>(i), first, end, score,
                         i == 0 ? segment.from : static_cast<double>(first),
                         i + 1 == phones ? segment.to : static_cast<double>(end), true});
  }
}

// The segments behind the first record up to this one, which ends with the last sub-frame and the way's score.
void AlignmentSearch::Trace(std::int32_t record, double score, std::vector<Segment>* segments) const {
  std::vector<Segment> backwards;
  std::int64_t end = frames_;
  double to = static_cast<double>(end);
  for (std::int32_t at = record; at != 0;) {
    const Record& found = records_[static_cast<std::size_t>(at)];
    const auto unit = static_cast<std::size_t>(found.unit);
    backwards.push_back({unit, found.frame, end, score - found.score, found.boundary, to, false});
    end = found.frame;
    to = found.boundary;
    score = found.score + graph_->units()[unit].cost;
    at = found.before;
  }
  std::for_each(backwards.rbegin(), backwards.rend(), [&](const Segment& segment) { Add(segment, segments); });
}

bool AlignmentSearch::Finish() {
  if (finished_) return complete_;
  State best = Best(true);
  for (int i = 0; i < kBeyond && best.score == kNever && graph_->end() != kNoEnd && frames_ < graph_->end(); ++i) {
    gaps_before_ = gaps_;
    Advance();
    best = Best(true);
  }
  finished_ = true;
  complete_ = best.score != kNever;
  if (!complete_) best = Best(false);
  if (best.score != kNever) Trace(best.record, best.score, &final_);
  if (records_.size() > 1) records_.resize(1);
  return complete_;
}

std::vector<Segment> AlignmentSearch::Provisional() const {
  std::vector<Segment> segments;
  const State best = Best(false);
  if (!finished_ && best.score != kNever) Trace(best.record, best.score, &segments);
  return segments;
}

std::vector<Segment> AlignmentSearch::Take() {
  if (!finished_) Settle();
  return std::exchange(final_, {});
}

// Makes the segments final that all ways share, and clears away the records that none needs.
void AlignmentSearch::Settle() {
  if (end_ == begin_) return;
  // How many records and states follow each record that is needed; a state's own counts twice: it may go on.
  std::vector<std::int32_t> followers(records_.size(), 0);
  const State* const end = states_.data() + graph_->units()[end_ - 1].first + graph_->units()[end_ - 1].states;
  for (const State* state = states_.data() + graph_->units()[begin_].first; state != end; ++state) {
    if (state->score == kNever) continue;
    for (std::int32_t at = state->record, more = 2;; at = records_[static_cast<std::size_t>(at)].before, more = 1) {
      std::int32_t& count = followers[static_cast<std::size_t>(at)];
      const bool known = count != 0;
      count += more;
      if (known || at == 0) break;
    }
  }
  // Follow the one way from the beginning on: of records that are needed, the next is the only one that follows.
  std::size_t root = 0;
  for (std::size_t next = 1; next < records_.size() && followers[root] == 1; ++next) {
    if (followers[next] == 0) continue;
    const Record& from = records_[root];
    const Record& to = records_[next];
    if (root != 0) {
      const double cost = graph_->units()[static_cast<std::size_t>(to.unit)].cost;
      Add({static_cast<std::size_t>(from.unit), from.frame, to.frame, to.score + cost - from.score, from.boundary,
           to.boundary, false},
          &final_);
    }
    root = next;
  }
  Clear(root, std::move(followers));
}

// Keeps the records from `root` on that something follows.
void AlignmentSearch::Clear(std::size_t root, std::vector<std::int32_t> followers) {
  std::vector<std::int32_t>& places = followers;
  std::size_t kept = 1;
  for (std::size_t i = std::max<std::size_t>(root, 1); i < records_.size(); ++i) {
    if (followers[i] == 0) continue;
    Record record = records_[i];
    record.before = i == root || record.before == 0 ? 0 : places[static_cast<std::size_t>(record.before)];
    places[i] = static_cast<std::int32_t>(kept);
    records_[kept++] = record;
  }
  records_.resize(kept);
  kept_ = kept;
  for (std::size_t index = begin_; index < end_; ++index) {
    const AlignmentGraph::Unit& unit = graph_->units()[index];
    for (State* state = states_.data() + unit.first; state != states_.data() + unit.first + unit.states; ++state) {
      if (state->score != kNever) state->record = places[static_cast<std::size_t>(state->record)];
    }
    exits_[index] = states_[unit.first + unit.states - 1];
  }
}

}  // namespace tetraphone
