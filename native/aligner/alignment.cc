#include "alignment.h"

#include <algorithm>

#include "../common/words.h"
#include "../lexicon/text.h"
#include "course.h"

namespace tetraphone {
namespace {

// Mean scores of sub-frames below which a whole text, or a word, is not what was said; that of the words around a word
// must be low, too, since a short one by itself says little. By english-int8, on texts of 100 recordings each: one text
// in a hundred came to less than -0.7 (LibriSpeech), -1.0 (Common Voice), -1.25 (learners). Of other texts that were as
// long, 19 in 20 came to less than -1.8, -1.4 and -1.2.
constexpr double kLeastFit = -1.1;
constexpr double kLeastFitAround = -1.6;
constexpr std::size_t kAround = 2;  // words on each side
// Seconds of what is said that the text lacks, at least, for the result to say so.
constexpr double kLeastUnknown = 0.5;
// Words or stretches that a sentence names.
constexpr std::size_t kNamed = 5;

std::string Named(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kNamed; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kNamed ? text + " and " + std::to_string(names.size() - kNamed) + " more" : text;
}

// "1.20 to 2.30 s".
std::string Between(const Span& span) { return Text(span.start, "%.2f") + " to " + Text(span.end, "%.2f") + " s"; }

// "'THE' to 'END' (1.20 to 2.30 s)": words that do not fit, in a row.
std::vector<std::string> Strange(const std::vector<AlignedWord>& words) {
  std::vector<std::string> stretches;
  for (std::size_t first = 0; first < words.size(); ++first) {
    std::size_t last = first;
    if (words[first].fits) continue;
    while (last + 1 < words.size() && !words[last + 1].fits) ++last;
    const std::string to = last == first ? "" : " to " + Shown(words[last].text);
    const Span span{words[first].start, words[last].end};
    stretches.push_back(Shown(words[first].text) + to + " (" + Between(span) + ")");
    first = last;
  }
  return stretches;
}

// Says whether each word fits.
void Judge(const std::vector<std::int64_t>& lengths, std::vector<AlignedWord>* words) {
  for (std::size_t i = 0; i < words->size(); ++i) {
    double score = 0;
    std::int64_t length = 0;
    for (std::size_t k = i < kAround ? 0 : i - kAround; k <= i + kAround && k < words->size(); ++k) {
      score += (*words)[k].fit * static_cast<double>(lengths[k]);
      length += lengths[k];
    }
    AlignedWord& word = (*words)[i];
    word.fits = word.fits && (word.fit >= kLeastFit || score >= kLeastFitAround * static_cast<double>(length));
  }
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

Alignment AlignmentOf(const Course& course, const Timeline& timeline, std::int64_t frames, const AlignmentGraph& graph,
                      const ModelInfo& info) {
  const std::vector<Segment>& segments = course.segments;
  const std::vector<Span>& spans = timeline.spans();
  Alignment alignment;
  alignment.fit = course.score / static_cast<double>(frames);
  std::vector<std::string> guessed;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < segments.size();) {
    const std::int32_t index = graph.units()[segments[i].unit].word;
    const SpokenWord& spoken = graph.words()[static_cast<std::size_t>(index)];
    AlignedWord word{spoken.text, spoken.guessed, i, 0, spans[i].start, 0, 0, !segments[i].skipped};
    std::int64_t length = 0;
    for (; i < segments.size() && graph.units()[segments[i].unit].word == index; ++i) {
      alignment.phones.push_back(Placed(segments[i], spans[i], graph, info));
      word.fit += segments[i].score;
      word.end = spans[i].end;
      length += segments[i].end - segments[i].first;
      ++word.phones;
    }
    word.fit /= static_cast<double>(length);
    alignment.words.push_back(word);
    lengths.push_back(length);
    if (word.guessed) guessed.push_back(Shown(word.text));
  }
  Judge(lengths, &alignment.words);
  const auto fitting = std::count_if(alignment.words.begin(), alignment.words.end(),
                                     [](const AlignedWord& word) { return word.fits; });
  alignment.fits = alignment.fit >= kLeastFit && 2 * static_cast<std::size_t>(fitting) >= alignment.words.size();
  std::sort(guessed.begin(), guessed.end());
  guessed.erase(std::unique(guessed.begin(), guessed.end()), guessed.end());
  if (!guessed.empty()) {
    alignment.problems.push_back("the dictionary lacks " + Named(guessed) +
                                 ", whose sound was guessed by the spelling; give a dictionary that has it");
  }
  if (!alignment.fits) {
    alignment.problems.push_back("the text does not fit the sound; check that it is what is said there");
    return alignment;
  }
  if (const std::vector<std::string> strange = Strange(alignment.words); !strange.empty()) {
    alignment.problems.push_back("the sound does not fit " + Named(strange) +
                                 "; check that the text is what is said there");
  }
  std::vector<std::string> unknown;
  for (const Span& span : course.unknown) {
    if (span.end - span.start >= kLeastUnknown) unknown.push_back(Between(span));
  }
  if (!unknown.empty()) {
    alignment.problems.push_back("the text lacks what is said from " + Named(unknown) + "; check that it is complete");
  }
  return alignment;
}

}  // namespace tetraphone
