// Decoding against naive references: the best path by its definition, the beam search by the sum over all alignments.

#include "decoder/decoder.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <new>
#include <numeric>
#include <random>

namespace {
std::atomic<std::size_t> live_bytes{0};
}  // namespace

void* operator new(std::size_t size) {
  void* block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  live_bytes += malloc_usable_size(block);
  return block;
}
void operator delete(void* block) noexcept {
  if (block != nullptr) live_bytes -= malloc_usable_size(block);
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept { operator delete(block); }

namespace tetraphone {
namespace {

using Scores = std::vector<std::vector<float>>;  // [frames][outputs]
using Labels = std::vector<int>;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double Uniform() { return engine_() / 4294967296.0; }
  std::size_t Below(std::size_t count) { return static_cast<std::size_t>(Uniform() * static_cast<double>(count)); }
  // Roughly normal, and the same on every machine, whatever the compiler contracts.
  float Normal(double deviation) {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return static_cast<float>(sum * deviation);
  }
  Scores Frames(std::size_t frames, std::size_t outputs, double deviation) {
    Scores scores(frames, std::vector<float>(outputs));
    for (auto& frame : scores) {
      for (float& score : frame) score = Normal(deviation);
    }
    return scores;
  }
  // As a trained network's: phones of a few frames, blanks between them, some of them doubtful.
  Scores Speech(std::size_t frames, std::size_t outputs) {
    Scores scores;
    while (scores.size() < frames) {
      const std::size_t phone = 1 + Below(outputs - 1), rival = 1 + Below(outputs - 1);
      const double certainty = 1.0 + static_cast<double>(Below(91)) / 10.0;
      for (std::size_t i = 1 + Below(3); i > 0; --i) {
        scores.push_back(Frames(1, outputs, 1.0)[0]);
        scores.back()[phone] += static_cast<float>(certainty);
        scores.back()[rival] += 2.0f;
      }
      for (std::size_t i = Below(5); i > 0; --i) {
        scores.push_back(Frames(1, outputs, 1.0)[0]);
        scores.back()[0] += static_cast<float>(certainty);
      }
    }
    scores.resize(frames);
    return scores;
  }

 private:
  std::mt19937 engine_;
};

DecoderOptions BeamOf(int beam, int context = 2) {
  DecoderOptions options;
  options.beam = beam;
  options.context = context;
  return options;
}

Decoder MakeDecoder(std::size_t phones, const DecoderOptions& options) {
  Result<Decoder> made = Decoder::Make(phones, options);
  if (!made) {
    ADD_FAILURE() << made.error().message;
    std::abort();
  }
  return std::move(*made);
}

std::vector<Token> Decoded(Decoder& decoder, const Scores& scores) {
  for (const auto& frame : scores) decoder.Accept(frame.data());
  decoder.Finish();
  return decoder.Take();
}

std::vector<Token> Decoded(const Scores& scores, const DecoderOptions& options) {
  Decoder decoder = MakeDecoder(scores[0].size() - 1, options);
  return Decoded(decoder, scores);
}

void Append(std::vector<Token>* tokens, const std::vector<Token>& more) {
  tokens->insert(tokens->end(), more.begin(), more.end());
}

// Equal bits.
bool Same(const std::vector<Token>& a, const std::vector<Token>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Token& x, const Token& y) {
    return x.phone == y.phone && x.first == y.first && x.last == y.last && x.posterior == y.posterior;
  });
}

void ExpectNear(const std::vector<Token>& tokens, const std::vector<Token>& expected) {
  ASSERT_EQ(tokens.size(), expected.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(tokens[i].phone, expected[i].phone) << "token " << i;
    EXPECT_EQ(tokens[i].first, expected[i].first) << "token " << i;
    EXPECT_EQ(tokens[i].last, expected[i].last) << "token " << i;
    EXPECT_NEAR(tokens[i].posterior, expected[i].posterior, 1e-12) << "token " << i;
  }
}

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

std::vector<Token> NaiveBestPath(const Scores& scores) {
  Labels alignment;
  for (const auto& frame : scores) {
    alignment.push_back(static_cast<int>(std::max_element(frame.begin(), frame.end()) - frame.begin()));
  }
  return Collapsed(scores, alignment);
}

