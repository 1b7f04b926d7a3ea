#include "features.h"

#include <algorithm>
#include <cfloat>
#include <string>
#include <string_view>
#include <utility>

#include "../common/heap_bytes.h"
#include "../common/lanes.h"
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

};

float Mel(float hertz) { return 1127.0f * static_cast<float>(Log(1.0f + hertz / 700.0f)); }

// The bins are from 0 Hz to half the sample rate. A band that falls between two bins has no weights.
std::vector<Band> FilterBank(const FeatureOptions& options) {
  const std::size_t bins = PowerSpectrum::SizeFor(Samples(options, options.window_ms)) / 2;
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

// kLanes bands side by side, each with as many weights as the longest, a multiple of kLanes; those missing are 0.
struct BandLanes {
  BandLanes(const Band* bands, std::size_t count) {
    std::size_t taps = 0;
    for (std::size_t b = 0; b < count; ++b) taps = std::max(taps, bands[b].weights.size());
    weights.resize((taps + kLanes - 1) / kLanes * kLanes * kLanes);
    for (std::size_t b = 0; b < count; ++b) {
      first[b] = bands[b].first;
      for (std::size_t i = 0; i < bands[b].weights.size(); ++i) weights[i * kLanes + b] = bands[b].weights[i];
    }
  }
  std::size_t heap_bytes() const { return HeapBytes(weights); }

  // powers: twice as many finite values as there are bins, of which those behind the bins count nothing.
  Lanes Energies(const float* powers) const {
    Lanes energies{};
    for (std::size_t i = 0; i < weights.size(); i += kLanes * kLanes) {
      Lanes of_bin[kLanes];
      const float* const at = powers + i / kLanes;
      Transpose(Load<Lanes>(at + first[0]), Load<Lanes>(at + first[1]), Load<Lanes>(at + first[2]),
                Load<Lanes>(at + first[3]), of_bin);
      for (std::size_t j = 0; j < kLanes; ++j) energies += Load<Lanes>(weights.data() + i + j * kLanes) * of_bin[j];
    }
    return energies;
  }

  std::size_t first[kLanes] = {};  // bins
  std::vector<float> weights;      // [taps, kLanes]
};

std::vector<BandLanes> SideBySide(const std::vector<Band>& bank) {
  std::vector<BandLanes> lanes;
  for (std::size_t b = 0; b < bank.size(); b += kLanes) {
    lanes.emplace_back(bank.data() + b, std::min(kLanes, bank.size() - b));
  }
  return lanes;
}

// Of energies, which samples far outside [-1, 1] make infinite or not a number: that would spread.
Lanes LogEnergies(Lanes energies) {
  const Lanes greatest = All(FLT_MAX), least = All(FLT_EPSILON);
  energies = energies < greatest ? energies : greatest;
  return LogLanes(energies < least ? least : energies);
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

template <typename T, std::size_t kOrder>
T Delta(const std::vector<std::vector<float>>& filters, const float* const (&rows)[kSpan], std::size_t band) {
  const float* const taps = filters[kOrder - 1].data();
  T delta{};
  for (std::size_t j = kReach - 2 * kOrder; j <= kReach + 2 * kOrder; ++j) delta += taps[j] * Load<T>(rows[j] + band);
  return delta;
}

// One after the other, as Kaldi adds them; eight a turn of the loop.
float Sum(const float* values, std::size_t count) {
  float sum = 0;
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::size_t j = 0; j < 8; ++j) sum += values[i + j];
  }
  for (; i < count; ++i) sum += values[i];
  return sum;
}

}  // namespace

class FrontEndTables {
 public:
  FrontEndTables(const FeatureOptions& o, const std::vector<Band>& triangles, std::vector<float> means,
                 std::vector<float> deviations)
      : bands(static_cast<std::size_t>(o.bands)), stack(static_cast<std::size_t>(o.stack)),
        stride(static_cast<std::size_t>(o.stride)), hop(Samples(o, o.hop_ms)), window(Window(Samples(o, o.window_ms))),
        spectrum(window.size()), bank(SideBySide(triangles)), deltas(DeltaFilters()),
        mean(std::move(means)), deviation(std::move(deviations)) {}

