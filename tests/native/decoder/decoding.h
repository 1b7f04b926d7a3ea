// Scores by a seed, decoders and grammars: what the decoder's tests share.

#pragma once

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "decoder/decoder.h"
#include "decoder/grammar.h"

namespace tetraphone {

using Scores = std::vector<std::vector<float>>;  // [frames][outputs]
using Labels = std::vector<int>;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double Uniform() { return engine_() / 4294967296.0; }
  std::size_t Below(std::size_t count) { return static_cast<std::size_t>(Uniform() * static_cast<double>(count)); }
  // Roughly normal, and the same on every machine, whatever the compiler contracts.
  float Normal(double deviation);
  Scores Frames(std::size_t frames, std::size_t outputs, double deviation);
  // As a trained network's: phones of a few frames, blanks between them, some of them doubtful.
  Scores Speech(std::size_t frames, std::size_t outputs);

 private:
  std::mt19937 engine_;
};

// Scores of three phones: noise, speech, or few values with many ties.
Scores AnyScores(unsigned seed, std::size_t frames);

DecoderOptions BeamOf(int beam, int context = 2);

Decoder MakeDecoder(std::size_t phones, const DecoderOptions& options);

// All tokens of a whole stream.
std::vector<Token> Decoded(Decoder& decoder, const Scores& scores);
std::vector<Token> Decoded(const Scores& scores, const DecoderOptions& options);

// Equal bits.
bool Same(const std::vector<Token>& a, const std::vector<Token>& b);

void ExpectNear(const std::vector<Token>& tokens, const std::vector<Token>& expected);

// The phones of the grammars.
extern const std::vector<std::string> kPhones;

// The path of a file of this process with that text, decoder_test-….txt.
std::string Written(const std::string& text);

std::shared_ptr<const Grammar> GrammarOf(const std::string& text);

// A on its own or before B; C only after B; nothing at a price.
constexpr const char* kDeterministic = "0 1 A 0.5\n0 2 B 1\n1 2 B 0.25\n2 3 C\n3 1 A 2\n0 3\n1 0.125\n3\n";
// Two ways for each A, one of which ends: which was right is known only later.
constexpr const char* kAmbiguous =
    "4 7 A 1\n4 5 A 0.2\n7 7 A 0.1\n7 4 B\n5 6 C 3\n5 5 B 0.7\n5 4 B 0.3\n6 4 A\n7 1\n6 0.5\n4 2\n";

}  // namespace tetraphone