// The labelling that is best by all its alignments and `weight` (of its phones, a logarithm), at its best alignment.
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

const std::vector<std::string> kPhones = {"A", "B", "C"};

std::string Written(const std::string& text) {
  const std::string path = testing::TempDir() + "decoder_test-" + std::to_string(getpid()) + ".txt";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::shared_ptr<const Grammar> GrammarOf(const std::string& text) {
  auto grammar = ReadGrammar(Written(text), kPhones);
  if (!grammar) {
    ADD_FAILURE() << grammar.error().message;
    std::abort();
  }
  return *grammar;
}

// The cost of the cheapest way through a grammar's text, by trying all.
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

// A on its own or before B; C only after B; nothing at a price.
constexpr const char* kDeterministic = "0 1 A 0.5\n0 2 B 1\n1 2 B 0.25\n2 3 C\n3 1 A 2\n0 3\n1 0.125\n3\n";
// Two ways for each A, one of which ends: which was right is known only later.
constexpr const char* kAmbiguous =
    "4 7 A 1\n4 5 A 0.2\n7 7 A 0.1\n7 4 B\n5 6 C 3\n5 5 B 0.7\n5 4 B 0.3\n6 4 A\n7 1\n6 0.5\n4 2\n";

struct Case {
  const char* name;
  DecoderOptions options;
};

std::vector<Case> Cases() {
  std::vector<Case> cases = {
      {"best path", {}},
      {"beam", BeamOf(8)},
      {"no context", BeamOf(5, 0)},
      {"context of 4", BeamOf(16, 4)},
      {"beam of 1", BeamOf(1)},
  };
  for (const char* text : {kDeterministic, kAmbiguous}) {
    cases.push_back({"grammar", BeamOf(8)});
    cases.back().options.grammar = GrammarOf(text);
    cases.back().options.grammar_scale = 0.7;
    cases.back().options.phone_bonus = 0.3;
  }
  return cases;
}

// Scores of three phones: noise, speech, or few values with many ties.
Scores AnyScores(unsigned seed, std::size_t frames) {
  Random random(seed);
  if (seed % 3 == 0) return random.Frames(frames, 4, 3.0);
  if (seed % 3 == 1) return random.Speech(frames, 4);
  Scores scores = random.Frames(frames, 4, 1.0);
  for (auto& frame : scores) {
    for (float& score : frame) score = std::nearbyint(score);
  }
  return scores;
}

TEST(BestPath, IsTheNaiveOne) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const std::size_t outputs = 2 + random.Below(40);
    const Scores scores = random.Frames(1 + random.Below(60), outputs, 3.0);
    ExpectNear(Decoded(scores, {}), NaiveBestPath(scores));
    ExpectNear(Decoded(AnyScores(seed, 50), {}), NaiveBestPath(AnyScores(seed, 50)));
  }
}

TEST(BestPath, OfEqualScoresTheLowestIndexWins) {
  const Scores scores = {{1, 1, 1}, {0, 1, 1}, {0, 0, 2}, {2, 2, 2}};
  const std::vector<Token> tokens = Decoded(scores, {});
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[0].phone, 0);
  EXPECT_EQ(tokens[1].phone, 1);
}

TEST(Beam, IsTheBestOfAllAlignments) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Scores scores = Random(seed).Frames(5, 4, 0.5 + seed % 4);
    ExpectNear(Decoded(scores, BeamOf(256, 0)), Exhaustive(scores, [](const Labels&) { return 0.0; }));
  }
}

TEST(Beam, AddsTheBonus) {
  DecoderOptions options = BeamOf(256, 0);
  for (unsigned seed = 0; seed < 100; ++seed) {
    const Scores scores = Random(seed).Frames(5, 4, 2.0);
    options.phone_bonus = seed % 2 == 0 ? 1.5 : -1.5;
    ExpectNear(Decoded(scores, options), Exhaustive(scores, [&](const Labels& labels) {
                 return options.phone_bonus * static_cast<double>(labels.size());
               }));
  }
}

