#include "graph.h"

#include <algorithm>
#include <utility>

namespace tetraphone {
namespace {

// When a word may be said, and how fast.
struct Limits {
  std::uint32_t least_phone;
  std::int64_t earliest;  // begin
  std::int64_t begin;     // latest
  std::int64_t end;       // latest
};

std::vector<Limits> LimitsOf(const std::vector<SpokenWord>& words, const std::vector<Window>& windows, int least) {
  std::vector<Limits> limits(words.size());
  for (const Window& window : windows) {
    const std::size_t behind = window.first + window.words;
    std::int64_t phones = 0;
    for (std::size_t word = window.first; word < behind; ++word) phones += AlignmentGraph::LeastPhones(words[word]);
    const bool open = window.end == kNoEnd;
    const std::int64_t room = open ? least : (window.end - window.begin) / std::max<std::int64_t>(phones, 1);
    const std::int64_t least_phone = std::max<std::int64_t>(std::min<std::int64_t>(room, least), 1);
    std::int64_t latest = window.end;
    for (std::size_t word = behind; word-- > window.first;) {
      const std::int64_t end = latest;
      if (!open) latest -= least_phone * AlignmentGraph::LeastPhones(words[word]);
      limits[word] = {static_cast<std::uint32_t>(least_phone), word == window.first ? window.begin : 0, latest, end};
    }
  }
  return limits;
}

}  // namespace

std::int64_t AlignmentGraph::LeastPhones(const SpokenWord& word) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const PhoneSequence& phones : word.pronunciations) least = std::min(least, phones.size());
  return static_cast<std::int64_t>(least);
}

AlignmentGraph::AlignmentGraph(std::vector<SpokenWord> words, const GraphOptions& options, std::vector<Window> windows)
    : words_(std::move(words)), windows_(std::move(windows)), filler_gap_(options.filler_gap) {
  if (windows_.empty()) windows_.push_back({0, words_.size(), 0, kNoEnd});
  const std::vector<Limits> limits = LimitsOf(words_, windows_, options.least_phone);
  using Ends = std::vector<std::uint32_t>;  // of the ways to what follows
  const auto add = [&](Unit unit, const Ends& before) {
    unit.states = std::max<std::uint32_t>(unit.states, 1);
    unit.first = static_cast<std::uint32_t>(states_);
    states_ += unit.states;
    units_.push_back(unit);
    offsets_.push_back(static_cast<std::uint32_t>(before_.size()));
    before_.insert(before_.end(), before.begin(), before.end());
    return static_cast<std::uint32_t>(units_.size() - 1);
  };
  Ends ends{kStart};
  // Silence and filler before a word; the filler's unit.
  const auto add_pause = [&](std::size_t word, int least, std::int64_t latest) {
    const auto index = static_cast<std::int32_t>(word);
    ends.push_back(add({kSilence, index, static_cast<std::uint32_t>(least), 0, 0, latest, 0.0, 0}, ends));
    if (options.fills) ends.push_back(add({kFiller, index, 1, 0, 0, latest, options.filler_cost, 0}, ends));
    return ends.back();
  };
  std::int64_t said = 0, skipped = kNoEnd;  // sub-frames of the shortest ways that end so
  Ends skip;                                // the word before
  for (std::size_t word = 0; word < words_.size(); ++word) {
    const auto& [least_phone, earliest, begin, end] = limits[word];
    skip.push_back(add_pause(word, options.least_silence, begin));
    Ends word_ends;
    const auto first = static_cast<std::uint32_t>(units_.size());
    const auto index = static_cast<std::int32_t>(word);
    for (const PhoneSequence& phones : words_[word].pronunciations) {
      Ends before = ends;
      for (std::size_t place = 0; place < phones.size(); ++place) {
        const auto rest = static_cast<std::int64_t>(phones.size() - 1 - place);
        const std::int64_t latest = end == kNoEnd ? end : end - rest * least_phone;
        before = {add({phones[place], index, least_phone, 0, place == 0 ? earliest : 0, latest, 0.0, 0}, before)};
      }
      word_ends.push_back(before.front());
    }
    const std::int64_t least = LeastPhones(words_[word]) * least_phone;
    const std::int64_t said_before = std::exchange(said, std::min(said, skipped) + least);
    if (options.fills) {
      const auto phones = static_cast<std::uint32_t>(words_[word].pronunciations.front().size());
      skip = {add({kFiller, index, phones, first, earliest, end, options.skip_cost, 0}, skip)};
      word_ends.push_back(skip.front());
      skipped = std::min(said_before + 1, skipped) + phones;
    }
    ends = std::move(word_ends);
  }
  least_frames_ = std::min(said, skipped);
  // The last window may end a little before the sound does.
  add_pause(words_.size(), end() == kNoEnd ? options.least_silence : 1, kNoEnd);
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

std::size_t AlignmentGraph::WindowOf(std::size_t word) const {
  const auto behind = [](std::size_t at, const Window& window) { return at < window.first + window.words; };
  return static_cast<std::size_t>(std::upper_bound(windows_.begin(), windows_.end() - 1, word, behind) -
                                  windows_.begin());
}

bool AlignmentGraph::Between(std::size_t word) const {
  const Window& window = windows_[WindowOf(word)];
  return word == words_.size() ? window.end != kNoEnd : word == window.first && (word > 0 || window.begin > 0);
}

std::size_t AlignmentGraph::heap_bytes() const {
  std::size_t bytes = HeapBytes(words_, windows_, units_, offsets_, before_, reach_, finals_);
  for (const SpokenWord& word : words_) bytes += word.text.capacity() + NestedHeapBytes(word.pronunciations);
  return bytes;
}

}  // namespace tetraphone
