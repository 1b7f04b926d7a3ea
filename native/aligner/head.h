// The program that says which phone is spoken when (model.h: kAlign), run on a network's hidden rows as they come.

#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "../common/heap_bytes.h"
#include "../model/model.h"

namespace tetraphone {

class AlignmentHead {
 public:
  // Fails on a model that lacks the program.
  static Result<AlignmentHead> Make(const std::shared_ptr<const Model>& model);

  // Takes the network's inputs and hidden rows of some frames; calls take(scores) for each sub-frame that is known
  // then, [phones + 1], silence first.
  template <typename Take>
  Failure Accept(const float* x, const float* hidden, std::size_t frames, Take take);
  // No more rows follow: zeros stand for those behind the end.
  template <typename Take>
  Failure Finish(Take take);
  void Reset();
  std::size_t heap_bytes() const { return network_->heap_bytes() + HeapBytes(rows_, features_, inputs_, scores_); }

 private:
  AlignmentHead(const Model& model, std::unique_ptr<Network> network);
  template <typename Take>
  Failure Run(Take take);

  std::size_t inputs_of_network_;  // reals of a network frame
  std::size_t shown_;              // of them that the head sees
  std::size_t hidden_;             // reals of a row
  std::size_t window_;             // rows that tell of a frame
  std::size_t delay_;              // of them behind it
  std::unique_ptr<Network> network_;
  std::vector<float> rows_;  // from the first that is still needed on
  std::size_t skip_ = 0;     // rows to come that none needs, where a window begins behind its frame
  std::vector<float> features_;  // [frames, shown], from the first frame that is not known on
  std::vector<float> inputs_;
  std::vector<float> scores_;
};

template <typename Take>
Failure AlignmentHead::Accept(const float* x, const float* hidden, std::size_t frames, Take take) {
  for (std::size_t i = 0; i < frames; ++i, x += inputs_of_network_) features_.insert(features_.end(), x, x + shown_);
  const std::size_t skipped = skip_ < frames ? skip_ : frames;
  skip_ -= skipped;
  rows_.insert(rows_.end(), hidden + skipped * hidden_, hidden + frames * hidden_);
  return Run(take);
}

template <typename Take>
Failure AlignmentHead::Finish(Take take) {
  rows_.resize(rows_.size() + (delay_ - (skip_ < delay_ ? skip_ : delay_)) * hidden_);
  return Run(take);
}

// Of the frames that are known by now.
template <typename Take>
Failure AlignmentHead::Run(Take take) {
  const Program& program = network_->program();
  const std::size_t rows = rows_.size() / hidden_, ready = rows < window_ ? 0 : rows + 1 - window_;
  for (std::size_t first = 0; first < ready; first += program.most_frames) {
    const std::size_t count = ready - first < program.most_frames ? ready - first : program.most_frames;
    inputs_.clear();
    for (std::size_t i = first; i < first + count; ++i) {
      const float* row = rows_.data() + i * hidden_;
      inputs_.insert(inputs_.end(), row, row + window_ * hidden_);
      const float* shown = features_.data() + i * shown_;
      inputs_.insert(inputs_.end(), shown, shown + shown_);
    }
    scores_.resize(count * program.outputs);
    if (Failure failure = network_->Run(inputs_.data(), count, scores_.data())) return failure;
    for (std::size_t i = 0; i < count * kSubFrames; ++i) take(scores_.data() + i * program.outputs / kSubFrames);
  }
  rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(ready * hidden_));
  features_.erase(features_.begin(), features_.begin() + static_cast<std::ptrdiff_t>(ready * shown_));
  return std::nullopt;
}

}  // namespace tetraphone
