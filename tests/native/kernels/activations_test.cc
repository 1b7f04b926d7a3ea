// tanh and sigmoid of every set against the C library's in double precision.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "cases.h"
#include "oracle.h"
#include "run.h"

namespace tetraphone {
namespace {

// tanh through a recurrent layer's element-wise part, sigmoid as the forget gate of a cell of 1: of every 9973rd float
// by its bits, in the set in use; all sets give the same bits. TETRAPHONE_STRIDE=1 takes all 2^32 floats instead.
TEST(Activations, AreWithinTheirBound) {
  const char* given = std::getenv("TETRAPHONE_STRIDE");
  const std::uint64_t stride = given != nullptr ? std::strtoull(given, nullptr, 10) : 9973;
  constexpr int kUnits = 16, kCount = 4 * kUnits;
  struct Activated {
    float tanh[kCount], sigmoid[kCount];
  };
  const auto activate = [](const Kernels& kernels, Format format, const float (&x)[kCount]) {
    const auto& gates = format == Format::kFloat32 ? kernels.gates->accurate : kernels.gates->quick;
    Activated result;
    gates[IndexOf(Kind::kRnn)]({x, kUnits, {x}, {result.tanh}});
    float sums[4][4][kUnits] = {}, h[kCount] = {};
    for (int i = 0; i < kCount; ++i) {
      sums[i / kUnits][1][i % kUnits] = x[i];
      result.sigmoid[i] = 1;
    }
    gates[IndexOf(Kind::kLstm)]({&sums[0][0][0], kUnits, {h, result.sigmoid}, {h, result.sigmoid}});
    return result;
  };
  for (const Format format : {Format::kFloat32, Format::kInt8}) {
    double tanh_error = 0, sigmoid_error = 0;
    std::uint64_t bits = 0;
    while (bits < std::uint64_t{1} << 32) {
      float x[kCount];
      for (float& value : x) {
        const std::uint32_t pattern = static_cast<std::uint32_t>(bits);
        std::memcpy(&value, &pattern, 4);
        bits += stride;
      }
      const Activated active = activate(ActiveKernels(), format, x);
      for (int i = 0; i < kCount; ++i) {
        const float tanh = active.tanh[i], sigmoid = active.sigmoid[i];
        if (std::isnan(x[i])) {
          ASSERT_TRUE(std::isnan(tanh) && std::isnan(sigmoid));
          continue;
        }
        tanh_error = std::max(tanh_error, std::fabs(tanh - std::tanh(static_cast<double>(x[i]))));
        sigmoid_error = std::max(sigmoid_error, std::fabs(sigmoid - SigmoidOracle(x[i])));
        ASSERT_TRUE(std::fabs(tanh) <= 1 && sigmoid >= 0 && sigmoid <= 1) << x[i];
      }
      ForEachSet([&](const Kernels& kernels) {
        const Activated other = activate(kernels, format, x);
        for (int i = 0; i < kCount; ++i) {
          if (std::isnan(x[i])) {
            ASSERT_TRUE(std::isnan(other.tanh[i]) && std::isnan(other.sigmoid[i]));
          } else {
            ASSERT_TRUE(other.tanh[i] == active.tanh[i] && other.sigmoid[i] == active.sigmoid[i]) << x[i];
          }
        }
      });
      if (HasFailure()) return;
    }
    std::cout << "greatest error: tanh " << tanh_error << ", sigmoid " << sigmoid_error << "\n";
    EXPECT_LE(tanh_error, ActivationError(format));
    EXPECT_LE(sigmoid_error, ActivationError(format));
  }
}

}  // namespace
}  // namespace tetraphone
