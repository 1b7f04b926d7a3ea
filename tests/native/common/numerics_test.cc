// The functions of numerics.h against the C library's in long double, and the same bits on every processor.

#include "common/numerics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "sounds.h"

namespace tetraphone {
namespace {

// Points spread over [least, most], both included.
std::vector<double> Points(double least, double most, int count = 40001) {
  std::vector<double> points;
  for (int i = 0; i < count; ++i) points.push_back(least + (most - least) * i / (count - 1));
  return points;
}

// The greatest error, relative to the greater of |exact| and `floor`.
template <typename Function, typename Exact>
double GreatestError(const std::vector<double>& points, Function function, Exact exact, long double floor) {
  long double greatest = 0;
  for (const double x : points) {
    const long double expected = exact(static_cast<long double>(x));
    const long double error = std::fabs(function(x) - expected) / std::max(std::fabs(expected), floor);
    greatest = std::max(greatest, error);
    EXPECT_TRUE(std::isfinite(function(x))) << x;
  }
  return static_cast<double>(greatest);
}

long double ExactLog(long double x) { return std::log(x); }
long double ExactExp(long double x) { return std::exp(x); }
long double ExactCos(long double x) { return std::cos(x); }
long double ExactSin(long double x) { return std::sin(x); }

TEST(Numerics, LogIsExactTo4e16) {
  EXPECT_LT(GreatestError(Points(1e-3, 3.0), Log, ExactLog, 0.0L), 4.5e-16);
  EXPECT_LT(GreatestError(Points(0.999, 1.001), Log, ExactLog, 0.0L), 4.5e-16);
  std::vector<double> powers;
  for (double x = DBL_MIN; x < 1e308; x *= 1.37) powers.push_back(x);
  EXPECT_LT(GreatestError(powers, Log, ExactLog, 0.0L), 4.5e-16);
  EXPECT_EQ(Log(1.0), 0.0);
}

TEST(Numerics, LogOfLanesIsThatOfEach) {
  std::vector<float> values;
  for (float x = FLT_MIN; x < 1e38f; x *= 1.0037f) values.push_back(x);
  values.insert(values.end(), {FLT_MAX, 1.0f, 1.41421354f, 1.41421366f});  // on either side of where m is halved
  for (std::size_t first = 0; first + kLanes <= values.size(); ++first) {
    const Lanes logs = LogLanes(Load<Lanes>(values.data() + first));
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float x = values[first + lane];
      EXPECT_EQ(logs[lane], static_cast<float>(Log(static_cast<double>(x)))) << x;
    }
  }
}

TEST(Numerics, ExpIsExactTo2e16) {
  EXPECT_LT(GreatestError(Points(-699.9, 699.9), Exp, ExactExp, 0.0L), 2.3e-16);
  EXPECT_LT(GreatestError(Points(-1.0, 1.0), Exp, ExactExp, 0.0L), 2.3e-16);
  EXPECT_EQ(Exp(0.0), 1.0);
  EXPECT_EQ(Exp(-701.0), 0.0);
  EXPECT_EQ(Exp(-HUGE_VAL), 0.0);
  EXPECT_EQ(Exp(HUGE_VAL), Exp(700.0));
  EXPECT_EQ(Exp(std::nan("")), 0.0);
}

TEST(Numerics, CosAndSinAreExactTo1e15OfOne) {
  EXPECT_LT(GreatestError(Points(-2 * kPi, 2 * kPi), Cos, ExactCos, 1.0L), 4.5e-16);
  EXPECT_LT(GreatestError(Points(-2 * kPi, 2 * kPi), Sin, ExactSin, 1.0L), 9e-16);
  EXPECT_LT(GreatestError(Points(-1000.0, 1000.0), Cos, ExactCos, 1.0L), 1e-13);  // the angle's own last bit
  EXPECT_LT(GreatestError(Points(-1000.0, 1000.0), Sin, ExactSin, 1.0L), 2e-13);
  EXPECT_EQ(Cos(0.0), 1.0);
}

TEST(Numerics, EveryProcessorGivesTheseBits) {
  std::vector<double> values;
  for (const double x : Points(1e-9, 30.0, 20001)) values.insert(values.end(), {Log(x), Exp(x - 15), Cos(x), Sin(x)});
  EXPECT_EQ(Hash(values), 8773177875676405961u);
}

}  // namespace
}  // namespace tetraphone
