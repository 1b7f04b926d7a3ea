#include "scorer.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tetraphone {
namespace {

// Of a score from 0 to 2.
double Hundred(double score) { return std::clamp(50 * score, 0.0, 100.0); }

// Turns rows of so many reals round.
void Reverse(std::vector<float>* rows, std::size_t width) {
  std::reverse(rows->begin(), rows->end());
  for (auto row = rows->begin(); row != rows->end(); row += static_cast<std::ptrdiff_t>(width)) {
    std::reverse(row, row + static_cast<std::ptrdiff_t>(width));
  }
}

// The share of words of which half of the phones or more were said.
double Completeness(const std::vector<Heard>& heard, const std::vector<std::size_t>& words) {
  std::size_t said = 0;
  for (std::size_t first = 0, end = 0; first < words.size(); first = end) {
    std::size_t phones = 0;
    for (end = first; end < words.size() && words[end] == words[first]; ++end) phones += heard[end].label != 0;
    said += 2 * phones >= end - first;
  }
  return 100.0 * static_cast<double>(said) / static_cast<double>(words.back() + 1);
}

}  // namespace

// What a program gives for each row of inputs, from a state of zeros.
Result<std::vector<float>> Scorer::Read(const char* program, std::vector<float> inputs, bool backward) const {
  auto network = Network::Make(model_, program);
  if (!network) return network.error();
  const Program& shape = (*network)->program();
  if (backward) Reverse(&inputs, shape.inputs);
  const std::size_t rows = inputs.size() / shape.inputs;
  std::vector<float> outputs(rows * shape.outputs);
  for (std::size_t at = 0; at < rows; at += shape.most_frames) {
    const std::size_t count = std::min(shape.most_frames, rows - at);
    const float* from = inputs.data() + at * shape.inputs;
    if (Failure failure = (*network)->Run(from, count, outputs.data() + at * shape.outputs)) return *failure;
  }
  if (backward) Reverse(&outputs, shape.outputs);
  return outputs;
}

Result<std::vector<Scorer::Row>> Scorer::Rows(const Measures& measures) const {
  const std::size_t phones = measures.rows.size() / measures.count;
  std::vector<Row> rows(phones);
  if (!trained()) {
    for (std::size_t i = 0; i < phones; ++i) rows[i].fill(2 * measures.heard[i].own);
    return rows;
  }
  const std::vector<float>&mean = model_->info().score_mean, &deviation = model_->info().score_deviation;
  std::vector<float> inputs(phones * mean.size());
  for (std::size_t i = 0; i < phones; ++i) {
    for (std::size_t k = 0; k < measures.count; ++k) {
      inputs[i * mean.size() + k] = (measures.rows[i * measures.count + k] - mean[k]) / deviation[k];
    }
  }
  const auto ahead = Read(kScoreForward, inputs, false), back = Read(kScoreBackward, inputs, true);
  if (!ahead) return ahead.error();
  if (!back) return back.error();
  std::vector<float> both;
  for (std::size_t i = 0; i < phones; ++i) {
    for (const std::vector<float>* part : {&*ahead, &*back}) {
      const auto row = part->begin() + static_cast<std::ptrdiff_t>(i * (part->size() / phones));
      both.insert(both.end(), row, row + static_cast<std::ptrdiff_t>(part->size() / phones));
    }
  }
  const auto scores = Read(kScore, std::move(both), false);
  if (!scores) return scores.error();
  for (std::size_t i = 0; i < phones; ++i) std::copy_n(scores->data() + i * kScores, kScores, rows[i].begin());
  return rows;
}

Result<Pronunciation> Scorer::Score(const Measures& measures, const std::vector<std::size_t>& words) const {
  const auto rows = Rows(measures);
  if (!rows) return rows.error();
  Scores scores;
  const auto mean = [&](std::size_t first, std::size_t end, std::size_t output, bool ratio = true) {
    if (!trained() && !ratio) return std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    for (std::size_t i = first; i < end; ++i) sum += (*rows)[i][output];
    return Hundred(sum / static_cast<double>(end - first));
  };
  for (std::size_t first = 0, end = 0; first < words.size(); first = end) {
    for (end = first; end < words.size() && words[end] == words[first]; ++end) {
      scores.phones.push_back(Hundred((*rows)[end][0]));
    }
    scores.words.push_back({mean(first, end, 1), mean(first, end, 2, false), mean(first, end, 3)});
  }
  const std::size_t all = rows->size();
  scores.sentence = {mean(0, all, 4), mean(0, all, 5, false), Completeness(measures.heard, words), mean(0, all, 6)};
  return Pronunciation{std::move(scores), measures.heard, trained()};
}

}  // namespace tetraphone
