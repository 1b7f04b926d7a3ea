// VPDPBUSD multiplies unsigned bytes by signed ones. int8: activations are used 128 too large, and what that adds, 128
// times a row's sum of weights, is subtracted beforehand. int4, whose sums of groups are not packed: weights are used 8
// too large, and 8 times the sum of a column of X^ is subtracted; these sums, int32 [groups][4], follow X^.

#pragma once

#include "avx2.h"

namespace tetraphone {
namespace {

// What the sums of eight rows of int8 begin with; each belongs in the first of its row's two lanes.
inline __m256i LoadCorrections(const std::uint8_t* sums) {
  return _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(Load32(sums), 7));
}

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

// A row's sum lies in two lanes, one of which takes the correction.
inline long long InOneLane(std::int32_t correction) { return static_cast<std::uint32_t>(correction); }

}  // namespace
}  // namespace tetraphone
