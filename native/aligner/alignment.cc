#include "alignment.h"

#include "../common/words.h"
#include "../lexicon/text.h"
#include "search.h"
#include "timeline.h"

namespace tetraphone {
namespace {

// Mean log-likelihoods less the likeliest ones', below which a text, and a word of one that fits, is not what was said.
constexpr double kLeastFit = -4.0;
constexpr double kLeastWordFit = -8.0;
// Words that a sentence names.
constexpr std::size_t kNamed = 5;

std::string Named(const std::vector<const AlignedWord*>& words, bool times) {
  std::string names;
  for (std::size_t i = 0; i < words.size() && i < kNamed; ++i) {
    names += (i == 0 ? "" : ", ") + Shown(words[i]->text);
    if (times) names += " (" + Text(words[i]->start, "%.2f") + " s)";
  }
  return words.size() > kNamed ? names + " and " + std::to_string(words.size() - kNamed) + " more" : names;
}

}  // namespace

AlignedPhone Placed(const Segment& segment, const Span& span, const AlignmentGraph& graph, const ModelInfo& info) {
  const AlignmentGraph::Unit& unit = graph.units()[segment.unit];
  return {unit.phone,
          info.phones[static_cast<std::size_t>(unit.phone)],
          static_cast<std::size_t>(unit.word),
          span.start,
          span.end,
          segment.score / static_cast<double>(segment.end - segment.first)};
}

Alignment AlignmentOf(const std::vector<Segment>& segments, const std::vector<Span>& spans, double score,
                      std::int64_t frames, const AlignmentGraph& graph, const ModelInfo& info) {
  Alignment alignment;
  alignment.fit = score / static_cast<double>(frames);
  alignment.fits = alignment.fit >= kLeastFit;
  std::vector<const AlignedWord*> guessed, strange;
  alignment.words.reserve(graph.words().size());
  for (std::size_t i = 0; i < segments.size();) {
    const std::int32_t index = graph.units()[segments[i].unit].word;
    const SpokenWord& spoken = graph.words()[static_cast<std::size_t>(index)];
    AlignedWord word{spoken.text, spoken.guessed, i, 0, spans[i].start, 0, 0, true};
    std::int64_t length = 0;
    for (; i < segments.size() && graph.units()[segments[i].unit].word == index; ++i) {
      alignment.phones.push_back(Placed(segments[i], spans[i], graph, info));
      word.fit += segments[i].score;
      word.end = spans[i].end;
      length += segments[i].end - segments[i].first;
      ++word.phones;
    }
    word.fit /= static_cast<double>(length);
    word.fits = word.fit >= kLeastWordFit;
    alignment.words.push_back(word);
    if (word.guessed) guessed.push_back(&alignment.words.back());
    if (!word.fits) strange.push_back(&alignment.words.back());
  }
  if (!guessed.empty()) {
    alignment.problems.push_back("the dictionary lacks " + Named(guessed, false) +
                                 ", whose sound was guessed by the spelling; give a dictionary that has it");
  }
  if (!alignment.fits) {
    alignment.problems.push_back("the text does not fit the sound; check that it is what is said there");
  } else if (!strange.empty()) {
    alignment.problems.push_back("the sound does not fit " + Named(strange, true) +
                                 "; check that the text is what is said there");
  }
  return alignment;
}

}  // namespace tetraphone
