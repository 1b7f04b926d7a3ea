// AVX2 with AVX-VNNI.

#include "../instruction_sets.h"
#include "vnni.h"

namespace tetraphone {
namespace {

inline __m256i MultiplyAdd(__m256i sum, __m256i unsigned_bytes, __m256i signed_bytes) {
  return _mm256_dpbusd_avx_epi32(sum, unsigned_bytes, signed_bytes);
}

void hamilton_gemv_s8_16x4_avxvnni(const Gemv& g) {
  const std::uint8_t* weights = g.values;
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += kHalfRows) {
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    const __m256i corrections = LoadCorrections(g.sums + row * 4);
    const __m256i begin[2] = {_mm256_cvtepu32_epi64(_mm256_castsi256_si128(corrections)),
                              _mm256_cvtepu32_epi64(_mm256_extracti128_si256(corrections, 1))};
    __m256i sums[4][2];
    Repeat<kColumns>([&](auto c) { Repeat<2>([&](auto half) { sums[c][half] = begin[half]; }); });
    for (std::int64_t step = 0; step < g.groups * kSteps; ++step) {
      const __m256i low = Load32(weights), high = Load32(weights + 32);
      Repeat<kColumns>([&](auto c) {
        const __m256i x = Broadcast8(xhat + c * kStep);
        sums[c][0] = MultiplyAdd(sums[c][0], x, low);
        sums[c][1] = MultiplyAdd(sums[c][1], x, high);
      });
      weights += 64;
      xhat += kColumns * kStep;
    }
    Repeat<kColumns>([&](auto c) { StoreS8(g, row, c, Reduce(sums[c][0], sums[c][1])); });
  }
}

void hamilton_gemv_s4_16x4_avxvnni(const Gemv& g) {
  const std::uint8_t* weights = g.values;
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += kHalfRows) {
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    __m256 sums[4] = {};
    for (std::int64_t group = 0; group < g.groups; ++group) {
      const Corrections corrections = CorrectionsS4(g, group);
      __m256i parts[4][2];
      Repeat<kColumns>(
          [&](auto c) { parts[c][0] = parts[c][1] = _mm256_set1_epi64x(InOneLane(corrections.columns[c])); });
      for (int two = 0; two < 2; ++two) {
        const __m256i low = Load32Flipped(weights), high = Load32Flipped(weights + 32);
        const __m256i low0 = LowNibbles(low), low1 = HighNibbles(low);
        const __m256i high0 = LowNibbles(high), high1 = HighNibbles(high);
        Repeat<kColumns>([&](auto c) {
          const __m256i x0 = Broadcast8(xhat + c * kStep), x1 = Broadcast8(xhat + (kColumns + c) * kStep);
          parts[c][0] = MultiplyAdd(MultiplyAdd(parts[c][0], low0, x0), low1, x1);
          parts[c][1] = MultiplyAdd(MultiplyAdd(parts[c][1], high0, x0), high1, x1);
        });
        weights += 64;
        xhat += 2 * kColumns * kStep;
      }
      const std::uint8_t* scales = HalfScales(g, row, group);
      Repeat<kColumns>([&](auto c) { sums[c] = AddGroup(sums[c], Reduce(parts[c][0], parts[c][1]), scales); });
    }
    Repeat<kColumns>([&](auto c) { Store(g, row, c, sums[c]); });
  }
}

void expand_s4_avxvnni(const Expand& e) { ExpandWithSums(e, MultiplyAdd); }

}  // namespace

const Kernels kernels_avxvnni = {"avxvnni",
                                 1,
                                 hamilton_gemv_f32_16x4_avx2,
                                 hamilton_gemv_s8_16x4_avxvnni,
                                 hamilton_gemv_s4_16x4_avxvnni,
                                 expand_f32_avx2,
                                 expand_u8_avx2,
                                 expand_s4_avxvnni,
                                 &gates_avx2};

}  // namespace tetraphone
