// The search through a text's graph, against an exact one that looks at every state of every sub-frame.

#include "aligner/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace tetraphone {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr SearchOptions kExact{1e300, std::numeric_limits<std::size_t>::max()};

using Scores = std::vector<std::vector<float>>;  // [sub-frames][outputs]

class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  std::size_t Below(std::size_t count) { return engine_() % count; }
  float Normal() {  // roughly
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += engine_() / 4294967296.0 - 0.5;
    return static_cast<float>(sum * 1.7);
  }

 private:
  std::mt19937 engine_;
};

std::vector<SpokenWord> SomeWords(Draw& draw, std::size_t count, std::size_t phones) {
  std::vector<SpokenWord> words(count);
  for (SpokenWord& word : words) {
    word.pronunciations.resize(1 + draw.Below(3));
    for (auto& pronunciation : word.pronunciations) {
      for (std::size_t i = draw.Below(4) + 1; i > 0; --i) pronunciation.push_back(static_cast<int>(draw.Below(phones)));
    }
  }
  return words;
}

// As a head's: a way through the graph, drawn, shows in the scores, as loudly as `loud` says.
Scores Spoken(Draw& draw, const AlignmentGraph& graph, std::size_t outputs, float loud) {
  Scores scores;
  const auto say = [&](int phone, std::size_t frames) {
    for (std::size_t i = 0; i < frames; ++i) {
      std::vector<float>& frame = scores.emplace_back();
      for (std::size_t k = 0; k < outputs; ++k) frame.push_back(draw.Normal() - 3);
      frame[static_cast<std::size_t>(phone + 1)] += loud;
    }
  };
  for (const SpokenWord& word : graph.words()) {
    if (draw.Below(2) == 0) say(AlignmentGraph::kSilence, 3 + draw.Below(9));
    for (const int phone : word.pronunciations[draw.Below(word.pronunciations.size())]) say(phone, 2 + draw.Below(9));
  }
  if (draw.Below(2) == 0) say(AlignmentGraph::kSilence, 3 + draw.Below(9));
  return scores;
}

struct Found {
  bool complete = false;
  std::vector<Segment> segments;
  double score = 0;  // with what filler and skipped words cost
};

double Total(const AlignmentGraph& graph, const std::vector<Segment>& segments) {
  double score = 0;
  for (const Segment& segment : segments) {
    score += segment.score - graph.units()[segment.unit].cost;
    for (const auto& unit : graph.units()) score -= segment.skipped && unit.skips == segment.unit ? unit.cost : 0;
  }
  return score;
}

double Gap(const AlignmentGraph& graph, const std::vector<float>& frame, int phone) {
  const float greatest = *std::max_element(frame.begin(), frame.end());
  if (phone == AlignmentGraph::kFiller) return std::max(static_cast<double>(frame[0]) - greatest, -graph.filler_gap());
  return static_cast<double>(frame[static_cast<std::size_t>(phone + 1)]) - greatest;
}

Found Searched(const std::shared_ptr<const AlignmentGraph>& graph, const Scores& scores, const SearchOptions& options,
               std::size_t take_every = 0) {
  AlignmentSearch search(graph, scores.front().size(), options);
  Found found;
  const auto take = [&] {
    for (const Segment& segment : search.Take()) found.segments.push_back(segment);
  };
  for (std::size_t t = 0; t < scores.size(); ++t) {
    search.Accept(scores[t].data());
    if (take_every != 0 && t % take_every == 0) take();
  }
  found.complete = search.Finish();
  take();
  found.score = Total(*graph, found.segments);
  return found;
}

