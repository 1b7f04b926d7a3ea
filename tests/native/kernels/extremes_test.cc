// Inputs that are not finite, tiny or zero.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cases.h"
#include "run.h"

namespace tetraphone {
namespace {

// One value of the second of three frames is not finite: the quantised formats' frame, and all later ones of a
// recurrent layer, are NaN; float32 follows arithmetic. A denormal is just a small number.
TEST(Extremes, GiveTheSameBits) {
  ForEachShape([](const Shape& shape) {
    if (shape.outputs > 80) return;
    const Case test = MakeCase(shape, 23);
    for (const float extreme : {kNan, kInfinity, -kInfinity, 1e-40f, std::numeric_limits<float>::max()}) {
      for (const std::int64_t place : {std::int64_t{0}, shape.inputs / 2, shape.inputs - 1}) {
        std::vector<float> x = RandomVector(3 * shape.inputs, 1, 24);
        x[static_cast<std::size_t>(shape.inputs + place)] = extreme;
        const std::vector<float> h = RandomVector(shape.outputs, 1, 25), c = RandomVector(shape.outputs, 1, 26);
        const Result expected = RunChunks(kernels_scalar, test, x, h, c, {3});
        ForEachSet([&](const Kernels& kernels) {
          EXPECT_TRUE(SameBits(RunChunks(kernels, test, x, h, c, {3}), expected)) << extreme;
        });
        const bool poisoned = std::isnan(extreme) || (std::isinf(extreme) && shape.format != Format::kFloat32);
        for (std::int64_t i = 0; i < 3 * shape.outputs; ++i) {
          const std::int64_t frame = i / shape.outputs;
          const bool nan = std::isnan(expected.y[static_cast<std::size_t>(i)]);
          if (frame == 0) {
            ASSERT_FALSE(nan);
          }
          if (frame == 1 && poisoned) {
            ASSERT_TRUE(nan) << extreme;
          }
          if (frame == 2 && poisoned) {
            ASSERT_EQ(nan, test.recurrent) << extreme;
          }
          if (!poisoned && !std::isinf(extreme)) {
            ASSERT_FALSE(nan) << extreme;
          }
        }
      }
    }
  });
}

// Infinite inputs of a float32 layer with positive weights: the gates saturate, and padding stays out of it.
TEST(Extremes, InfinityInFloat32) {
  const Shape shape{Kind::kRnn, Format::kFloat32, 4, 20};
  Case test = MakeCase(shape, 27);
  for (float& value : test.input.floats) value = 1;
  EXPECT_EQ(Repack(&test), Status::kOk);
  const std::vector<float> x = {kInfinity, 1, 1, 1, 0, 0, 0, 0};
  const std::vector<float> h(20, 0.0f);
  ForEachSet([&](const Kernels& kernels) {
    const Result result = RunChunks(kernels, test, x, h, h, {2});
    for (std::size_t i = 0; i < 40; ++i) EXPECT_TRUE(std::isfinite(result.y[i])) << i;
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(result.y[i], 1);
  });
}

TEST(Extremes, ZerosAndTinyInputsQuantizeToZero) {
  for (const float tiny : {0.0f, 1e-45f, 1e-38f}) {
    const Case test = MakeCase({Kind::kHamiltonLinear, Format::kInt8, 12, 8}, 28);
    ForEachSet([&](const Kernels& kernels) {
      EXPECT_TRUE(RunChunks(kernels, test, std::vector<float>(12, tiny), {}, {}, {}).y.empty());
      Guarded<float> y(8);
      Scratch scratch(ScratchBytes(test.layer, 1));
      const std::vector<float> x(12, tiny);
      RunWith(kernels, test.layer, x.data(), 1, nullptr, nullptr, y.data(), nullptr, nullptr, scratch.memory.data());
      for (std::int64_t i = 0; i < 8; ++i) EXPECT_EQ(y[i], test.bias[static_cast<std::size_t>(i)]);
    });
  }
}

}  // namespace
}  // namespace tetraphone
