// What holds for both searches: streams, resets, order of tokens, any scores, options, the same bits everywhere.

#include "decoder/decoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "../common/sounds.h"
#include "decoding.h"

namespace tetraphone {
namespace {

void Append(std::vector<Token>* tokens, const std::vector<Token>& more) {
  tokens->insert(tokens->end(), more.begin(), more.end());
}

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

std::uint64_t HashOf(const std::vector<Token>& tokens) {
  std::vector<unsigned char> bytes;
  const auto add = [&](const auto& value) {
    const auto* first = reinterpret_cast<const unsigned char*>(&value);
    bytes.insert(bytes.end(), first, first + sizeof value);
  };
  for (const Token& token : tokens) {
    add(token.phone);
    add(token.first);
    add(token.last);
    add(token.posterior);
  }
  return Hash(bytes);
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

TEST(Decoder, TheBlankIsShiftedBeforeTheSearch) {
  for (Case item : Cases()) {
    Scores scores = AnyScores(1, 200);
    item.options.blank_shift = -1.5;
    const std::uint64_t shifted = HashOf(Decoded(scores, item.options));
    item.options.blank_shift = 0;
    EXPECT_NE(HashOf(Decoded(scores, item.options)), shifted) << item.name;
    for (auto& frame : scores) frame[0] -= 1.5f;
    EXPECT_EQ(HashOf(Decoded(scores, item.options)), shifted) << item.name;
  }
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
  EXPECT_TRUE(has(refusal(3, [](auto* o) { o->blank_shift = 1001; }), "a blank shift of 1001"));
  EXPECT_TRUE(has(refusal(3, [&](auto* o) { o->grammar = grammar; }), "without a beam"));
  EXPECT_TRUE(has(refusal(4, [&](auto* o) { o->grammar = grammar, o->beam = 8; }), "of 3 phones for a model of 4"));
  EXPECT_EQ(refusal(3, [&](auto* o) { o->grammar = grammar, o->beam = 256; }), "");
}

}  // namespace
}  // namespace tetraphone
