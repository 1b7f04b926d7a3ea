// Frames against the oracle, and what must not change their bits.

#include <gtest/gtest.h>

#include "cases.h"
#include "oracle.h"
#include "run.h"

namespace tetraphone {
namespace {

TEST(Frames, EqualTheOracle) {
  ForEachShape([](const Shape& shape) {
    const Case test = MakeCase(shape, 5);
    const std::int64_t frames = 3;
    const std::vector<float> x = RandomVector(frames * shape.inputs, 3, 6);
    ForEachSet([&](const Kernels& kernels) {
      std::vector<float> h = RandomVector(shape.outputs, 1.2f, 7), c = RandomVector(shape.outputs, 2, 8);
      for (std::int64_t frame = 0; frame < frames; ++frame) {
        const std::vector<float> one(x.begin() + frame * shape.inputs, x.begin() + (frame + 1) * shape.inputs);
        const Result next = RunChunks(kernels, test, one, h, c, {1});
        CheckFrame(test, one.data(), h, c, next.y.data(), next.c);
        if (test.recurrent) {
          EXPECT_EQ(next.h, next.y);
        }
        h = next.h;
        c = next.c;
      }
    });
  });
}

TEST(Frames, SaturatedIntegersAreExact) {
  for (const Kind kind : {Kind::kHamiltonLinear, Kind::kLinear, Kind::kLstm}) {
    for (const Format format : {Format::kInt8, Format::kInt4}) {
      const Case test = MakeCase({kind, format, 480, 64}, 13, 0, true);
      SCOPED_TRACE(Describe(test.shape));
      for (int pattern = 0; pattern < 16; ++pattern) {
        std::vector<float> x(480, 5.0f);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = pattern >> (i / 120) & 1 ? -5.0f : 5.0f;
        const std::vector<float> h(64, pattern % 2 ? -1.0f : 1.0f), c(64, 0.5f);
        const Result expected = RunChunks(kernels_scalar, test, x, h, c, {1});
        CheckFrame(test, x.data(), h, c, expected.y.data(), expected.c);
        ForEachSet([&](const Kernels& kernels) {
          EXPECT_TRUE(SameBits(RunChunks(kernels, test, x, h, c, {1}), expected));
        });
      }
    }
  }
}

TEST(Frames, GroupingChangesNothing) {
  const std::int64_t frames = 53;
  for (const LayerKind& kind : kLayerKinds) {
    for (const Format format : {Format::kFloat32, Format::kInt8, Format::kInt4}) {
      const Case test = MakeCase({kind.kind, format, 44, 36}, 14);
      SCOPED_TRACE(Describe(test.shape));
      const std::vector<float> x = RandomVector(frames * 44, 2, 15);
      const std::vector<float> h = RandomVector(36, 1, 16), c = RandomVector(36, 1, 17);
      ForEachSet([&](const Kernels& kernels) {
        const Result whole = RunChunks(kernels, test, x, h, c, {frames});
        EXPECT_EQ(whole.y.size(), static_cast<std::size_t>(frames * 36));
        for (const std::vector<std::int64_t>& chunks :
             {std::vector<std::int64_t>(frames, 1), {0, 16, 17, 0, 3, 7, 10}}) {
          EXPECT_TRUE(SameBits(RunChunks(kernels, test, x, h, c, chunks), whole));
        }
      });
    }
  }
}

TEST(Frames, StatesMayBeUpdatedInPlace) {
  for (const std::int64_t frames : {0, 1, 20}) {
    for (const LayerKind& kind : kLayerKinds) {
      if (kind.states == 0) continue;
      const Case test = MakeCase({kind.kind, Format::kInt8, 8, 20}, 18);
      SCOPED_TRACE(Describe(test.shape));
      const std::vector<float> x = RandomVector(frames * 8, 2, 19);
      const std::vector<float> h = RandomVector(20, 1, 20), c = RandomVector(20, 1, 21);
      ForEachSet([&](const Kernels& kernels) {
        const Result apart = RunChunks(kernels, test, x, h, c, {frames});
        Result together{std::vector<float>(static_cast<std::size_t>(frames * 20)), h, c};
        Scratch scratch(ScratchBytes(test.layer, frames));
        RunWith(kernels, test.layer, x.data(), frames, together.h.data(), together.c.data(), together.y.data(),
                together.h.data(), together.c.data(), scratch.memory.data());
        EXPECT_TRUE(SameBits(apart, together));
        if (frames == 0) {
          EXPECT_TRUE(together.h == h && together.c == c);
        }
      });
    }
  }
}

TEST(Frames, ScratchIsBounded) {
  ForEachShape([](const Shape& shape) {
    const Case test = MakeCase(shape, 22);
    EXPECT_LE(ScratchBytes(test.layer, 1), ScratchBytes(test.layer, 16));
    EXPECT_EQ(ScratchBytes(test.layer, 16), ScratchBytes(test.layer, 1 << 20));
  });
}

}  // namespace
}  // namespace tetraphone
