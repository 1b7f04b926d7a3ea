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

// The low nibbles of 32 bytes, then the high ones, of weights whose sign bits are flipped: 8 too large.
inline __m256i Load32Flipped(const void* from) { return _mm256_xor_si256(Load32(from), _mm256_set1_epi8(-0x78)); }
inline __m256i LowNibbles(__m256i pair) { return _mm256_and_si256(pair, _mm256_set1_epi8(15)); }
inline __m256i HighNibbles(__m256i pair) { return LowNibbles(_mm256_srli_epi16(pair, 4)); }

inline const std::uint8_t* HalfScales(const Gemv& g, std::int64_t row, std::int64_t group) {
  return g.scales + ((row / kTileRows * g.groups + group) * kTileRows + row % kTileRows) * 2;
}

// int4, whose sums of groups are not packed: weights are used 8 too large, as unsigned bytes, and 8 times the sum of a
// column of X^ is subtracted; these sums, int32 [groups][4], follow X^.
inline std::int8_t* ColumnSums(const void* xhat, std::int64_t groups) {
  return static_cast<std::int8_t*>(const_cast<void*>(xhat)) + groups * kGroup * kColumns;
}

// expand_s8_avx2, and the sums. multiply_add(sum, unsigned, signed) is the set's VPDPBUSD.
template <typename MultiplyAdd>
inline void ExpandWithSums(const Expand& e, MultiplyAdd multiply_add) {
  expand_s8_avx2(e);
  std::int8_t* sums = ColumnSums(e.xhat, e.groups);
  const std::int8_t* xhat = static_cast<const std::int8_t*>(e.xhat);
  for (std::int64_t group = 0; group < e.groups; ++group) {
    __m256i lanes = _mm256_setzero_si256();
    Repeat<kSteps>([&](auto step) { lanes = multiply_add(lanes, _mm256_set1_epi8(1), Load32(xhat + step * 32)); });
    const __m256i pairs = _mm256_hadd_epi32(lanes, lanes);
    const __m128i columns = _mm_unpacklo_epi64(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(sums + group * 16), columns);
    xhat += kGroup * kColumns;
  }
}

// What the sums of the four columns of a group of int4 begin with.
struct Corrections {
  alignas(16) std::int32_t columns[4];
};

inline Corrections CorrectionsS4(const Gemv& g, std::int64_t group) {
  const std::int8_t* from = ColumnSums(g.xhat, g.groups) + group * 16;
  const __m128i sums = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  Corrections corrections;
  _mm_store_si128(reinterpret_cast<__m128i*>(corrections.columns),
                  _mm_slli_epi32(_mm_sub_epi32(_mm_setzero_si128(), sums), 3));
  return corrections;
}

}  // namespace
}  // namespace tetraphone
