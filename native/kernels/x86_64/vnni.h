// VPDPBUSD multiplies unsigned bytes by signed ones. int8: activations are used 128 too large, and what that adds, 128
// times a row's sum of weights, is subtracted beforehand. int4: see avx2.h.

#pragma once

#include "avx2.h"

namespace tetraphone {
namespace {

// What the sums of eight rows of int8 begin with; each belongs in the first of its row's two lanes.
inline __m256i LoadCorrections(const std::uint8_t* sums) {
  return _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(Load32(sums), 7));
}

// A row's sum lies in two lanes, one of which takes the correction.
inline long long InOneLane(std::int32_t correction) { return static_cast<std::uint32_t>(correction); }

}  // namespace
}  // namespace tetraphone
