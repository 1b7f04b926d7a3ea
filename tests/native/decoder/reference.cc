#include "reference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <utility>

namespace tetraphone {
namespace {

double LogPosterior(const std::vector<float>& frame, std::size_t output) {
  const double greatest = *std::max_element(frame.begin(), frame.end());
  double sum = 0;
  for (const float score : frame) sum += std::exp(score - greatest);
  return frame[output] - greatest - std::log(sum);
}

// The tokens of one alignment, an output a frame.
std::vector<Token> Collapsed(const Scores& scores, const Labels& alignment) {
  std::vector<Token> tokens;
  for (std::size_t first = 0, last; first < alignment.size(); first = last) {
    double sum = 0;
    for (last = first; last < alignment.size() && alignment[last] == alignment[first]; ++last) {
      sum += std::exp(LogPosterior(scores[last], static_cast<std::size_t>(alignment[last])));
    }
    if (alignment[first] == 0) continue;
    tokens.push_back({alignment[first] - 1, static_cast<std::int64_t>(first), static_cast<std::int64_t>(last) - 1,
                      sum / static_cast<double>(last - first)});
  }
  return tokens;
}

double LogSum(const std::vector<double>& logs) {
  const double most = *std::max_element(logs.begin(), logs.end());
  if (most == -HUGE_VAL) return most;
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - most);
  return most + std::log(sum);
}

}  // namespace

std::vector<Token> NaiveBestPath(const Scores& scores) {
  Labels alignment;
  for (const auto& frame : scores) {
    alignment.push_back(static_cast<int>(std::max_element(frame.begin(), frame.end()) - frame.begin()));
  }
  return Collapsed(scores, alignment);
}

std::vector<Token> Exhaustive(const Scores& scores, const std::function<double(const Labels&)>& weight) {
  struct Labelling {
    double sum = 0;
    double best = 0;
    std::vector<Token> tokens;
  };
  const std::size_t outputs = scores[0].size();
  std::map<Labels, Labelling> labellings;
  std::size_t alignments = 1;
  for (std::size_t t = 0; t < scores.size(); ++t) alignments *= outputs;
  for (std::size_t number = 0; number < alignments; ++number) {
    Labels alignment;
    double log = 0;
    for (std::size_t t = 0, rest = number; t < scores.size(); ++t, rest /= outputs) {
      alignment.push_back(static_cast<int>(rest % outputs));
      log += LogPosterior(scores[t], rest % outputs);
    }
    std::vector<Token> tokens = Collapsed(scores, alignment);
    Labels phones;
    for (const Token& token : tokens) phones.push_back(token.phone);
    Labelling& labelling = labellings[phones];
    labelling.sum += std::exp(log);
    if (std::exp(log) > labelling.best) {
      labelling.best = std::exp(log);
      labelling.tokens = std::move(tokens);
    }
  }
  const auto score = [&](const auto& item) { return std::log(item.second.sum) + weight(item.first); };
  return std::max_element(labellings.begin(), labellings.end(), [&](const auto& a, const auto& b) {
           return score(a) < score(b);
         })->second.tokens;
}

double Cost(const std::string& text, const Labels& labels) {
  using Line = std::vector<std::string>;
  std::vector<Line> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    lines.emplace_back();
    for (std::string word; words >> word;) lines.back().push_back(word);
  }
  const auto number = [](const Line& line, std::size_t at) {
    return line.size() > at ? std::stod(line[at]) : 0.0;
  };
  const std::function<double(const std::string&, std::size_t)> cheapest = [&](const auto& state, std::size_t at) {
    double least = HUGE_VAL;
    for (const Line& line : lines) {
      if (line[0] != state) continue;
      if (line.size() <= 2) {
        if (at == labels.size()) least = std::min(least, number(line, 1));
      } else if (at < labels.size() && line[2] == kPhones[static_cast<std::size_t>(labels[at])]) {
        least = std::min(least, number(line, 3) + cheapest(line[1], at + 1));
      }
    }
    return least;
  };
  return cheapest(lines[0][0], 0);
}

double LogChance(const Scores& scores, const std::vector<Token>& tokens) {
  std::vector<double> before(2 * tokens.size() + 1, -HUGE_VAL), now;
  for (std::size_t t = 0; t < scores.size(); ++t) {
    const double blank = LogPosterior(scores[t], 0);
    now.assign(before.size(), -HUGE_VAL);
    for (std::size_t s = 0; s < before.size(); ++s) {
      const int phone = s % 2 == 1 ? tokens[s / 2].phone : -1;
      std::vector<double> ways = {before[s], t == 0 && s <= 1 ? 0.0 : -HUGE_VAL};
      if (s >= 1) ways.push_back(before[s - 1]);
      if (s >= 3 && phone >= 0 && phone != tokens[s / 2 - 1].phone) ways.push_back(before[s - 2]);
      now[s] = LogSum(ways) + blank;
      if (phone >= 0) now[s] += scores[t][static_cast<std::size_t>(phone) + 1] - scores[t][0];
    }
    before.swap(now);
  }
  return LogSum({before.back(), tokens.empty() ? -HUGE_VAL : before[before.size() - 2]});
}

}  // namespace tetraphone
