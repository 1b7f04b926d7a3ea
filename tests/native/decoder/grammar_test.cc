// Reading grammars, and decoding with them.

#include "decoder/grammar.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "decoding.h"

namespace tetraphone {
namespace {

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
    EXPECT_NE(message.find("decoder_test-"), std::string::npos) << message;
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
