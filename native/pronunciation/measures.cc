#include "measures.h"

#include <algorithm>
#include <cmath>

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
  Spike(const Trellis& trellis, std::size_t phone, std::size_t label) {
    double weighted = 0, moments = 0;
    for (std::size_t t = trellis.first(phone); t < trellis.end(phone); ++t) {
      const double occupancy = trellis.Occupancy(phone, t);
      frames += occupancy;
      greatest = std::max(greatest, occupancy);
      weighted += occupancy * Log(trellis.posterior(t, label));
      moments += occupancy * static_cast<double>(t);
    }
    const double all = std::max(frames, 1e-9);
    log_posterior = frames > 0 ? weighted / all : kLeast;
    place = moments / all;
  }
  double frames = 0;         // expected
  double greatest = 0;       // occupancy
  double log_posterior = 0;  // mean over them
  double place = 0;          // mean frame
};

std::vector<std::size_t> Labels(const std::vector<FoundPhone>& phones) {
  std::vector<std::size_t> labels;
  for (const FoundPhone& phone : phones) labels.push_back(phone.label);
  return labels;
}

// The phone that is spoken in each frame, or was last.
std::vector<std::size_t> Spoken(const std::vector<FoundPhone>& phones, std::size_t frames) {
  std::vector<std::size_t> spoken(frames);
  std::size_t phone = 0;
  for (std::size_t t = 0; t < frames; ++t) {
    const auto middle = static_cast<std::int64_t>(t * kSubFrames + kSubFrames / 2);
    while (phone + 1 < phones.size() && phones[phone + 1].first <= middle) ++phone;
    spoken[t] = phone;
  }
  return spoken;
}

std::size_t Best(const std::vector<double>& ratios) {
  return static_cast<std::size_t>(std::max_element(ratios.begin(), ratios.end()) - ratios.begin());
}

}  // namespace

Measures Measured(const float* scores, const float* parts, std::size_t frames, std::size_t outputs,
                  const std::vector<FoundPhone>& phones) {
  const std::size_t count = phones.size();
  const Trellis trellis(scores, frames, outputs, Labels(phones), Spoken(phones, frames));
  std::vector<Spike> spikes;
  for (std::size_t i = 0; i < count; ++i) spikes.emplace_back(trellis, i, phones[i].label);
  std::vector<double> added(count + 1), replaced(outputs), ratios(outputs);
  Measures found{MeasureCount(outputs), {}, trellis.LogLikelihood(), std::vector<Heard>(count + 1)};
  for (std::size_t i = 0; i <= count; ++i) {
    trellis.Added(i, ratios.data());
    Heard& heard = found.heard[i];
    const std::size_t best = Best(ratios);
    added[i] = BoundedLog(ratios[best]);
    const double probability = ratios[best] / (1 + ratios[best]);
    if (probability >= kLeastAdded) heard.added = best, heard.added_probability = probability;
  }
  const double speech = static_cast<double>(phones.back().end - phones.front().first);
  const double rate = static_cast<double>(count) / speech / kRateUnit;
  found.rows.reserve(count * found.count);
  const auto put = [&](double value) { found.rows.push_back(static_cast<float>(value)); };
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t own = phones[i].label;
    trellis.Replaced(i, replaced.data());
    double all = 0, best = 0, best_phone = 0;
    for (std::size_t k = 0; k < outputs; ++k) {
      all += replaced[k];
      if (k != own) best = std::max(best, replaced[k]);
      if (k != own && k != 0) best_phone = std::max(best_phone, replaced[k]);
    }
    Heard& heard = found.heard[i];
    heard.label = all > 0 ? Best(replaced) : 0;
    heard.probability = all > 0 ? replaced[heard.label] / all : 0;
    heard.own = all > 0 ? replaced[own] / all : 0;

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
    put(BoundedLog(replaced[0]));
    put(added[i]);
    put(added[i + 1]);
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
    for (std::size_t k = 0; k < outputs; ++k) put(k == own ? 0.0 : BoundedLog(replaced[k]) / kLogUnit);
    for (std::size_t k = 0; k < outputs; ++k) put(std::max(part.means[k], kLeast) / kLogUnit);
    for (std::size_t k = 1; k < outputs; ++k) put(k == own);
    put(i == 0 || phones[i - 1].word != phones[i].word);
    put(i + 1 == count || phones[i + 1].word != phones[i].word);
  }
  return found;
}

}  // namespace tetraphone
