#include "decoding.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace tetraphone {

float Random::Normal(double deviation) {
  double sum = -6.0;
  for (int i = 0; i < 12; ++i) sum += Uniform();
  return static_cast<float>(sum * deviation);
}

Scores Random::Frames(std::size_t frames, std::size_t outputs, double deviation) {
  Scores scores(frames, std::vector<float>(outputs));
  for (auto& frame : scores) {
    for (float& score : frame) score = Normal(deviation);
  }
  return scores;
}

Scores Random::Speech(std::size_t frames, std::size_t outputs) {
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

DecoderOptions BeamOf(int beam, int context) {
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

}  // namespace tetraphone