TEST(Beam, FollowsTheGrammar) {
  for (const char* text : {kDeterministic, kAmbiguous}) {
    DecoderOptions options = BeamOf(256, 0);
    options.grammar = GrammarOf(text);
    options.grammar_scale = 1.3;
    options.phone_bonus = 0.4;
    for (unsigned seed = 0; seed < 150; ++seed) {
      const Scores scores = Random(seed).Frames(5, 4, 2.0);
      ExpectNear(Decoded(scores, options), Exhaustive(scores, [&](const Labels& labels) {
                   return options.phone_bonus * static_cast<double>(labels.size()) -
                          options.grammar_scale * Cost(text, labels);
                 }));
    }
  }
}

TEST(Beam, WithoutAFinalStateTheBestPrefixWins) {
  DecoderOptions options = BeamOf(8);
  options.grammar = GrammarOf("0 1 A\n1 2 B\n2 3 C\n3\n");
  const Scores scores = {{0, 9, 0, 0}, {9, 0, 0, 0}};  // two frames: no room for three phones
  const std::vector<Token> tokens = Decoded(scores, options);
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_EQ(tokens[0].phone, 0);
}

double LogSum(const std::vector<double>& logs) {
  const double most = *std::max_element(logs.begin(), logs.end());
  if (most == -HUGE_VAL) return most;
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - most);
  return most + std::log(sum);
}

// The log of the chance of phones, by all alignments: the forward algorithm over [blank, phone, blank, …, blank].
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

TEST(Beam, OfScoresThatLeaveNoDoubtFindsTheBestPath) {
  Scores scores = Random(5).Speech(3000, 40);
  for (auto& frame : scores) *std::max_element(frame.begin(), frame.end()) += 30;
  ExpectNear(Decoded(scores, BeamOf(8)), NaiveBestPath(scores));
}

TEST(Beam, FindsLikelierPhonesThanTheBestPathAndANarrowerBeam) {
  for (unsigned seed = 1; seed < 4; ++seed) {
    const Scores scores = Random(seed).Speech(800, 40);
    const double greedy = LogChance(scores, Decoded(scores, {}));
    const double narrow = LogChance(scores, Decoded(scores, BeamOf(2)));
    const double usual = LogChance(scores, Decoded(scores, BeamOf(8)));
    EXPECT_GT(narrow, greedy);
    EXPECT_GT(usual, narrow);
    EXPECT_GT(usual, LogChance(scores, Decoded(scores, BeamOf(24, 0))));  // the context is worth more than width
  }
}

TEST(Beam, PhonesAreFinalSoon) {
  const Scores scores = Random(6).Speech(2000, 40);
  Decoder decoder = MakeDecoder(39, BeamOf(8));
  std::int64_t most = 0, sum = 0, count = 0;
  for (const auto& frame : scores) {
    decoder.Accept(frame.data());
    for (const Token& token : decoder.Take()) {
      sum += decoder.frames() - 1 - token.last;
      ++count;
    }
    const std::vector<Token> tokens = decoder.Provisional();
    if (!tokens.empty()) most = std::max(most, decoder.frames() - 1 - tokens[0].last);
  }
  EXPECT_LT(most, 50);
  EXPECT_LT(sum, 6 * count);  // 6 frames after their end, on average
}

TEST(Beam, SilenceMakesPhonesFinal) {
  Decoder decoder = MakeDecoder(3, BeamOf(8));
  const std::vector<float> doubtful = {0, 5, 4.9f, 0}, blank = {9, 0, 0, 0};
  decoder.Accept(doubtful.data());
  for (int t = 1; t < 50; ++t) decoder.Accept(blank.data());
  EXPECT_TRUE(decoder.Take().empty());
  EXPECT_EQ(decoder.Provisional().size(), 1u);
  decoder.Accept(blank.data());
  const std::vector<Token> tokens = decoder.Take();
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_EQ(tokens[0].phone, 0);
  EXPECT_TRUE(decoder.Provisional().empty());
}

const std::vector<float> kBlank = {90, 0, 0, 0}, kA = {0, 90, 0, 0}, kB = {0, 0, 90, 0};

TEST(Beam, WhatTheBestPathDoubtedLongAgoIsForgotten) {
  Decoder decoder = MakeDecoder(3, BeamOf(8));
  const std::vector<float> doubtful = {5, 4.9f, 0, 0};
  decoder.Accept(doubtful.data());
  for (int t = 0; t < 110; ++t) decoder.Accept(kBlank.data());
  EXPECT_TRUE(decoder.Take().empty());
  decoder.Accept(kB.data());
  decoder.Accept(kBlank.data());
  const std::vector<Token> tokens = decoder.Take();  // of all prefixes, so at once
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_EQ(tokens[0].phone, 1);
}

