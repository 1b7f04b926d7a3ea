#include "measures.h"

#include <algorithm>
#include <utility>

#include "../common/numerics.h"
#include "../model/model.h"
#include "trellis.h"

namespace tetraphone {
namespace {

// Logarithms count from here to its opposite.
constexpr double kLeast = Trellis::kLeastLog;
// The probability from which a phone that is too much is told.
constexpr double kLeastAdded = 0.75;
// By which logarithms of all outputs, and a rate, are brought near 1.
constexpr double kLogUnit = 5.0, kRateUnit = 0.1, kFrameUnit = 10.0;

double BoundedLog(double ratio) { return ratio > 1e-20 ? std::clamp(Log(ratio), kLeast, -kLeast) : kLeast; }

// The mean over the sub-frames [first, end) of each output's log posterior, and of the greatest of them.
struct PartsOf {
  PartsOf(const float* parts, std::size_t outputs, std::int64_t first, std::int64_t end) : means(outputs) {
    for (std::int64_t t = first; t < end; ++t) {
      const float* row = parts + static_cast<std::size_t>(t) * outputs;
      const double top = *std::max_element(row, row + outputs);
      double sum = 0;
      for (std::size_t k = 0; k < outputs; ++k) sum += Exp(row[k] - top);
      const double all = top + Log(sum);
      for (std::size_t k = 0; k < outputs; ++k) means[k] += row[k] - all;
      greatest += top - all;
    }
    const auto length = static_cast<double>(end - first);
    for (double& mean : means) mean /= length;
    greatest /= length;
  }
  // Of all but one.
  double Best(std::size_t but) const {
    double best = means[but == 0 ? 1 : 0];
    for (std::size_t k = 0; k < means.size(); ++k) {
      if (k != but) best = std::max(best, means[k]);
    }
    return best;
  }
  std::vector<double> means;
  double greatest = 0;
};

// Where, how long and how surely CTC hears a phone.
struct Spike {
  double frames = 0;              // expected
  double greatest = 0;            // occupancy
  double log_posterior = kLeast;  // mean over them
  double place = 0;               // mean frame
};

// `from`: the first frame of the trellis.
Spike SpikeOf(const Trellis& trellis, std::size_t phone, std::size_t label, std::size_t from) {
  Spike spike;
  double weighted = 0, moments = 0;
  for (std::size_t t = trellis.first(phone); t < trellis.end(phone); ++t) {
    const double occupancy = trellis.Occupancy(phone, t);
    spike.frames += occupancy;
    spike.greatest = std::max(spike.greatest, occupancy);
    weighted += occupancy * Log(trellis.posterior(t, label));
    moments += occupancy * static_cast<double>(from + t);
  }
  if (spike.frames > 0) {
    spike.log_posterior = weighted / spike.frames;
    spike.place = moments / spike.frames;
  }
  return spike;
}

// Frames beside a run of phones that are its own where other speech may be: spikes lie behind where phones are found.
constexpr std::size_t kAround = 2;

// Phones [first, end) that belong together, and their frames.
struct PhoneRun {
  std::size_t first, end;
  std::size_t from, to;
};

std::vector<PhoneRun> RunsOf(const std::vector<FoundPhone>& phones, std::size_t frames, bool apart_behind) {
  std::vector<PhoneRun> runs;
  for (std::size_t first = 0, end = 0; first < phones.size(); first = end) {
    end = first + 1;
    if (phones[first].skipped) continue;
    const auto parted = [&](std::size_t i) { return phones[i].skipped || phones[i].apart; };
    while (end < phones.size() && !parted(end)) ++end;
    const bool before = first > 0 || phones[0].apart, behind = end < phones.size() || apart_behind;
    const auto begin = static_cast<std::size_t>(phones[first].first) / kSubFrames;
    const auto last = static_cast<std::size_t>(phones[end - 1].end + kSubFrames - 1) / kSubFrames;
    runs.push_back({first, end, before ? std::max(begin, kAround) - kAround : 0,
                    behind ? std::min(last + kAround, frames) : frames});
  }
  return runs;
}

// The phone of a run that is spoken in each of its frames, or was last.
std::vector<std::size_t> Spoken(const std::vector<FoundPhone>& phones, const PhoneRun& run) {
  std::vector<std::size_t> spoken;
  std::size_t phone = run.first;
  for (std::size_t t = run.from; t < run.to; ++t) {
    const auto middle = static_cast<std::int64_t>(t * kSubFrames + kSubFrames / 2);
    while (phone + 1 < run.end && phones[phone + 1].first <= middle) ++phone;
    spoken.push_back(phone - run.first);
  }
  return spoken;
}

Trellis TrellisOf(const float* scores, std::size_t outputs, const std::vector<FoundPhone>& phones,
                  const PhoneRun& run) {
  std::vector<std::size_t> labels;
  for (std::size_t i = run.first; i < run.end; ++i) labels.push_back(phones[i].label);
  return Trellis(scores + run.from * outputs, run.to - run.from, outputs, std::move(labels), Spoken(phones, run));
}

std::size_t Best(const double* ratios, std::size_t outputs) {
  return static_cast<std::size_t>(std::max_element(ratios, ratios + outputs) - ratios);
}

}  // namespace

double LogLikelihood(const float* scores, std::size_t frames, std::size_t outputs,
                     const std::vector<FoundPhone>& phones) {
  return TrellisOf(scores, outputs, phones, {0, phones.size(), 0, frames}).LogLikelihood();
}

Measures Measured(const float* scores, const float* parts, std::size_t frames, std::size_t outputs,
                  const std::vector<FoundPhone>& phones, bool apart_behind) {
  const std::size_t count = phones.size();
  Measures found{MeasureCount(outputs), {}, std::vector<Heard>(count + 1)};
  std::vector<Spike> spikes(count);
  std::vector<double> replaced(count * outputs), before(count, kLeast), behind(count, kLeast), ratios(outputs);
  const auto add = [&](std::size_t i) {  // in front of phone i
    const std::size_t best = Best(ratios.data(), outputs);
    const double probability = ratios[best] / (1 + ratios[best]);
    Heard& heard = found.heard[i];
    if (probability >= std::max(kLeastAdded, heard.added_probability)) {
      heard.added = best;
      heard.added_probability = probability;
    }
    return BoundedLog(ratios[best]);
  };
  for (const PhoneRun& run : RunsOf(phones, frames, apart_behind)) {
    const Trellis trellis = TrellisOf(scores, outputs, phones, run);
    if (!trellis.possible()) continue;
    for (std::size_t i = run.first; i < run.end; ++i) {
      spikes[i] = SpikeOf(trellis, i - run.first, phones[i].label, run.from);
      trellis.Replaced(i - run.first, replaced.data() + i * outputs);
    }
    for (std::size_t i = run.first; i <= run.end; ++i) {
      trellis.Added(i - run.first, ratios.data());
      const double added = add(i);
      if (i < run.end) before[i] = added;
      if (i > run.first) behind[i - 1] = added;
    }
  }
  const double speech = static_cast<double>(phones.back().end - phones.front().first);
  const double rate = static_cast<double>(count) / speech / kRateUnit;
  found.rows.reserve(count * found.count);
  const auto put = [&](double value) { found.rows.push_back(static_cast<float>(value)); };
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t own = phones[i].label;
    const double* with = replaced.data() + i * outputs;
    double all = 0, best = 0, best_phone = 0;
    for (std::size_t k = 0; k < outputs; ++k) {
      all += with[k];
      if (k != own) best = std::max(best, with[k]);
      if (k != own && k != 0) best_phone = std::max(best_phone, with[k]);
    }
    Heard& heard = found.heard[i];
    heard.label = all > 0 ? Best(with, outputs) : 0;
    heard.probability = all > 0 ? with[heard.label] / all : 1;
    heard.own = all > 0 ? with[own] / all : 0;

    const PartsOf part(parts, outputs, phones[i].first, phones[i].end);
    const auto gap = [&](std::size_t k) {  // sub-frames between phone k − 1 and phone k
      return k == 0 || k == count ? 0.0 : static_cast<double>(phones[k].first - phones[k - 1].end);
    };
    const auto distance = [&](std::size_t k) {
      return k == 0 || k == count ? 0.0 : (spikes[k].place - spikes[k - 1].place) / kFrameUnit;
    };
    put(BoundedLog(heard.own));
    put(BoundedLog(best));
    put(BoundedLog(best_phone));
    put(BoundedLog(with[0]));
    put(before[i]);
    put(behind[i]);
    put(spikes[i].log_posterior);
    put(Log(spikes[i].frames + 1e-3));
    put(spikes[i].greatest);
    put(part.means[own]);
    put(part.means[own] - part.Best(own));
    put(part.means[own] - part.greatest);
    put(Log(static_cast<double>(phones[i].end - phones[i].first)));
    put(Log(1 + gap(i)));
    put(Log(1 + gap(i + 1)));
    put(rate);
    put(distance(i));
    put(distance(i + 1));
    for (std::size_t k = 0; k < outputs; ++k) put(k == own ? 0.0 : BoundedLog(with[k]) / kLogUnit);
    for (std::size_t k = 0; k < outputs; ++k) put(std::max(part.means[k], kLeast) / kLogUnit);
    for (std::size_t k = 1; k < outputs; ++k) put(k == own);
    put(i == 0 || phones[i - 1].word != phones[i].word);
    put(i + 1 == count || phones[i + 1].word != phones[i].word);
  }
  return found;
}

}  // namespace tetraphone