// The definition: of each state of each sub-frame the best score and where it came from.
Found Exact(const AlignmentGraph& graph, const Scores& scores, const std::vector<Window>& windows = {}) {
  struct Cell {
    double score = kNever;
    std::int64_t from = -1;  // state
  };
  const auto& units = graph.units();
  std::vector<std::size_t> unit_of;
  for (std::size_t u = 0; u < units.size(); ++u) unit_of.insert(unit_of.end(), units[u].states, u);
  std::vector<std::vector<Cell>> cells(scores.size(), std::vector<Cell>(graph.states()));
  for (std::size_t t = 0; t < scores.size(); ++t) {
    for (std::size_t state = 0; state < graph.states(); ++state) {
      const auto& unit = units[unit_of[state]];
      if (!windows.empty() && (unit.phone >= 0 || unit.skips != 0)) {
        const Window& window = windows[graph.WindowOf(static_cast<std::size_t>(unit.word))];
        if (static_cast<std::int64_t>(t) < window.begin || static_cast<std::int64_t>(t) >= window.end) continue;
      }
      Cell& cell = cells[t][state];
      const auto offer = [&](double score, std::int64_t from) {
        if (score > cell.score) cell = {score, from};
      };
      const auto before = [&](std::size_t other) { return t == 0 ? kNever : cells[t - 1][other].score; };
      if (state + 1 == unit.first + unit.states) offer(before(state), static_cast<std::int64_t>(state));
      if (state > unit.first) offer(before(state - 1), static_cast<std::int64_t>(state - 1));
      for (const std::uint32_t other : graph.Before(unit_of[state])) {
        if (state != unit.first) continue;
        if (other == AlignmentGraph::kStart) {
          if (t == 0) offer(-unit.cost, -1);
        } else {
          const std::size_t last = units[other].first + units[other].states - 1;
          offer(before(last) - unit.cost, static_cast<std::int64_t>(last));
        }
      }
      cell.score += Gap(graph, scores[t], unit.phone);
    }
  }
  Found found;
  std::int64_t state = -1;
  double best = kNever;
  for (const std::uint32_t index : graph.finals()) {
    const std::size_t last = units[index].first + units[index].states - 1;
    if (cells.back()[last].score > best) best = cells.back()[last].score, state = static_cast<std::int64_t>(last);
  }
  if (state < 0) return found;
  found.complete = true;
  found.score = best;
  std::int64_t end = static_cast<std::int64_t>(scores.size());
  for (std::int64_t t = end - 1; t >= 0; --t) {
    const std::size_t unit = unit_of[static_cast<std::size_t>(state)];
    const std::int64_t from = cells[static_cast<std::size_t>(t)][static_cast<std::size_t>(state)].from;
    const bool entered = static_cast<std::size_t>(state) == units[unit].first && from != state;
    if (entered) {
      const bool skipped = units[unit].skips != 0;
      const std::int64_t parts = skipped ? units[unit].states : 1;
      for (std::int64_t i = parts; i-- > 0;) {
        const auto part = skipped ? units[unit].skips + static_cast<std::size_t>(i) : unit;
        found.segments.insert(found.segments.begin(), {part, t + (end - t) * i / parts, t + (end - t) * (i + 1) / parts,
                                                       0, 0, 0, skipped});
      }
      end = t;
    }
    state = from;
  }
  return found;
}

void ExpectSame(const std::vector<Segment>& segments, const std::vector<Segment>& expected) {
  ASSERT_EQ(segments.size(), expected.size());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    EXPECT_EQ(segments[i].unit, expected[i].unit) << i;
    EXPECT_EQ(segments[i].first, expected[i].first) << i;
    EXPECT_EQ(segments[i].end, expected[i].end) << i;
    EXPECT_EQ(segments[i].skipped, expected[i].skipped) << i;
  }
}

std::shared_ptr<const AlignmentGraph> GraphOf(std::vector<SpokenWord> words, const GraphOptions& options = {},
                                              std::vector<Window> windows = {}) {
  return std::make_shared<const AlignmentGraph>(std::move(words), options, std::move(windows));
}

TEST(Search, FindsTheBestWayOfAll) {
  constexpr std::size_t kPhones = 5;
  const GraphOptions kOptions[] = {{}, {1, 1, false}, {3, 5, true, 5, 0.7, 1.5}, {1, 4, true, 2, 0.3, 0.5}};
  for (unsigned seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    const auto graph = GraphOf(SomeWords(draw, 1 + draw.Below(7), kPhones), kOptions[seed % 4]);
    const Scores scores = Spoken(draw, *graph, kPhones + 1, static_cast<float>(seed % 3));
    const Found expected = Exact(*graph, scores);
    const Found found = Searched(graph, scores, kExact);
    ASSERT_EQ(found.complete, expected.complete) << seed;
    if (!expected.complete) continue;
    ExpectSame(found.segments, expected.segments);
    EXPECT_NEAR(found.score, expected.score, 1e-9);
    // However often what is final is taken, and within the beam: the same bits.
    for (const Found& other : {Searched(graph, scores, kExact, 1), Searched(graph, scores, kExact, 7),
                               Searched(graph, scores, SearchOptions{}, 2)}) {
      ExpectSame(other.segments, found.segments);
      EXPECT_EQ(other.score, found.score) << seed;
    }
  }
}

