// Whether there is speech in a sound: whether what is heard there changes. Noise may be taken for a fricative, and hum
// for a vowel, but for the same ones all along.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../common/heap_bytes.h"
#include "../common/numerics.h"

namespace tetraphone {

class SpeechMeter {
 public:
  explicit SpeechMeter(std::size_t outputs) : sums_(outputs), shares_(outputs) {}

  // A sub-frame's logarithmic likelihoods, [outputs], less the greatest of them: silence, then the phones.
  void Accept(const double* gaps) {
    if (gaps[0] == 0) return;  // silence is the likeliest
    double sum = 0, weighted = 0;
    for (std::size_t i = 1; i < sums_.size(); ++i) {
      shares_[i] = gaps[i] < kUnlikely ? 0.0 : Exp(gaps[i]);
      sum += shares_[i];
      weighted += shares_[i] * gaps[i];
    }
    for (std::size_t i = 1; i < sums_.size(); ++i) sums_[i] += shares_[i] / sum;
    entropy_ += Log(sum) - weighted / sum;
    ++frames_;
  }
  void Reset() { *this = SpeechMeter(sums_.size()); }

  // Sub-frames at which a phone is likelier than silence.
  std::int64_t frames() const { return frames_; }
  // What they say of which phone is said when, in nats a sub-frame: the mutual information of phones and time.
  double information() const {
    if (frames_ == 0) return 0;
    const auto frames = static_cast<double>(frames_);
    double entropy = 0;
    for (const double sum : sums_) entropy -= sum > 0 ? sum / frames * Log(sum / frames) : 0.0;
    return entropy - entropy_ / frames;
  }
  std::size_t heap_bytes() const { return HeapBytes(sums_, shares_); }

 private:
  static constexpr double kUnlikely = -6;  // of phones that are less likely, beside the likeliest, nothing is counted

  std::vector<double> sums_;    // of the phones' posteriors
  std::vector<double> shares_;  // of a sub-frame
  double entropy_ = 0;          // of the posteriors, summed over sub-frames
  std::int64_t frames_ = 0;
};

}  // namespace tetraphone
