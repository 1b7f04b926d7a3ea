// The beam search against the sum over all alignments, and when its phones become final.

#include <gtest/gtest.h>

#include <algorithm>

#include "decoding.h"
#include "reference.h"

namespace tetraphone {
namespace {

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

}  // namespace
}  // namespace tetraphone