TEST(Beam, PhonesStayApartWhenAnAlignmentLosesLate) {
  // A, then A or B: A wins and is final with both frames; at the end the grammar wants a B, whose one frame is taken.
  DecoderOptions options = BeamOf(8);
  options.grammar = GrammarOf("0 1 A\n1 2 B\n1 5\n2\n");
  Decoder decoder = MakeDecoder(3, options);
  const std::vector<float> doubtful = {0, 50, 49.9f, 0};
  decoder.Accept(kA.data());
  decoder.Accept(doubtful.data());
  for (int t = 0; t < 60; ++t) decoder.Accept(kBlank.data());
  std::vector<Token> tokens = decoder.Take();
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_EQ(tokens[0].last, 1);
  const std::vector<Token> provisional = decoder.Provisional();
  decoder.Finish();
  tokens = decoder.Take();
  EXPECT_TRUE(Same(tokens, provisional));
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_EQ(tokens[0].phone, 1);
  EXPECT_EQ(tokens[0].first, 2);
  EXPECT_EQ(tokens[0].last, 2);
}

TEST(Decoder, WhenTakeIsCalledChangesNothing) {
  for (const Case& item : Cases()) {
    for (unsigned seed = 0; seed < 30; ++seed) {
      const Scores scores = AnyScores(seed, 200);
      const std::vector<Token> whole = Decoded(scores, item.options);
      Decoder decoder = MakeDecoder(3, item.options);
      Random random(seed);
      std::vector<Token> taken;
      for (const auto& frame : scores) {
        decoder.Accept(frame.data());
        if (random.Below(4) == 0) Append(&taken, decoder.Take());
        decoder.Provisional();
      }
      decoder.Finish();
      Append(&taken, decoder.Take());
      EXPECT_TRUE(Same(taken, whole)) << item.name << ", seed " << seed;
    }
  }
}

TEST(Decoder, FinalAndProvisionalAreTheWhole) {
  for (const Case& item : Cases()) {
    for (unsigned seed = 0; seed < 9; ++seed) {
      const Scores scores = AnyScores(seed, 60);
      Decoder decoder = MakeDecoder(3, item.options);
      std::vector<Token> taken;
      for (std::size_t t = 0; t < scores.size(); ++t) {
        decoder.Accept(scores[t].data());
        Append(&taken, decoder.Take());
        std::vector<Token> both = taken;
        Append(&both, decoder.Provisional());
        const Scores head(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(t) + 1);
        ASSERT_TRUE(Same(both, Decoded(head, item.options))) << item.name << ", seed " << seed << ", frame " << t;
      }
    }
  }
}

TEST(Decoder, TokensAreInOrderAndApart) {
  for (const Case& item : Cases()) {
    for (unsigned seed = 0; seed < 30; ++seed) {
      std::int64_t last = -1;
      for (const Token& token : Decoded(AnyScores(seed, 300), item.options)) {
        EXPECT_GT(token.first, last) << item.name << ", seed " << seed;
        EXPECT_GE(token.last, token.first);
        EXPECT_GE(token.posterior, 0.0);
        EXPECT_LE(token.posterior, 1.0);
        last = token.last;
      }
      EXPECT_LT(last, 300);
    }
  }
}

TEST(Decoder, ResetIsANewOne) {
  for (const Case& item : Cases()) {
    Decoder decoder = MakeDecoder(3, item.options);
    for (unsigned seed = 0; seed < 6; ++seed) {
      const Scores scores = AnyScores(seed, 100);
      EXPECT_TRUE(Same(Decoded(decoder, scores), Decoded(scores, item.options))) << item.name << ", seed " << seed;
      decoder.Reset();
      for (std::size_t t = 0; t < 40; ++t) decoder.Accept(scores[t].data());  // given up in the middle
      decoder.Reset();
      EXPECT_EQ(decoder.frames(), 0);
      EXPECT_EQ(decoder.TrailingSilence(), 0);
      EXPECT_TRUE(decoder.Take().empty() && decoder.Provisional().empty());
    }
  }
}