TEST(Search, FindsTheBestWayWithinWindows) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    const std::vector<SpokenWord> words = SomeWords(draw, 6, 5);
    std::vector<Window> windows;
    std::int64_t at = 0;
    for (std::size_t first = 0; first < words.size(); first += windows.back().words) {
      const std::size_t count = std::min(1 + draw.Below(3), words.size() - first);
      std::int64_t phones = 0;
      for (std::size_t word = first; word < first + count; ++word) phones += AlignmentGraph::LeastPhones(words[word]);
      at += draw.Below(2) == 0 ? 0 : static_cast<std::int64_t>(3 + draw.Below(20));
      windows.push_back({first, count, at, at + phones * static_cast<std::int64_t>(1 + draw.Below(9))});
      at = windows.back().end + (draw.Below(2) == 0 ? 0 : static_cast<std::int64_t>(draw.Below(3)));
    }
    const auto graph = GraphOf(words, {4, 1, false}, windows);
    const auto fills = GraphOf(words, {4, 3, true, seed % 2 == 0 ? 4.0 : 100.0, 0.5, 1}, windows);
    Scores scores = Spoken(draw, *graph, 6, 4);
    scores.resize(static_cast<std::size_t>(windows.back().end) + draw.Below(9), scores.front());
    const Found expected = Exact(*graph, scores, windows), found = Searched(graph, scores, kExact);
    ASSERT_TRUE(found.complete && expected.complete) << seed;
    ExpectSame(found.segments, expected.segments);
    // Whatever the beam, one way is left; the sound may end a little early.
    for (const auto& either : {graph, fills}) EXPECT_TRUE(Searched(either, scores, {5, 20}).complete) << seed;
    scores.resize(static_cast<std::size_t>(windows.back().end) - 3);
    for (const auto& either : {graph, fills}) EXPECT_TRUE(Searched(either, scores, {5, 20}).complete) << seed;
  }
}

// A sentence that the text lacks, and one that is too much: the other words are where they are without it.
TEST(Search, FindsItsWayAgain) {
  Draw draw(5);
  const std::vector<SpokenWord> said = SomeWords(draw, 120, 20), other = SomeWords(draw, 20, 20);
  const GraphOptions quick{2, 3};
  const Scores scores = Spoken(draw, *GraphOf(said), 21, 9);
  const auto starts = [&](std::vector<SpokenWord> words) {
    const auto graph = GraphOf(std::move(words), quick);
    const Found found = Searched(graph, scores, {150, 4000}, 100);
    EXPECT_TRUE(found.complete);
    std::vector<std::int64_t> first(graph->words().size(), -1);
    for (const Segment& segment : found.segments) {
      const auto& unit = graph->units()[segment.unit];
      std::int64_t& start = first[static_cast<std::size_t>(unit.word)];
      if (unit.phone >= 0 && start < 0 && !segment.skipped) start = segment.first;
    }
    return first;
  };
  const std::vector<std::int64_t> right = starts(said);
  for (const bool missing : {true, false}) {
    std::vector<SpokenWord> words = said;
    const auto at = words.begin() + 50;
    if (missing) words.erase(at, at + 20);
    else words.insert(at, other.begin(), other.end());
    const std::vector<std::int64_t> found = starts(words);
    int wrong = 0;
    for (std::size_t i = 0; i < said.size(); ++i) {
      if (missing && i >= 50 && i < 70) continue;
      wrong += found[i < 50 ? i : missing ? i - 20 : i + 20] != right[i];
    }
    EXPECT_LE(wrong, 4) << missing;
  }
}

TEST(Search, KeepsAFewStatesWhereItIsLost) {
  Draw draw(6);
  const auto graph = GraphOf(SomeWords(draw, 400, 12));
  AlignmentSearch few(graph, 13, {150, 500}), many(graph, 13, {150, 4000});
  for (int t = 0; t < 400; ++t) {
    std::vector<float> scores(13);
    for (float& score : scores) score = draw.Normal() / 10;
    few.Accept(scores.data());
    many.Accept(scores.data());
    EXPECT_LE(few.alive(), 500u);
  }
  EXPECT_GT(many.alive(), 1000u);
}

TEST(Search, SegmentsFollowOneAnotherAndScoreTheirSubFrames) {
  Draw draw(1);
  const auto graph = GraphOf(SomeWords(draw, 30, 5), {2, 3, true, 8, 0.5, 1});
  const Scores scores = Spoken(draw, *graph, 6, 3);
  const Found found = Searched(graph, scores, {}, 5);
  ASSERT_TRUE(found.complete);
  std::int64_t at = 0;
  for (const Segment& segment : found.segments) {
    const auto& unit = graph->units()[segment.unit];
    EXPECT_EQ(segment.first, at);
    EXPECT_GE(segment.end - segment.first, segment.skipped ? 1 : unit.states);
    double sum = 0;
    for (; at < segment.end; ++at) sum += Gap(*graph, scores[static_cast<std::size_t>(at)], unit.phone);
    if (!segment.skipped) EXPECT_NEAR(segment.score, sum, 1e-6);
  }
  EXPECT_EQ(at, static_cast<std::int64_t>(scores.size()));
}

