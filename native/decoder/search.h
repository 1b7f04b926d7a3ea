// What the best path and the beam search share.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "../common/heap_bytes.h"
#include "decoder.h"

namespace tetraphone {

// Of a score that is not finite, the nearest that is; of NaN the lowest.
inline double Bounded(float score) {
  constexpr float kMost = std::numeric_limits<float>::max();
  return score >= -kMost ? std::min(score, kMost) : -kMost;
}

inline std::size_t Greatest(const float* scores, std::size_t outputs) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < outputs; ++i) {
    if (Bounded(scores[i]) > Bounded(scores[best])) best = i;
  }
  return best;
}

// Counts frames and keeps final tokens.
class Search {
 public:
  Search(std::size_t phones, const DecoderOptions& options)
      : outputs_(phones + 1), blank_shift_(static_cast<float>(options.blank_shift)) {
    if (blank_shift_ != 0) shifted_.resize(outputs_);
  }
  virtual ~Search() = default;

  void Accept(const float* scores) {
    if (finished_) return;
    if (!shifted_.empty()) {
      std::copy_n(scores, outputs_, shifted_.begin());
      shifted_[0] += blank_shift_;
      scores = shifted_.data();
    }
    Step(scores);
    ++frames_;
  }

  void Finish() {
    for (const Token& token : Provisional()) Give(token);
    finished_ = true;
  }

  void Reset() {
    frames_ = 0;
    last_ = -1;
    finished_ = false;
    final_.clear();
    Clear();
  }

  std::vector<Token> Take() { return std::exchange(final_, {}); }

  std::vector<Token> Provisional() const {
    if (finished_) return {};
    std::vector<Token> tokens = Pending();
    std::int64_t last = last_;
    for (Token& token : tokens) last = (token = Apart(token, last)).last;
    return tokens;
  }

  std::int64_t frames() const { return frames_; }

  // With the object itself.
  virtual std::size_t heap_bytes() const { return sizeof *this + HeapBytes(final_, shifted_); }

  std::int64_t TrailingSilence() const {
    const std::vector<Token> pending = Provisional();
    return std::max<std::int64_t>(0, frames_ - 1 - (pending.empty() ? last_ : pending.back().last));
  }

 protected:
  virtual void Step(const float* scores) = 0;
  virtual std::vector<Token> Pending() const = 0;
  virtual void Clear() = 0;

  void Give(const Token& token) {
    final_.push_back(Apart(token, last_));
    last_ = final_.back().last;
  }

  const std::size_t outputs_;
  std::int64_t frames_ = 0;

 private:
  // Moved behind the frame `last`: the alignment that won may place the phone before a little earlier than the one that
  // made it final.
  static Token Apart(Token token, std::int64_t last) {
    token.first = std::max(token.first, last + 1);
    token.last = std::max(token.last, token.first);
    return token;
  }

  const float blank_shift_;
  std::vector<float> shifted_;  // a frame's scores; empty without a shift
  std::int64_t last_ = -1;  // the last final token's
  bool finished_ = false;
  std::vector<Token> final_;
};

std::unique_ptr<Search> NewBestPath(std::size_t phones, const DecoderOptions& options);
std::unique_ptr<Search> NewBeam(std::size_t phones, const DecoderOptions& options);

}  // namespace tetraphone
