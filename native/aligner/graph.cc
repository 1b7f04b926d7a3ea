#include "graph.h"

#include <algorithm>
#include <utility>

namespace tetraphone {

AlignmentGraph::AlignmentGraph(std::vector<SpokenWord> words, const GraphOptions& options) : words_(std::move(words)) {
  std::vector<std::uint32_t> ends{kStart};  // of the ways to what follows
  const auto add = [&](int phone, std::size_t word, std::size_t pronunciation, std::size_t place, double cost,
                       const std::vector<std::uint32_t>& before) {
    const int least = phone == kSilence ? options.least_silence : options.least_phone;
    const auto states = static_cast<std::uint32_t>(std::max(least, 1));
    units_.push_back({phone, static_cast<std::int32_t>(word), static_cast<std::int32_t>(pronunciation),
                      static_cast<std::int32_t>(place), static_cast<std::uint32_t>(states_), states, cost});
    states_ += states;
    offsets_.push_back(static_cast<std::uint32_t>(before_.size()));
    before_.insert(before_.end(), before.begin(), before.end());
    return static_cast<std::uint32_t>(units_.size() - 1);
  };
  const auto add_silence = [&](std::size_t word) {
    ends.push_back(add(kSilence, word, 0, 0, options.silence_cost, ends));
  };
  for (std::size_t word = 0; word < words_.size(); ++word) {
    add_silence(word);
    std::vector<std::uint32_t> word_ends;
    std::size_t shortest = std::numeric_limits<std::size_t>::max();
    const auto& pronunciations = words_[word].pronunciations;
    for (std::size_t i = 0; i < pronunciations.size(); ++i) {
      std::vector<std::uint32_t> before = ends;
      for (std::size_t place = 0; place < pronunciations[i].size(); ++place) {
        const double cost = place == 0 && i > 0 ? options.variant_cost : 0.0;
        before = {add(pronunciations[i][place], word, i, place, cost, before)};
      }
      word_ends.push_back(before.front());
      shortest = std::min(shortest, pronunciations[i].size());
    }
    least_frames_ += static_cast<std::int64_t>(shortest) * std::max(options.least_phone, 1);
    ends = std::move(word_ends);
  }
  add_silence(words_.size());
  finals_ = std::move(ends);
  offsets_.push_back(static_cast<std::uint32_t>(before_.size()));

  reach_.resize(units_.size());
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (const std::uint32_t before : Before(unit)) {
      (before == kStart ? first_reach_ : reach_[before]) = static_cast<std::uint32_t>(unit);  // the last stays
    }
  }
  std::uint32_t furthest = 0;
  for (std::uint32_t& reach : reach_) furthest = reach = std::max(furthest, reach);
}

std::size_t AlignmentGraph::heap_bytes() const {
  std::size_t bytes = HeapBytes(words_, units_, offsets_, before_, reach_, finals_);
  for (const SpokenWord& word : words_) bytes += word.text.capacity() + NestedHeapBytes(word.pronunciations);
  return bytes;
}

}  // namespace tetraphone