TEST(Search, TextBeyondTheSoundIsNone) {
  const auto graph = GraphOf({{"A", {{0}, {1, 1}}}, {"B", {{1, 2}}}}, {2, 3, false});
  EXPECT_EQ(graph->least_frames(), 6);
  const Scores scores(6, {0, 0, 0, 0});
  const Found all = Searched(graph, scores, {});
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.segments.size(), 3u);
  EXPECT_FALSE(Searched(graph, {scores.begin(), scores.end() - 1}, {}).complete);
  AlignmentSearch none(graph, 4);
  EXPECT_FALSE(none.Finish());
  EXPECT_FALSE(none.Finish());  // nor if it is asked again
  EXPECT_TRUE(none.Take().empty());
  const auto skips = GraphOf(graph->words(), {4, 3, true});
  EXPECT_EQ(skips->least_frames(), 4);  // filler, and a sub-frame for each phone
  EXPECT_TRUE(Searched(skips, {scores.begin(), scores.begin() + 4}, {}).complete);
  EXPECT_FALSE(Searched(skips, {scores.begin(), scores.begin() + 3}, {}).complete);
}

TEST(Search, GivesPhonesWhileTheyAreSpoken) {
  Draw draw(2);
  const auto graph = GraphOf(SomeWords(draw, 60, 8));
  const Scores scores = Spoken(draw, *graph, 9, 12);
  AlignmentSearch search(graph, 9);
  std::int64_t given = 0, latest = 0;
  std::vector<Segment> provisional;
  for (const auto& frame : scores) {
    search.Accept(frame.data());
    for (const Segment& segment : search.Take()) given = segment.end;
    latest = std::max(latest, search.frames() - given);
    provisional = search.Provisional();
    ASSERT_FALSE(provisional.empty());
    EXPECT_EQ(provisional.front().first, given);
    EXPECT_EQ(provisional.back().end, search.frames());
  }
  EXPECT_LT(latest, 150);
}

TEST(Search, OfALongTextTakesNoMoreThanItsWindow) {
  Draw draw(3);
  const auto graph = GraphOf(SomeWords(draw, 3000, 12));
  const Scores scores = Spoken(draw, *graph, 13, 6);
  AlignmentSearch search(graph, 13);
  const std::size_t before = search.heap_bytes();
  for (const auto& frame : scores) search.Accept(frame.data());
  EXPECT_LT(search.heap_bytes(), before + 2000000);  // what is final waits to be taken
  EXPECT_TRUE(search.Finish());
  // Nor does sound that says nothing of the text.
  AlignmentSearch lost(graph, 13, {150, 500});
  const std::vector<float> same(13, 0.0f);
  for (int t = 0; t < 5000; ++t) lost.Accept(same.data());
  EXPECT_LT(lost.heap_bytes(), before + 2500000);
}

TEST(Search, AnewIsAsNew) {
  Draw draw(4);
  const auto graph = GraphOf(SomeWords(draw, 10, 5));
  const Scores scores = Spoken(draw, *graph, 6, 3);
  AlignmentSearch search(graph, 6);
  for (std::size_t t = 0; t < scores.size() / 2; ++t) search.Accept(scores[t].data());
  search.Reset();
  for (const auto& frame : scores) search.Accept(frame.data());
  ASSERT_TRUE(search.Finish());
  search.Accept(scores[0].data());  // does nothing
  ExpectSame(search.Take(), Searched(graph, scores, {}).segments);
}

// Between the middles of two sub-frames, where the lines between the phones' scores cross; where they do not, as when
// more sub-frames than a phone has are what it must last, the boundary stays between them.
TEST(Search, PutsABoundaryWhereTheScoresCross) {
  const auto graph = GraphOf({{"AB", {{0, 1}}}}, {1, 1, false});
  const struct {
    float ahead;   // by how much the first phone's score is greater in the last of its sub-frames
    float behind;  // and the second one's in the first of its own
    double place;
  } kCases[] = {{1, 3, 1.75}, {3, 1, 2.25}, {2, 2, 2.0}, {4, 0.001f, 2.5 - 0.001 / 4.001}};
  for (const auto& [ahead, behind, place] : kCases) {
    const Scores scores = {{-90, 0, -9}, {-90, ahead, 0}, {-90, 0, behind}, {-90, -9, 0}};
    const Found found = Searched(graph, scores, kExact);
    ASSERT_EQ(found.segments.size(), 2u);
    EXPECT_EQ(found.segments[0].from, 0.0);
    EXPECT_NEAR(found.segments[0].to, place, 1e-6);
    EXPECT_EQ(found.segments[1].from, found.segments[0].to);
    EXPECT_EQ(found.segments[1].to, 4.0);
  }
}

}  // namespace
}  // namespace tetraphone
