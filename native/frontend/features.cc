#include "features.h"

#include <algorithm>
#include <cfloat>
#include <string>
#include <string_view>
#include <utility>

#include "../common/heap_bytes.h"
#include "../common/limits.h"
#include "../common/numerics.h"
#include "../common/words.h"
#include "spectrum.h"

namespace tetraphone {
namespace {

constexpr std::size_t kReach = kLookAhead;
constexpr std::size_t kSpan = 2 * kReach + 1;
constexpr std::size_t kComponents = 4;  // a band and its three derivatives

// Samples in so many milliseconds, as Kaldi rounds them.
std::size_t Samples(const FeatureOptions& options, double milliseconds) {
  return static_cast<std::size_t>(static_cast<float>(options.sample_rate) * 0.001f * static_cast<float>(milliseconds));
}

Error Refusal(const std::string& name, double value, const std::string& mend) {
  return Error{ErrorCode::kInvalidArgument, name + " is " + Text(value) + "; " + mend};
}

Failure CheckRange(const char* name, double value, double least, double most) {
  if (value >= least && value <= most) return std::nullopt;  // not a number is out of range too
  return Refusal(name, value, "give " + Text(least) + " to " + Text(most));
}

Failure CheckSizes(const FeatureOptions& o) {
  Failure refused;
  FeatureOptions::ForEach(o, [&](const char* name, double value, double least, double most) {
    if (refused || !(refused = CheckRange(name, value, least, most))) return;
    if (std::string_view(name) == "stride") refused->message += ", the stack: no frame between inputs is lost";
  });
  if (refused) return refused;
  const std::string at = "at " + Text(o.sample_rate) + " Hz ";
  if (o.sample_rate * o.hop_ms < 2000) return Refusal("hop_ms", o.hop_ms, at + "give two samples or more");
  if (Samples(o, o.window_ms) < 5) return Refusal("window_ms", o.window_ms, at + "give five samples or more");
  return std::nullopt;
}

Failure CheckStatistics(const char* name, const std::vector<float>& values, int bands, double least, double most) {
  if (values.size() != kComponents * static_cast<std::size_t>(bands)) {
    return Refusal(std::string("the count of ") + name, static_cast<double>(values.size()),
                   "give 4 for each of " + Text(bands) + " bands");
  }
  for (const float value : values) {
    if (Failure failure = CheckRange(name, value, least, most)) return failure;
  }
  return std::nullopt;
}

// Povey's.
std::vector<float> Window(std::size_t size) {
  std::vector<float> window(size);
  for (std::size_t i = 0; i < size; ++i) {
    const double hann = 0.5 - 0.5 * Cos(2 * kPi / static_cast<double>(size - 1) * static_cast<double>(i));
    window[i] = hann > 0 ? static_cast<float>(Exp(0.85 * Log(hann))) : 0.0f;
  }
  return window;
}

// A triangle of the filter bank.
struct Band {
  std::size_t first;  // bin
  std::vector<float> weights;

