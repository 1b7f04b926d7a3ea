// The best path against its definition.

#include <gtest/gtest.h>

#include "decoding.h"
#include "reference.h"

namespace tetraphone {
namespace {

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

}  // namespace
}  // namespace tetraphone
