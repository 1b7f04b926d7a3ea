#include "resampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "../common/heap_bytes.h"
#include "../common/lanes.h"
#include "../common/limits.h"
#include "../common/numerics.h"

namespace tetraphone {
namespace {

constexpr double kCutoff = 0.95;           // of the lower half rate: the middle of the slope from 0.9 to 1
constexpr std::int64_t kHalf = 56;         // taps on either side at the lower rate: 88 dB over that slope
constexpr double kBeta = 8.74;             // Kaiser's for 88 dB
constexpr std::int64_t kRows = 640;        // for a tap's length at the lower rate; between them, 110 dB
constexpr std::size_t kSums = 2 * kLanes;  // partial sums of a product, added up in this order everywhere

// The modified Bessel function of order 0, by its series: enough terms for |x| <= kBeta.
double BesselI0(double x) {
  double sum = 1.0;
  for (int k = 24; k >= 1; --k) sum = 1.0 + sum * (x * x / 4) * (1.0 / (k * k));
  return sum;
}

float Product(const float* x, const float* y, std::size_t count) {
  Lanes low{}, high{};
  for (std::size_t i = 0; i < count; i += kSums) {
    low += Load<Lanes>(x + i) * Load<Lanes>(y + i);
    high += Load<Lanes>(x + i + kLanes) * Load<Lanes>(y + i + kLanes);
  }
  const Lanes sums = low + high;
  return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

}  // namespace

// Row r holds the filter for outputs r / rows of an input's length behind input number half - 1 of those it multiplies.
Resampler::Filter::Filter(std::int64_t from, std::int64_t to)
    : step(from / std::gcd(from, to)), phases(to / std::gcd(from, to)),
      rows(std::min(phases, (kRows * std::min(from, to) + from - 1) / from)) {
  constexpr std::int64_t kMultiple = kSums / 2;
  half = static_cast<std::size_t>((kHalf * std::max(from, to) / to + kMultiple - 1) / kMultiple * kMultiple);
  const double cutoff = kCutoff * static_cast<double>(std::min(from, to)) / static_cast<double>(from);
  std::vector<double> row(2 * half);
  for (std::int64_t r = 0; r <= rows; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double time = static_cast<double>(i) - static_cast<double>(half - 1) - static_cast<double>(r) / rows;
      const double place = time / static_cast<double>(half);
      const double window = BesselI0(kBeta * std::sqrt(std::max(0.0, 1.0 - place * place)));
      row[i] = window * (time == 0 ? cutoff : Sin(kPi * cutoff * time) / (kPi * time));
      sum += row[i];
    }
    for (const double tap : row) taps.push_back(static_cast<float>(tap / sum));
  }
}

// The output at `phase` behind sample number half - 1 of 2 * half.
float Resampler::Filter::At(const float* samples, std::int64_t phase) const {
  const float* row = taps.data() + static_cast<std::size_t>(phase * rows / phases) * 2 * half;
  const float before = Product(samples, row, 2 * half);
  const std::int64_t rest = phase * rows % phases;
  if (rest == 0) return before;
  const float after = Product(samples, row + 2 * half, 2 * half);
  return before + (after - before) * (static_cast<float>(rest) / static_cast<float>(phases));
}

Result<Resampler> Resampler::Make(int from, int to) {
  for (const int rate : {from, to}) {
    if (rate < kLeastRate || rate > kMostRate) {
      return Error{ErrorCode::kInvalidArgument, "the sample rate is " + std::to_string(rate) + " Hz; give " +
                                                    std::to_string(kLeastRate) + " to " + std::to_string(kMostRate)};
    }
  }
  return Resampler(from == to ? nullptr : std::make_shared<const Filter>(from, to));
}

Resampler::Resampler(std::shared_ptr<const Filter> filter) : filter_(std::move(filter)) { Reset(); }

std::size_t Resampler::heap_bytes() const {
  return HeapBytes(pending_, output_) + (filter_ ? sizeof *filter_ + HeapBytes(filter_->taps) : 0);
}

void Resampler::Reset() {
  pending_.assign(filter_ ? filter_->half - 1 : 0, 0.0f);
  first_ = 0;
  phase_ = 0;
  taken_ = given_ = 0;
}

const std::vector<float>& Resampler::Process(const float* samples, std::size_t count) {
  output_.clear();
  if (!filter_) {
    output_.insert(output_.end(), samples, samples + count);
    return output_;
  }
  pending_.insert(pending_.end(), samples, samples + count);
  taken_ += count;
  Produce(UINT64_MAX);
  return output_;
}

const std::vector<float>& Resampler::Finish() {
  output_.clear();
  if (!filter_) return output_;
  const auto step = static_cast<std::uint64_t>(filter_->step), phases = static_cast<std::uint64_t>(filter_->phases);
  pending_.insert(pending_.end(), 2 * filter_->half, 0.0f);
  Produce((taken_ * phases + step / 2) / step);
  return output_;
}

// Appends outputs whose inputs are pending, up to output number `most`.
void Resampler::Produce(std::uint64_t most) {
  for (; given_ < most && first_ + 2 * filter_->half <= pending_.size(); ++given_) {
    output_.push_back(filter_->At(pending_.data() + first_, phase_));
    phase_ += filter_->step;
    first_ += static_cast<std::size_t>(phase_ / filter_->phases);
    phase_ %= filter_->phases;
  }
  const std::size_t used = std::min(first_, pending_.size());
  if (used < 2 * filter_->half) return;  // moved down once in a while
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(used));
  first_ -= used;
}

}  // namespace tetraphone
