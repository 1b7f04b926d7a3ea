// What the x86-64 instruction sets share: the kernels of avx2.cc that the others keep, and the ends of the products.

#pragma once

#include <immintrin.h>

#include "../kernels.h"
#include "../repeat.h"

namespace tetraphone {

void hamilton_gemv_f32_16x4_avx2(const Gemv& g);
void expand_f32_avx2(const Expand& e);
void expand_s8_avx2(const Expand& e);
void expand_u8_avx2(const Expand& e);  // 128 too large
extern const GateKernels gates_avx2;

namespace {

constexpr std::int64_t kHalfRows = 8;

// The end of a product: eight rows of a column.
inline void Store(const Gemv& g, std::int64_t row, int column, __m256 sum) {
  const __m256 init = _mm256_loadu_ps(g.init + column * g.init_stride + row);
  _mm256_storeu_ps(g.out + column * g.out_stride + row,
                   _mm256_fmadd_ps(sum, _mm256_set1_ps(g.multiplier[column]), init));
}

inline void StoreS8(const Gemv& g, std::int64_t row, int column, __m256i sum) {
  const __m256 scales = _mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(g.scales + row * 4)));
  Store(g, row, column, _mm256_mul_ps(_mm256_cvtepi32_ps(sum), scales));
}

// Eight rows' sums from pairs of lanes: `low` has rows 0 to 3, `high` 4 to 7.
inline __m256i Reduce(__m256i low, __m256i high) {
  return _mm256_permute4x64_epi64(_mm256_hadd_epi32(low, high), 0xd8);
}

inline __m256 AddGroup(__m256 sum, __m256i part, const std::uint8_t* half_scales) {
  const __m256 scales = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(half_scales)));
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(part), scales, sum);
}

inline __m256i Load32(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

// A step of a column, in every 64 bits.
inline __m256i Broadcast8(const std::int8_t* from) {
  long long eight;
  __builtin_memcpy(&eight, from, 8);
  return _mm256_set1_epi64x(eight);
}

inline const std::uint8_t* HalfScales(const Gemv& g, std::int64_t row, std::int64_t group) {
  return g.scales + ((row / kTileRows * g.groups + group) * kTileRows + row % kTileRows) * 2;
}

}  // namespace
}  // namespace tetraphone
