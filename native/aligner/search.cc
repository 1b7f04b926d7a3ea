#include "search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace tetraphone {
namespace {

constexpr std::size_t kRecords = 4096;  // beside twice those that are needed, before the rest is cleared away

}  // namespace

AlignmentSearch::AlignmentSearch(std::shared_ptr<const AlignmentGraph> graph, std::size_t outputs,
                                 const SearchOptions& options)
    : graph_(std::move(graph)), options_(options), gaps_(outputs), gaps_before_(outputs), states_(graph_->states()) {
  Reset();
}

void AlignmentSearch::Reset() {
  std::fill(states_.begin(), states_.end(), State{});
  begin_ = end_ = alive_ = 0;
  records_.assign(1, {0, -1, 0, 0.0, 0.0});
  kept_ = 1;
  final_.clear();
  frames_ = speech_frames_ = 0;
  finished_ = false;
}

void AlignmentSearch::Accept(const float* scores) {
  if (finished_) return;
  gaps_.swap(gaps_before_);
  const float* greatest = std::max_element(scores, scores + gaps_.size());
  speech_frames_ += greatest != scores;
  for (std::size_t i = 0; i < gaps_.size(); ++i) gaps_[i] = static_cast<double>(scores[i]) - *greatest;
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
    State from;
    if (before != AlignmentGraph::kStart) {
      const AlignmentGraph::Unit& other = graph_->units()[before];
      from = states_[other.first + other.states - 1];
    } else if (frames_ == 0) {
      from = {0.0, 0};
    }
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
  const auto left = static_cast<std::size_t>(graph_->units()[static_cast<std::size_t>(other)].phone + 1);
  const auto right = static_cast<std::size_t>(graph_->units()[unit].phone + 1);
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
    const double gap = gaps_[static_cast<std::size_t>(unit.phone + 1)];
    State* state = states_.data() + unit.first;
    const State entering = Entering(index);
    std::size_t last = unit.states - 1;
    const State& moved = last == 0 ? entering : state[last - 1];
    if (moved.score > state[last].score) state[last] = moved;
    state[last].score += gap;
    best = std::max(best, state[last].score);
    for (; last > 0; --last) {
      State& next = state[last - 1];
      next = last == 1 ? entering : state[last - 2];
      next.score += gap;
      best = std::max(best, next.score);
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
    const AlignmentGraph::Unit& unit = graph_->units()[index];
    const std::size_t before = alive_;
    for (State* state = states_.data() + unit.first; state != states_.data() + unit.first + unit.states; ++state) {
      if (!(state->score >= threshold) || state->score == kNever) {
        state->score = kNever;
        continue;
      }
      ++alive_;
      if (state->record >= 0) continue;
      const double score = state->score - gaps_[static_cast<std::size_t>(unit.phone + 1)];
      const std::int32_t from = -1 - state->record;
      records_.push_back({from, static_cast<std::int32_t>(index), frames_, Boundary(from, index), score});
      state->record = static_cast<std::int32_t>(records_.size() - 1);
    }
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

// The segments behind the first record up to this one, which ends with the last sub-frame and the way's score.
void AlignmentSearch::Trace(std::int32_t record, double score, std::vector<Segment>* segments) const {
  const std::size_t before = segments->size();
  std::int64_t end = frames_;
  double to = static_cast<double>(end);
  for (std::int32_t at = record; at != 0;) {
    const Record& found = records_[static_cast<std::size_t>(at)];
    const auto unit = static_cast<std::size_t>(found.unit);
    segments->push_back({unit, found.frame, end, score - found.score, found.boundary, to});
    end = found.frame;
    to = found.boundary;
    score = found.score + graph_->units()[unit].cost;
    at = found.before;
  }
  std::reverse(segments->begin() + static_cast<std::ptrdiff_t>(before), segments->end());
}

bool AlignmentSearch::Finish() {
  if (finished_) return true;
  finished_ = true;
  State best = Best(true);
  const bool complete = best.score != kNever;
  if (!complete) best = Best(false);
  if (best.score != kNever) Trace(best.record, best.score, &final_);
  if (records_.size() > 1) records_.resize(1);
  return complete;
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
      final_.push_back({static_cast<std::size_t>(from.unit), from.frame, to.frame, to.score + cost - from.score,
                        from.boundary, to.boundary});
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
  }
}

}  // namespace tetraphone