  const std::size_t bands, stack, stride, hop;
  const std::vector<float> window;
  const PowerSpectrum spectrum;
  const std::vector<BandLanes> bank;
  const std::vector<std::vector<float>> deltas;
  const std::vector<float> mean, deviation;
};

Failure CheckFeatures(const FeatureOptions& options) {
  if (Failure failure = CheckSizes(options)) return failure;
  return CheckBank(options, FilterBank(options));
}

Result<std::shared_ptr<const FrontEndTables>> FrontEnd::MakeTables(const FeatureOptions& options,
                                                                   std::vector<float> mean,
                                                                   std::vector<float> deviation) {
  if (Failure failure = CheckSizes(options)) return *failure;
  if (Failure failure = CheckStatistics("mean", mean, options.bands, -1e6, 1e6)) return *failure;
  if (Failure failure = CheckStatistics("deviation", deviation, options.bands, 1e-6, 1e6)) return *failure;
  const std::vector<Band> bank = FilterBank(options);
  if (Failure failure = CheckBank(options, bank)) return *failure;
  return std::make_shared<const FrontEndTables>(options, bank, std::move(mean), std::move(deviation));
}

FrontEnd::FrontEnd(std::shared_ptr<const FrontEndTables> tables)
    : tables_(std::move(tables)), window_(tables_->window.size()), scratch_(3 * tables_->spectrum.size()),
      row_(tables_->bank.size() * kLanes), rows_(kSpan * tables_->bands),
      frames_(tables_->stack * kComponents * tables_->bands) {}

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
    if (keep_bands_) bands_ready_.insert(bands_ready_.end(), row_.data(), row_.data() + tables_->bands);
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
  const float mean = Sum(window_.data(), size) / static_cast<float>(size);
  float* const frame = scratch_.data();
  const float* const samples = window_.data();
  const float* const weights = t.window.data();
  frame[0] = 0;  // the window begins with 0
  ForLanes(size - 1, [=](std::size_t i, auto lanes) {
    using T = decltype(lanes);
    const T before = Load<T>(samples + i) - mean, sample = Load<T>(samples + i + 1) - mean;
    Store((sample - 0.97f * before) * Load<T>(weights + i + 1), frame + i + 1);
  });
  std::fill(frame + size, frame + t.spectrum.size(), 0.0f);
  t.spectrum.Compute(frame, frame + t.spectrum.size());
  for (std::size_t i = 0; i < t.bank.size(); ++i) {
    Store(LogEnergies(t.bank[i].Energies(frame)), row_.data() + i * kLanes);
  }
}

// Takes row_ as the next log-mel frame, which completes the frame kReach before it.
void FrontEnd::PushRow() {
  const FrontEndTables& t = *tables_;
  const auto row = [&](std::uint64_t index) { return rows_.data() + index % kSpan * t.bands; };
  std::copy_n(row_.begin(), t.bands, row(pushed_));
  if (++pushed_ < kSpan) return;
  const float* rows[kSpan];
  for (std::size_t j = 0; j < kSpan; ++j) rows[j] = row(pushed_ + j);
  float* const frame = frames_.data() + done_ % t.stack * kComponents * t.bands;
  const float* const mean = t.mean.data();
  const float* const deviation = t.deviation.data();
  const auto normalize = [=](std::size_t i, auto values) {
    using T = decltype(values);
    Store((values - Load<T>(mean + i)) / Load<T>(deviation + i), frame + i);
  };
  ForLanes(t.bands, [&](std::size_t b, auto lanes) {
    using T = decltype(lanes);
    normalize(b, Load<T>(rows[kReach] + b));
    normalize(b + t.bands, Delta<T, 1>(t.deltas, rows, b));
    normalize(b + 2 * t.bands, Delta<T, 2>(t.deltas, rows, b));
    normalize(b + 3 * t.bands, Delta<T, 3>(t.deltas, rows, b));
  });
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