TEST(Decoder, FinishesOnce) {
  for (const Case& item : Cases()) {
    Decoder decoder = MakeDecoder(3, item.options);
    const Scores scores = AnyScores(1, 100);
    EXPECT_FALSE(Decoded(decoder, scores).empty()) << item.name;
    decoder.Finish();
    decoder.Accept(scores[0].data());
    EXPECT_TRUE(decoder.Take().empty() && decoder.Provisional().empty()) << item.name;
    EXPECT_EQ(decoder.frames(), 100);
  }
}

TEST(Decoder, FindsNothingInNothing) {
  for (const Case& item : Cases()) {
    Decoder decoder = MakeDecoder(3, item.options);
    EXPECT_TRUE(decoder.Provisional().empty());
    decoder.Finish();
    EXPECT_TRUE(decoder.Take().empty()) << item.name;
  }
}

TEST(Decoder, TrailingSilenceCountsFramesSinceThePhone) {
  for (const Case& item : {Case{"best path", {}}, Case{"beam", BeamOf(8)}, Case{"no context", BeamOf(8, 0)}}) {
    Decoder decoder = MakeDecoder(2, item.options);
    const std::vector<float> blank = {20, 0, 0}, phone = {0, 0, 20};
    std::int64_t expected = 0;
    for (int t = 0; t < 300; ++t) {
      const bool speech = t == 30 || t == 31 || t == 100;
      expected = speech ? 0 : expected + 1;
      decoder.Accept(speech ? phone.data() : blank.data());
      if (t % 7 == 0) decoder.Take();
      EXPECT_EQ(decoder.TrailingSilence(), expected) << item.name << ", frame " << t;
    }
    decoder.Finish();
    EXPECT_EQ(decoder.TrailingSilence(), expected) << item.name;
    EXPECT_EQ(decoder.frames(), 300);
  }
}

TEST(Decoder, StandsAnyScores) {
  constexpr float kHuge = 3.4e38f, kInf = HUGE_VALF, kNan = NAN;
  const Scores hard = {{0, 0, 0, 0},           {-1e30f, -1e30f, -1e30f, -1e30f}, {kHuge, -kHuge, 0, 1},
                       {-kHuge, kHuge, -1, 0}, {1e30f, 1e30f, -1e30f, 0},        {1e-40f, -1e-40f, 0, -0.0f},
                       {kInf, 0, -kInf, 0},    {kNan, kNan, kNan, kNan},         {0, kNan, kInf, -kInf}};
  for (const Case& item : Cases()) {
    for (unsigned seed = 0; seed < 200; ++seed) {
      Random random(seed);
      Scores scores;
      for (int t = 0; t < 100; ++t) scores.push_back(hard[random.Below(hard.size())]);
      std::int64_t last = -1;
      for (const Token& token : Decoded(scores, item.options)) {
        ASSERT_TRUE(token.posterior >= 0.0 && token.posterior <= 1.0) << item.name << ", seed " << seed;
        ASSERT_TRUE(token.phone >= 0 && token.phone < 3 && token.first > last && token.last >= token.first);
        last = token.last;
      }
      ASSERT_LT(last, 100);
    }
  }
}

TEST(Decoder, MemoryDoesNotGrowWithTheStream) {
  // Speech; noise; no reason for any output; silence; rivals that never part: each for a while, again and again.
  const std::vector<Scores> kinds = {Random(7).Speech(1000, 6),
                                     Random(8).Frames(997, 6, 1.0),
                                     {{0, 0, 0, 0, 0, 0}},
                                     {{9, 0, 0, 0, 0, 0}},
                                     {{5, 5, 5, 0, 0, 0}, {6, 5, 5, 0, 0, 0}}};
  constexpr std::int64_t kWhile = 10007;
  const struct {
    DecoderOptions options;
    std::int64_t frames;
  } kStreams[] = {{{}, 1000000}, {BeamOf(4), 1000000}, {BeamOf(4, 0), 200000}, {Cases().back().options, 200000}};
  for (const auto& stream : kStreams) {
    const std::size_t before = live_bytes;
    std::size_t most = 0;
    std::int64_t last = -1, tokens = 0;
    Decoder decoder = MakeDecoder(stream.options.grammar ? kPhones.size() : 5, stream.options);
    for (std::int64_t t = 0; t < stream.frames; ++t) {
      const Scores& scores = kinds[static_cast<std::size_t>(t / kWhile) % kinds.size()];
      decoder.Accept(scores[static_cast<std::size_t>(t) % scores.size()].data());
      if (t % 100 != 0) continue;
      most = std::max(most, live_bytes.load() - before);
      for (const Token& token : decoder.Take()) {
        ASSERT_GT(token.first, last);
        last = token.last;
        ++tokens;
      }
      const bool spoken = &scores == &kinds[0] && t % kWhile > 500 && !stream.options.grammar;
      ASSERT_GT(last, spoken ? t - 200 : -2);
    }
    EXPECT_GT(tokens, stream.frames / 6);
    EXPECT_LT(most, std::size_t{1} << 14);
  }
}