  std::size_t heap_bytes() const { return HeapBytes(weights); }
};

float Mel(float hertz) { return 1127.0f * static_cast<float>(Log(1.0f + hertz / 700.0f)); }

// `bins` from 0 Hz to half the sample rate. A band that falls between two bins has no weights.
std::vector<Band> FilterBank(const FeatureOptions& options, std::size_t bins) {
  const float rate = static_cast<float>(options.sample_rate);
  const float low = Mel(20.0f);
  const float step = (Mel(0.5f * rate) - low) / static_cast<float>(options.bands + 1);
  std::vector<float> mels(bins);
  for (std::size_t i = 0; i < bins; ++i) mels[i] = Mel(rate / static_cast<float>(2 * bins) * static_cast<float>(i));
  std::vector<Band> bank;
  for (int b = 0; b < options.bands; ++b) {
    const float left = low + static_cast<float>(b) * step;
    const float centre = low + static_cast<float>(b + 1) * step;
    const float right = low + static_cast<float>(b + 2) * step;
    const auto first = std::upper_bound(mels.begin(), mels.end(), left);
    const auto last = std::lower_bound(first, mels.end(), right);
    bank.push_back({static_cast<std::size_t>(first - mels.begin()), {}});
    for (auto mel = first; mel != last; ++mel) {
      const float rise = (*mel - left) / (centre - left), fall = (right - *mel) / (right - centre);
      bank.back().weights.push_back(*mel <= centre ? rise : fall);
    }
  }
  return bank;
}

Failure CheckBank(const FeatureOptions& o, const std::vector<Band>& bank) {
  const auto empty = [](const Band& band) { return band.weights.empty(); };
  if (std::none_of(bank.begin(), bank.end(), empty)) return std::nullopt;
  return Refusal("bands", o.bands, "a window of " + Text(o.window_ms) + " ms resolves fewer");
}

// Kaldi's add-deltas, each order as one filter of kSpan taps: a regression over five frames, applied `order` times.
std::vector<std::vector<float>> DeltaFilters() {
  std::vector<std::vector<float>> filters;
  std::vector<double> taps(kSpan);
  taps[kReach] = 1;
  for (std::size_t order = 1; order < kComponents; ++order) {
    std::vector<double> next(kSpan);
    for (std::size_t j = 2; j + 2 < kSpan; ++j) {
      for (std::size_t k = 0; k < 5; ++k) next[j + k - 2] += taps[j] * (static_cast<double>(k) - 2) / 10;
    }
    taps = next;
    filters.emplace_back(taps.begin(), taps.end());
  }
  return filters;
}

}  // namespace

class FrontEndTables {
 public:
  FrontEndTables(const FeatureOptions& o, std::vector<float> means, std::vector<float> deviations)
      : bands(static_cast<std::size_t>(o.bands)), stack(static_cast<std::size_t>(o.stack)),
        stride(static_cast<std::size_t>(o.stride)), hop(Samples(o, o.hop_ms)), window(Window(Samples(o, o.window_ms))),
        spectrum(window.size()), bank(FilterBank(o, spectrum.size() / 2)), deltas(DeltaFilters()),
        mean(std::move(means)), deviation(std::move(deviations)) {}

