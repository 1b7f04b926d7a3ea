// The end of a product is a multiply-add that is rounded once, in every set; WebAssembly has no such instruction.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "cases.h"

namespace tetraphone {
namespace {

// By doubles, whose last bit is made odd where their sum is not exact.
float RoundedOnce(float a, float b, float c) {
  const double product = static_cast<double>(a) * b;
  double sum = product + c;
  const double second = sum - product;
  const double error = (product - (sum - second)) + (c - second);
  std::int64_t bits;
  std::memcpy(&bits, &sum, sizeof bits);
  if (std::fabs(error) > 0 && bits % 2 == 0) bits += (error < 0) == (sum < 0) ? 1 : -1;
  std::memcpy(&sum, &bits, sizeof bits);
  return static_cast<float>(sum);
}

// Zig's C library rounds results below the least normal number twice.
bool IsRoundedTwice(const Kernels& kernels, float result) {
#if defined(__wasm__)
  return &kernels == &kernels_scalar && std::fabs(result) <= 0x1p-126f;
#else
  (void)kernels;
  (void)result;
  return false;
#endif
}

// a[row] * b[column] + c[column][row], by the product of a column of weights with ones.
void Check(const float (&a)[kTileRows], const float (&b)[kColumns], const float (&c)[kColumns][kTileRows]) {
  float weights[kGroup][kTileRows] = {}, xhat[kGroup][kColumns] = {{1, 1, 1, 1}};
  std::memcpy(weights[0], a, sizeof a);
  ForEachSet([&](const Kernels& kernels) {
    float out[kColumns][kTileRows];
    kernels.gemv_f32({reinterpret_cast<const std::uint8_t*>(weights), nullptr, nullptr, 1, 1, xhat, b, c[0], kTileRows,
                      out[0], kTileRows});
    for (int column = 0; column < kColumns; ++column) {
      for (int row = 0; row < kTileRows; ++row) {
        const float expected = RoundedOnce(a[row], b[column], c[column][row]);
#if !defined(__wasm__)
        ASSERT_EQ(expected, std::fma(a[row], b[column], c[column][row]));
#endif
        if (IsRoundedTwice(kernels, expected)) continue;
        ASSERT_EQ(std::memcmp(&out[column][row], &expected, sizeof expected), 0)
            << a[row] << " * " << b[column] << " + " << c[column][row] << " = " << out[column][row];
      }
    }
  });
}

// Products next to half of the last place of c, above and below it, for normal results and smaller ones.
TEST(MultiplyAdd, IsRoundedOnceNextToHalfWay) {
  for (const int exponent : {0, 1, 40, 100, -40, -100, -124, -140, -145, -149}) {
    for (int first = 1; first < 400; first += kTileRows) {
      float a[kTileRows], b[kColumns], c[kColumns][kTileRows];
      for (int column = 0; column < kColumns; ++column) {
        const float less = 1 - static_cast<float>(first + column) * 0x1p-23f;
        b[column] = std::ldexp(column % 2 ? -less : less, exponent / 2 - 1);
        for (int row = 0; row < kTileRows; ++row) {
          a[row] = std::ldexp(1 + static_cast<float>(first + row) * 0x1p-23f, exponent - exponent / 2);
          const int mantissa = (exponent > -126 ? 1 << 23 : 1 << 22) + 37 * first + row;
          c[column][row] = std::ldexp(static_cast<float>(row % 3 ? mantissa : -mantissa), exponent);
        }
      }
      Check(a, b, c);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(MultiplyAdd, IsRoundedOnceForAnyBits) {
  std::uint32_t state = 1;
  const auto any = [&state] {  // finite ones of moderate size
    state = state * 1664525 + 1013904223;
    const std::uint32_t bits = (state & 0x807fffff) | (64 + (state >> 13) % 120) << 23;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return state % 31 == 0 ? 0 : value;
  };
  for (int round = 0; round < 3000; ++round) {
    float a[kTileRows], b[kColumns], c[kColumns][kTileRows];
    for (float& value : a) value = any();
    for (float& value : b) value = any();
    for (auto& column : c) {
      for (float& value : column) value = any();
    }
    Check(a, b, c);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tetraphone
