// VPDPBUSD multiplies unsigned bytes by signed ones: weights are used 128 (int4: 8) too large, and what that adds, 128
// (8) times the sum of a column, is subtracted beforehand. The sums of every group and column, int32 [groups][4],
// follow X^.

#pragma once

#include "avx2.h"

namespace tetraphone {
namespace {

inline std::int8_t* ColumnSums(const void* xhat, std::int64_t groups) {
  return static_cast<std::int8_t*>(const_cast<void*>(xhat)) + groups * kGroup * kColumns;
}

inline __m128i LoadSums(const std::int8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }

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

// What the sums of the four columns begin with.
struct Corrections {
  alignas(16) std::int32_t columns[4];
};

inline Corrections CorrectionsS8(const Gemv& g) {
  const std::int8_t* sums = ColumnSums(g.xhat, g.groups);
  __m128i total = _mm_setzero_si128();
  for (std::int64_t group = 0; group < g.groups; ++group) total = _mm_sub_epi32(total, LoadSums(sums + group * 16));
  Corrections corrections;
  _mm_store_si128(reinterpret_cast<__m128i*>(corrections.columns), _mm_slli_epi32(total, 7));
  return corrections;
}

inline Corrections CorrectionsS4(const Gemv& g, std::int64_t group) {
  const __m128i sums = LoadSums(ColumnSums(g.xhat, g.groups) + group * 16);
  Corrections corrections;
  _mm_store_si128(reinterpret_cast<__m128i*>(corrections.columns),
                  _mm_slli_epi32(_mm_sub_epi32(_mm_setzero_si128(), sums), 3));
  return corrections;
}

// A row's sum lies in two lanes, one of which takes the correction.
inline long long InOneLane(std::int32_t correction) { return static_cast<std::uint32_t>(correction); }

}  // namespace
}  // namespace tetraphone
