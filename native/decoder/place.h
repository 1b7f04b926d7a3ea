// Where a prefix of the beam search is in a phone grammar.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "../common/heap_bytes.h"
#include "decoder.h"
#include "grammar.h"

namespace tetraphone {

constexpr double kNever = -std::numeric_limits<double>::infinity();  // the log of a chance of 0

// Where a prefix is in the grammar: the states that its phones lead to, with what the cheapest way there costs above
// the cheapest of all. Of an ambiguous grammar only the kMostStates cheapest are followed.
class Place {
 public:
  void Start(const Grammar& grammar, const DecoderOptions& options) {
    states_.assign(1, {grammar.start, 0.0});
    Weigh(grammar, options);
  }

  void Follow(const Place& from, int phone, const Grammar& grammar, const DecoderOptions& options) {
    states_.clear();
    for (const auto& [state, cost] : from.states_) {
      const Grammar::Arcs arcs = grammar.ArcsOf(state);
      const auto before = [](const Grammar::Arc& arc, int wanted) { return arc.phone < wanted; };
      for (auto arc = std::lower_bound(arcs.begin(), arcs.end(), phone, before); arc != arcs.end(); ++arc) {
        if (arc->phone != phone) break;
        Reach(arc->target, cost + arc->cost);
      }
    }
    double least = states_[0].cost;
    for (const Reached& item : states_) least = std::min(least, item.cost);
    for (Reached& item : states_) item.cost -= least;
    Weigh(grammar, options);
  }

  // Added to a prefix's log score when a phone follows it, or when it ends here; kNever where the grammar forbids it.
  const double* gains() const { return gains_.data(); }
  double end() const { return end_; }

  std::size_t heap_bytes() const { return HeapBytes(states_, gains_); }

  bool operator==(const Place& other) const {
    const auto same = [](const Reached& a, const Reached& b) { return a.state == b.state && a.cost == b.cost; };
    return std::equal(states_.begin(), states_.end(), other.states_.begin(), other.states_.end(), same);
  }

 private:
  static constexpr std::size_t kMostStates = 64;
  struct Reached {
    std::int32_t state;
    double cost;
  };

  void Reach(std::int32_t state, double cost) {
    Reached* dearest = nullptr;
    for (Reached& item : states_) {
      if (item.state == state) {
        item.cost = std::min(item.cost, cost);
        return;
      }
      if (dearest == nullptr || item.cost > dearest->cost) dearest = &item;
    }
    if (states_.size() < kMostStates) {
      states_.push_back({state, cost});
    } else if (cost < dearest->cost) {
      *dearest = {state, cost};
    }
  }

  void Weigh(const Grammar& grammar, const DecoderOptions& options) {
    gains_.assign(grammar.phones, kNever);
    end_ = kNever;
    for (const auto& [state, cost] : states_) {
      for (const Grammar::Arc& arc : grammar.ArcsOf(state)) {
        double& gain = gains_[static_cast<std::size_t>(arc.phone)];
        gain = std::max(gain, options.phone_bonus - options.grammar_scale * (cost + arc.cost));
      }
      const double last = grammar.finals[static_cast<std::size_t>(state)];
      if (std::isfinite(last)) end_ = std::max(end_, -options.grammar_scale * (cost + last));
    }
  }

  std::vector<Reached> states_;
  std::vector<double> gains_;
  double end_ = kNever;
};

}  // namespace tetraphone
