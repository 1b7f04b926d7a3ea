#include "trellis.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "../common/numerics.h"

namespace tetraphone {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
// The most that a sum counts for, so that sound of which nothing fits leaves numbers.
constexpr double kMost = 1e100;

}  // namespace

Trellis::Trellis(const float* scores, std::size_t frames, std::size_t outputs, std::vector<std::size_t> labels,
                 std::vector<std::size_t> spoken)
    : frames_(frames),
      outputs_(outputs),
      labels_(std::move(labels)),
      spoken_(std::move(spoken)),
      posteriors_(frames * outputs),
      scales_(frames),
      forward_(frames * kWidth),
      backward_(frames * kWidth),
      first_(labels_.size(), frames),
      end_(labels_.size(), 0) {
  const double least = Exp(kLeastLog);
  std::vector<double> powers(outputs);
  for (std::size_t t = 0; t < frames; ++t, scores += outputs) {
    const double greatest = *std::max_element(scores, scores + outputs);
    double sum = 0;
    for (std::size_t k = 0; k < outputs; ++k) sum += powers[k] = Exp(scores[k] - greatest);
    for (std::size_t k = 0; k < outputs; ++k) {
      posteriors_[t * outputs + k] = static_cast<float>(std::max(powers[k] / sum, least));
    }
    for (std::size_t i = low(t) / 2; i < high(t) / 2; ++i) {
      first_[i] = std::min(first_[i], t);
      end_[i] = t + 1;
    }
  }
  Forward();
  Backward();
}

std::size_t Trellis::low(std::size_t frame) const {
  return spoken_[frame] < kReach ? 0 : 2 * (spoken_[frame] - kReach);
}

std::size_t Trellis::high(std::size_t frame) const {
  return std::min(2 * (spoken_[frame] + kReach) + 3, states());
}

double Trellis::At(const std::vector<double>& table, std::size_t frame, std::size_t state) const {
  return state >= low(frame) && state < high(frame) ? table[frame * kWidth + state - low(frame)] : 0.0;
}

void Trellis::Forward() {
  for (std::size_t t = 0; t < frames_; ++t) {
    double* sums = forward_.data() + t * kWidth;
    double all = 0;
    for (std::size_t s = low(t); s < high(t); ++s) {
      double ways = t == 0 ? (s < 2 ? 1.0 : 0.0) : At(forward_, t - 1, s);
      if (t > 0 && s > 0) ways += At(forward_, t - 1, s - 1);
      if (t > 0 && skips(s)) ways += At(forward_, t - 1, s - 2);
      all += sums[s - low(t)] = ways * posterior(t, label(s));
    }
    if (!(all > 0)) return;
    scales_[t] = all;
    for (std::size_t s = low(t); s < high(t); ++s) sums[s - low(t)] /= all;
  }
  const double last = At(forward_, frames_ - 1, states() - 1) + At(forward_, frames_ - 1, states() - 2);
  if (last > 0) ending_ = 1 / last;
}

double Trellis::LogLikelihood() const {
  if (!possible()) return -std::numeric_limits<double>::infinity();
  double sum = -Log(ending_);
  for (const double scale : scales_) sum += Log(scale);
  return sum;
}

double Trellis::Onward(std::size_t frame, std::size_t state) const {
  const double behind = At(backward_, frame + 1, state);
  return behind == 0 ? 0.0 : behind * posterior(frame + 1, label(state)) / scales_[frame + 1];
}

void Trellis::Backward() {
  if (!possible()) return;
  for (std::size_t t = frames_; t-- > 0;) {
    double* sums = backward_.data() + t * kWidth;
    for (std::size_t s = low(t); s < high(t); ++s) {
      double& ways = sums[s - low(t)];
      if (t + 1 == frames_) {
        ways = s + 2 >= states() ? ending_ : 0.0;
        continue;
      }
      ways = Onward(t, s);
      if (s + 1 < states()) ways += Onward(t, s + 1);
      if (s + 2 < states() && skips(s + 2)) ways += Onward(t, s + 2);
    }
  }
}

double Trellis::Occupancy(std::size_t phone, std::size_t frame) const {
  return At(forward_, frame, 2 * phone + 1) * At(backward_, frame, 2 * phone + 1);
}

// Sums the ways that are in one more state, of whatever label, in some frames of [first, end): enter(t, label) is the
// share of ways that come into it at frame t, leave(t, label) of those that go on from it behind that frame.
template <typename Enter, typename Leave>
void Trellis::Sum(std::size_t first, std::size_t end, Enter enter, Leave leave, double* ratios) const {
  std::vector<double> within(outputs_);
  std::fill(ratios, ratios + outputs_, 0.0);
  for (std::size_t t = first; t < end; ++t) {
    const Ways in = enter(t), out = leave(t);
    const float* posteriors = posteriors_.data() + t * outputs_;
    for (std::size_t k = 1; k < outputs_; ++k) {
      within[k] = std::min((within[k] + in.Of(k)) * posteriors[k] / scales_[t], kMost);
      ratios[k] += within[k] * out.Of(k);
    }
  }
}

void Trellis::Replaced(std::size_t phone, double* ratios) const {
  if (!possible()) return std::fill(ratios, ratios + outputs_, 0.0);
  const std::size_t state = 2 * phone + 1, last = labels_.size() - 1;
  const std::size_t before = phone == 0 ? kNone : label(state - 2), behind = phone == last ? kNone : label(state + 2);
  const auto enter = [&](std::size_t t) -> Ways {
    if (t == 0) return {phone == 0 ? 1.0 : 0.0, 0.0, before};
    return {At(forward_, t - 1, state - 1), phone == 0 ? 0.0 : At(forward_, t - 1, state - 2), before};
  };
  const auto leave = [&](std::size_t t) -> Ways {
    if (t + 1 == frames_) return {phone == last ? ending_ : 0.0, 0.0, behind};
    return {Onward(t, state + 1), phone == last ? 0.0 : Onward(t, state + 2), behind};
  };
  Sum(first(phone), end(phone), enter, leave, ratios);
  // Left out, the blanks on both sides are one.
  if (phone == 0) {
    const auto start = [&](std::size_t s) { return At(backward_, 0, s) * posterior(0, label(s)) / scales_[0]; };
    ratios[0] = start(2) + (last > 0 ? start(3) : 0.0);
    return;
  }
  for (std::size_t t = first(phone - 1); t < end(phone - 1); ++t) {
    ratios[0] += At(forward_, t, state - 2) * leave(t).Of(before);
  }
}

void Trellis::Added(std::size_t phone, double* ratios) const {
  if (!possible()) return std::fill(ratios, ratios + outputs_, 0.0);
  const std::size_t blank = 2 * phone, count = labels_.size();
  const std::size_t before = phone == 0 ? kNone : label(blank - 1), behind = phone == count ? kNone : label(blank + 1);
  const auto enter = [&](std::size_t t) -> Ways {
    if (t == 0) return {phone == 0 ? 1.0 : 0.0, 0.0, before};
    return {At(forward_, t - 1, blank), phone == 0 ? 0.0 : At(forward_, t - 1, blank - 1), before};
  };
  const auto leave = [&](std::size_t t) -> Ways {
    if (t + 1 == frames_) return {phone == count ? ending_ : 0.0, 0.0, behind};
    return {Onward(t, blank), phone == count ? 0.0 : Onward(t, blank + 1), behind};
  };
  const std::size_t from = first(phone == 0 ? 0 : phone - 1), to = end(phone == count ? count - 1 : phone);
  Sum(from, to, enter, leave, ratios);
}

}  // namespace tetraphone