std::uint64_t HashOf(const std::vector<Token>& tokens) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  const auto add = [&](const auto& value) {
    unsigned char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  };
  for (const Token& token : tokens) {
    add(token.phone);
    add(token.first);
    add(token.last);
    add(token.posterior);
  }
  return hash;
}

TEST(Decoder, GivesTheSameBitsOnEveryProcessor) {
  const Scores speech = Random(9).Speech(2000, 40), noise = Random(10).Frames(2000, 4, 2.0);
  EXPECT_EQ(HashOf(Decoded(speech, {})), 0xa21f7d5371d4f3c8u);
  EXPECT_EQ(HashOf(Decoded(speech, BeamOf(8))), 0x76bcdcb06e6d95c4u);
  EXPECT_EQ(HashOf(Decoded(speech, BeamOf(6, 0))), 0xb5745dc6920b6980u);
  DecoderOptions options = BeamOf(16);
  options.grammar = GrammarOf(kAmbiguous);
  options.grammar_scale = 1.0;
  options.phone_bonus = 0.25;
  EXPECT_EQ(HashOf(Decoded(noise, options)), 0x43f604b7d1fb6050u);
}

TEST(Decoder, RefusesImpossibleOptions) {
  const auto refusal = [](std::size_t phones, const std::function<void(DecoderOptions*)>& change) {
    DecoderOptions options;
    change(&options);
    Result<Decoder> made = Decoder::Make(phones, options);
    return made ? std::string() : made.error().message;
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const auto grammar = GrammarOf(kDeterministic);
  EXPECT_TRUE(has(refusal(0, [](auto*) {}), "0 phones"));
  EXPECT_TRUE(has(refusal(3, [](auto* o) { o->beam = -1; }), "a beam of -1"));
  EXPECT_TRUE(has(refusal(3, [](auto* o) { o->beam = 257; }), "a beam of 257"));
  EXPECT_TRUE(has(refusal(3, [](auto* o) { o->grammar_scale = -0.5; }), "a grammar scale of -0.5"));
  EXPECT_TRUE(has(refusal(3, [](auto* o) { o->grammar_scale = NAN; }), "a grammar scale of nan"));
  EXPECT_TRUE(has(refusal(3, [](auto* o) { o->phone_bonus = HUGE_VAL; }), "a phone bonus of inf"));
  EXPECT_TRUE(has(refusal(3, [](auto* o) { o->context = 5; }), "a context of 5"));
  EXPECT_TRUE(has(refusal(3, [&](auto* o) { o->grammar = grammar; }), "without a beam"));
  EXPECT_TRUE(has(refusal(4, [&](auto* o) { o->grammar = grammar, o->beam = 8; }), "of 3 phones for a model of 4"));
  EXPECT_EQ(refusal(3, [&](auto* o) { o->grammar = grammar, o->beam = 256; }), "");
}

TEST(Grammar, NamesWhatIsWrong) {
  const auto fault = [](const std::string& text) {
    auto grammar = ReadGrammar(Written(text), kPhones);
    return grammar ? std::string() : grammar.error().message;
  };
  const struct {
    std::string text;
    const char* message;
  } kFaults[] = {
      {"", "has no arc"},
      {"0\n", "has no arc"},
      {"0 1 A\n1 1 D\n1\n", "line 2: the model has no phone 'D'; it has A B C"},
      {"0 1 <eps>\n1\n", "line 1: an arc without a phone, '<eps>'"},
      {"0 1 A 1.5x\n1\n", "line 1: cost '1.5x' is no finite number"},
      {"0 1 A inf\n1\n", "line 1: cost 'inf' is no finite number"},
      {"0 1 A nan\n1\n", "line 1: cost 'nan' is no finite number"},
      {"0 1 A 1e999\n1\n", "line 1: cost '1e999' is no finite number"},
      {"0 1 A\n1 Infinity\n", "line 2: cost 'Infinity' is no finite number"},
      {"0 1 A -1e7\n1\n", "line 1: cost '-1e7' is beyond 1e6"},
      {"zero 1 A\n1\n", "line 1: state 'zero' is no number"},
      {"0 -1 A\n1\n", "line 1: state '-1' is no number"},
      {"0 1 A\n\n1.0\n", "line 3: state '1.0' is no number"},
      {"0 1048576 A\n1048576\n", "line 1: state '1048576' is beyond 1048575"},
      {"0 99999999999999999999 A\n1\n", "line 1: state '99999999999999999999' is beyond"},
      {"0 1 A A 0.5\n1\n", "line 1: an arc of a transducer"},
      {"0 1 A B\n1\n", "line 1: an arc of a transducer"},
      {"0 1 A\n1\n1 2.0\n", "line 3: state 1 is final already"},
      {"0 1 A\n0 2 B\n1\n", "line 2: no way from state 2 to a final state"},
      {"0 1 A\n1 2 B\n2 1 B\n", "line 1: no way from state 0 to a final state"},
      {std::string("0 1 A\0\n1\n", 9), "line 1: the model has no phone 'A?'"},
      {"0 1 A\n" + std::string(1001, ' ') + "\n1\n", "line 2: longer than 1000 characters"},
  };
  for (const auto& item : kFaults) {
    const std::string message = fault(item.text);
    EXPECT_NE(message.find(item.message), std::string::npos) << "of '" << item.text << "': " << message;
    EXPECT_NE(message.find("decoder_test.txt"), std::string::npos) << message;
    EXPECT_NE(message.find(';'), std::string::npos) << "no mend: " << message;
  }
  EXPECT_EQ(fault("  0\t1  A \t .5\r\n\n0001 -0.5"), "");
  EXPECT_EQ(fault("0 1 A\n" + std::string(999, ' ') + "1\n"), "");
  EXPECT_EQ(ReadGrammar(testing::TempDir() + "none/none.txt", kPhones).error().code, ErrorCode::kUnreadable);
  EXPECT_EQ(ReadGrammar(testing::TempDir(), kPhones).error().code, ErrorCode::kUnreadable);
}

TEST(Grammar, RefusesMoreArcsThanItHolds) {
  std::string text = "0 0 A\n0\n";
  for (int i = 0; i < (1 << 21); ++i) text += "0 0 B\n";
  auto grammar = ReadGrammar(Written(text), kPhones);
  ASSERT_FALSE(grammar);
  EXPECT_NE(grammar.error().message.find("line 2097154: more than 2097152 arcs"), std::string::npos)
      << grammar.error().message;
}

TEST(Grammar, StartsWithTheFirstLinesState) {
  DecoderOptions options = BeamOf(8);
  options.grammar = GrammarOf("3 0.1\n0 3 A\n3 0 B\n");
  const std::vector<Token> tokens = Decoded({{0, 9, 8, 0}, {0, 9, 0, 0}}, options);  // A is louder, but B comes first
  ASSERT_EQ(tokens.size(), 2u);
  EXPECT_EQ(tokens[0].phone, 1);
  EXPECT_EQ(tokens[1].phone, 0);
}

TEST(Grammar, OfManyWaysStaysBounded) {
  // 2,000 states, each an A away from five others: after five phones there are far more ways than are followed.
  std::string text;
  for (int from = 0; from < 2000; ++from) {
    const std::string source = std::to_string(from);
    for (int k = 0; k < 5; ++k) text += source + " " + std::to_string((from * 7 + k * 389) % 2000) + " A 1\n";
    text += source + "\n";
  }
  DecoderOptions options = BeamOf(8);
  options.grammar = GrammarOf(text);
  const Scores scores = Random(11).Speech(300, 4);
  EXPECT_FALSE(Decoded(scores, options).empty());
  for (const Token& token : Decoded(scores, options)) EXPECT_EQ(token.phone, 0);
}

}  // namespace
}  // namespace tetraphone