  const std::size_t bands, stack, stride, hop;
  const std::vector<float> window;
  const PowerSpectrum spectrum;
  const std::vector<Band> bank;
  const std::vector<std::vector<float>> deltas;
  const std::vector<float> mean, deviation;
};

Failure CheckFeatures(const FeatureOptions& options) {
  if (Failure failure = CheckSizes(options)) return failure;
  return CheckBank(options, FilterBank(options, PowerSpectrum::SizeFor(Samples(options, options.window_ms)) / 2));
}

Result<std::shared_ptr<const FrontEndTables>> FrontEnd::MakeTables(const FeatureOptions& options,
                                                                   std::vector<float> mean,
                                                                   std::vector<float> deviation) {
  if (Failure failure = CheckSizes(options)) return *failure;
  if (Failure failure = CheckStatistics("mean", mean, options.bands, -1e6, 1e6)) return *failure;
  if (Failure failure = CheckStatistics("deviation", deviation, options.bands, 1e-6, 1e6)) return *failure;
  auto tables = std::make_shared<const FrontEndTables>(options, std::move(mean), std::move(deviation));
  if (Failure failure = CheckBank(options, tables->bank)) return *failure;
  return tables;
}

FrontEnd::FrontEnd(std::shared_ptr<const FrontEndTables> tables)
    : tables_(std::move(tables)), window_(tables_->window.size()), scratch_(3 * tables_->spectrum.size()),
      row_(tables_->bands), rows_(kSpan * tables_->bands), frames_(tables_->stack * kComponents * tables_->bands) {}

std::size_t FrontEnd::heap_bytes() const {
  return HeapBytes(window_, scratch_, row_, rows_, frames_, inputs_ready_, bands_ready_);
}

std::size_t FrontEnd::TablesHeapBytes(const FrontEndTables& tables) {
  return sizeof tables + HeapBytes(tables.window, tables.mean, tables.deviation) + tables.spectrum.heap_bytes() +
         NestedHeapBytes(tables.bank) + NestedHeapBytes(tables.deltas);
}

void FrontEnd::Accept(const float* samples, std::size_t count) {
  const std::size_t hop = tables_->hop;
  while (count > 0) {
    const std::size_t skipped = std::min(skip_, count);
    const std::size_t taken = std::min(window_.size() - filled_, count - skipped);
    std::copy_n(samples + skipped, taken, window_.data() + filled_);
    skip_ -= skipped;
    filled_ += taken;
    samples += skipped + taken;
    count -= skipped + taken;
    if (filled_ < window_.size()) continue;
    ComputeRow();
    if (keep_bands_) bands_ready_.insert(bands_ready_.end(), row_.begin(), row_.end());
    for (std::size_t repeats = pushed_ == 0 ? kReach + 1 : 1; repeats > 0; --repeats) PushRow();
    skip_ = hop - std::min(hop, filled_);
    filled_ -= std::min(hop, filled_);
    std::copy(window_.end() - static_cast<std::ptrdiff_t>(filled_), window_.end(), window_.begin());
  }
}

void FrontEnd::Finish() {
  if (pushed_ == 0) return;
  for (std::size_t i = 0; i < kReach; ++i) PushRow();
  while (inputs_ * tables_->stride < done_) EmitInput();
}

void FrontEnd::Reset() {
  filled_ = skip_ = 0;
  pushed_ = done_ = inputs_ = 0;
  inputs_ready_.clear();
  bands_ready_.clear();
}

// Window to log-mel energies, every float operation in Kaldi's order.
void FrontEnd::ComputeRow() {
  const FrontEndTables& t = *tables_;
  const std::size_t size = window_.size();
  float sum = 0;
  for (const float sample : window_) sum += sample;
  const float mean = sum / static_cast<float>(size);
  float* frame = scratch_.data();
  frame[0] = 0;  // the window begins with 0
  for (std::size_t i = 1; i < size; ++i) {
    frame[i] = ((window_[i] - mean) - 0.97f * (window_[i - 1] - mean)) * t.window[i];
  }
  std::fill(frame + size, frame + t.spectrum.size(), 0.0f);
  t.spectrum.Compute(frame, frame + t.spectrum.size());
  for (std::size_t b = 0; b < t.bands; ++b) {
    const std::vector<float>& weights = t.bank[b].weights;
    const float* power = frame + t.bank[b].first;
    float energy = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) energy += weights[i] * power[i];
    if (!(energy < FLT_MAX)) energy = FLT_MAX;  // of samples far outside [-1, 1]; not a number would spread
    row_[b] = static_cast<float>(Log(std::max(energy, FLT_EPSILON)));
  }
}

// Takes row_ as the next log-mel frame, which completes the frame kReach before it.
void FrontEnd::PushRow() {
  const FrontEndTables& t = *tables_;
  const auto row = [&](std::uint64_t index) { return rows_.data() + index % kSpan * t.bands; };
  std::copy(row_.begin(), row_.end(), row(pushed_));
  if (++pushed_ < kSpan) return;
  float* frame = frames_.data() + done_ % t.stack * kComponents * t.bands;
  std::copy_n(row(pushed_ + kReach), t.bands, frame);
  for (std::size_t order = 1; order < kComponents; ++order) {
    float* delta = frame + order * t.bands;
    std::fill_n(delta, t.bands, 0.0f);
    for (std::size_t j = kReach - 2 * order; j <= kReach + 2 * order; ++j) {
      const float tap = t.deltas[order - 1][j];
      const float* bands = row(pushed_ + j);
      for (std::size_t b = 0; b < t.bands; ++b) delta[b] += tap * bands[b];
    }
  }
  for (std::size_t i = 0; i < kComponents * t.bands; ++i) frame[i] = (frame[i] - t.mean[i]) / t.deviation[i];
  if (++done_ == inputs_ * t.stride + t.stack) EmitInput();
}

// The next input; behind the end stands the last frame.
void FrontEnd::EmitInput() {
  const FrontEndTables& t = *tables_;
  for (std::size_t component = 0; component < kComponents; ++component) {
    for (std::size_t i = 0; i < t.stack; ++i) {
      const std::uint64_t frame = std::min(inputs_ * t.stride + i, done_ - 1);
      const float* values = frames_.data() + (frame % t.stack * kComponents + component) * t.bands;
      inputs_ready_.insert(inputs_ready_.end(), values, values + t.bands);
    }
  }
  ++inputs_;
}

}  // namespace tetraphone
