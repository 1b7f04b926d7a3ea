// How well each phone and word of a known text was said: by the head that a file has for it, or, where it has none, by
// the plain probability that its sounds were said.

#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "../model/model.h"
#include "measures.h"

namespace tetraphone {

// All from 0 to 100.
struct WordScore {
  double accuracy;
  double stress;  // whether it falls where it should; without a head, not a number
  double total;
};
struct SentenceScore {
  double accuracy;
  double fluency;       // rate, pauses, hesitations; without a head, not a number
  double completeness;  // the share of words that were said
  double total;
};

struct Scores {
  std::vector<double> phones;
  std::vector<WordScore> words;
  SentenceScore sentence;
};

struct Pronunciation {
  Scores scores;
  std::vector<Heard> heard;  // see Measures
  bool trained;              // by a head; else the scores are plain
};

class Scorer {
 public:
  // `plain`: without a head, whatever the file has.
  Scorer(std::shared_ptr<const Model> model, bool plain)
      : model_(plain || !model->info().scores ? nullptr : std::move(model)) {}

  // Of measured phones and the word that each belongs to, counted from 0, none left out.
  Result<Pronunciation> Score(const Measures& measures, const std::vector<std::size_t>& words) const;

 private:
  using Row = std::array<double, kScores>;

  Result<std::vector<Row>> Rows(const Measures& measures) const;
  Result<std::vector<float>> Read(const char* program, std::vector<float> inputs, bool backward) const;

  bool trained() const { return model_ != nullptr; }

  std::shared_ptr<const Model> model_;  // none: plain scores
};

}  // namespace tetraphone
