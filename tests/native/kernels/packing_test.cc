// Blocks: packed and unpacked again, what cannot be packed, and damaged ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "cases.h"

namespace tetraphone {
namespace {

TEST(Packing, UnpackInvertsPack) {
  ForEachShape([](const Shape& shape) {
    const Case test = MakeCase(shape, 1);
    Given input = test.input, hidden = test.hidden;
    for (Given* given : {&input, &hidden}) {
      std::fill(given->floats.begin(), given->floats.end(), 9.0f);
      std::fill(given->integers.begin(), given->integers.end(), std::int8_t{99});
      std::fill(given->scales.begin(), given->scales.end(), 9.0f);
      std::fill(given->halves.begin(), given->halves.end(), std::uint16_t{9});
    }
    std::vector<float> bias(test.bias.size(), 9.0f);
    EXPECT_EQ(Unpack(test.block.data(), PackedBytes(shape), input.View(), hidden.View(), bias.data()), Status::kOk);
    const auto same = [](const Given& a, const Given& b) {
      return a.floats == b.floats && a.integers == b.integers && a.scales == b.scales && a.halves == b.halves;
    };
    EXPECT_TRUE(same(input, test.input) && same(hidden, test.hidden) && bias == test.bias);
  });
}

TEST(Packing, NoBiasIsZeroBias) {
  const Shape shape{Kind::kHamiltonLinear, Format::kFloat32, 8, 12};
  const Case test = MakeCase(shape, 2);
  std::vector<std::uint8_t> block(PackedBytes(shape));
  EXPECT_EQ(Pack(shape, test.input.View(), {nullptr, nullptr}, nullptr, block.data()), Status::kOk);
  Given input = test.input;
  std::vector<float> bias(12, 9.0f);
  EXPECT_EQ(Unpack(block.data(), block.size(), input.View(), {nullptr, nullptr}, bias.data()), Status::kOk);
  EXPECT_EQ(bias, std::vector<float>(12, 0.0f));
}

TEST(Packing, ShapesAreRefused) {
  const auto refused = [](Kind kind, Format format, std::int64_t inputs, std::int64_t outputs) {
    const Shape shape{kind, format, inputs, outputs};
    std::uint8_t byte;
    return PackedBytes(shape) == 0 && Pack(shape, {}, {}, nullptr, &byte) == Status::kShape;
  };
  EXPECT_TRUE(refused(Kind::kLstm, Format::kInt8, 0, 4));
  EXPECT_TRUE(refused(Kind::kLstm, Format::kInt8, 4, 0));
  EXPECT_TRUE(refused(Kind::kLstm, Format::kInt8, -4, 4));
  EXPECT_TRUE(refused(Kind::kLstm, Format::kInt8, 6, 4));
  EXPECT_TRUE(refused(Kind::kRnn, Format::kFloat32, 4, 6));
  EXPECT_TRUE(refused(Kind::kLinear, Format::kFloat32, 1 << 17, 1));
  EXPECT_TRUE(refused(Kind::kLinear, Format::kFloat32, std::numeric_limits<std::int64_t>::max(), 1));
  EXPECT_TRUE(refused(Kind::kLinear, Format::kFloat32, 1 << 16, 1 << 16));
  EXPECT_TRUE(refused(static_cast<Kind>(0), Format::kInt8, 4, 4));
  EXPECT_TRUE(refused(static_cast<Kind>(kKinds + 1), Format::kInt8, 4, 4));
  EXPECT_TRUE(refused(Kind::kRnn, static_cast<Format>(4), 4, 4));
  EXPECT_FALSE(refused(Kind::kLinear, Format::kInt4, 1, 1));
}

TEST(Packing, ValuesAreRefused) {
  const auto pack = [](const Case& test) {
    std::vector<std::uint8_t> block(PackedBytes(test.shape));
    const Status status = Pack(test.shape, test.input.View(), test.hidden.View(), test.bias.data(), block.data());
    Layer layer;
    EXPECT_EQ(Open(block.data(), block.size(), &layer) == Status::kOk, status == Status::kOk);
    return status;
  };
  for (const Format format : {Format::kFloat32, Format::kInt8, Format::kInt4}) {
    const Case good = MakeCase({Kind::kRnn, format, 8, 12}, 3);
    EXPECT_EQ(pack(good), Status::kOk);
    Case bad = MakeCase(good.shape, 3);
    bad.bias[5] = kInfinity;
    EXPECT_EQ(pack(bad), Status::kValue);
    for (Given Case::* matrix : {&Case::input, &Case::hidden}) {
      Case changed = MakeCase(good.shape, 3);
      Given& given = changed.*matrix;
      if (format == Format::kFloat32) given.floats.back() = kNan;
      if (format == Format::kInt8) given.integers.back() = -128;
      if (format == Format::kInt4) given.integers.back() = -8;
      EXPECT_EQ(pack(changed), Status::kValue);
      if (format == Format::kFloat32) continue;
      Case infinite = MakeCase(good.shape, 3);
      if (format == Format::kInt8) (infinite.*matrix).scales.back() = kInfinity;
      if (format == Format::kInt4) (infinite.*matrix).halves.back() = 0x7c00;
      EXPECT_EQ(pack(infinite), Status::kValue);
    }
  }
}

TEST(Packing, DamagedBlocksAreRefused) {
  ForEachShape([](const Shape& shape) {
    if (shape.outputs % 20 != 0) return;
    const Case test = MakeCase(shape, 4);
    const std::size_t bytes = PackedBytes(shape);
    Layer layer;
    for (std::size_t length = 0; length < bytes; length += 16) {
      ASSERT_EQ(Open(test.block.data(), length, &layer), Status::kTruncated) << length;
      if (length > 1024) continue;  // with a guard page right after it
      Guarded<std::uint8_t> part(static_cast<std::int64_t>(length));
      if (length > 0) std::memcpy(part.data(), test.block.data(), length);
      ASSERT_EQ(Open(part.data(), length, &layer), Status::kTruncated) << length;
    }
    std::vector<std::uint8_t> damaged(bytes + 16);
    std::memcpy(damaged.data(), test.block.data(), bytes);
    EXPECT_EQ(Open(damaged.data(), bytes + 16, &layer), Status::kHeader);
    for (std::size_t byte = 0; byte < 64; ++byte) {
      for (int bit = 0; bit < 8; ++bit) {
        damaged[byte] = static_cast<std::uint8_t>(damaged[byte] ^ 1 << bit);
        const Status expected = byte < 4   ? Status::kMagic
                                : byte == 4 && bit == 1 ? Status::kVersion  // 2 becomes 0, or more
                                : byte < 6 ? Status::kNewer
                                : byte < 8 ? Status::kTile
                                           : Status::kHeader;
        ASSERT_EQ(Open(damaged.data(), bytes, &layer), expected) << byte << " " << bit;
        damaged[byte] = static_cast<std::uint8_t>(damaged[byte] ^ 1 << bit);
      }
    }
  });
}

}  // namespace
}  // namespace tetraphone
