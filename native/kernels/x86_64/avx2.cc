// AVX2 with FMA and F16C.

#include "avx2.h"

#include "../body.h"
#include "../instruction_sets.h"

namespace tetraphone {
namespace {

struct Avx2 {
  static constexpr int kLanes = 8;
  __m256 value;

  static Avx2 Set(float a) { return {_mm256_set1_ps(a)}; }
  static Avx2 Load(const float* from) { return {_mm256_loadu_ps(from)}; }
  void Store(float* to) const { _mm256_storeu_ps(to, value); }
  static Avx2 Add(Avx2 a, Avx2 b) { return {_mm256_add_ps(a.value, b.value)}; }
  static Avx2 Sub(Avx2 a, Avx2 b) { return {_mm256_sub_ps(a.value, b.value)}; }
  static Avx2 Mul(Avx2 a, Avx2 b) { return {_mm256_mul_ps(a.value, b.value)}; }
  static Avx2 Div(Avx2 a, Avx2 b) { return {_mm256_div_ps(a.value, b.value)}; }
  static Avx2 Min(Avx2 a, Avx2 b) { return {_mm256_min_ps(a.value, b.value)}; }
  static Avx2 Max(Avx2 a, Avx2 b) { return {_mm256_max_ps(a.value, b.value)}; }
  static Avx2 Fma(Avx2 a, Avx2 b, Avx2 c) { return {_mm256_fmadd_ps(a.value, b.value, c.value)}; }
  static Avx2 Abs(Avx2 a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.value)}; }
  static Avx2 Negate(Avx2 a) { return {_mm256_xor_ps(_mm256_set1_ps(-0.0f), a.value)}; }
  static Avx2 PowerOfTwo(Avx2 a) { return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a.value), 23))}; }
  static void StoreColumns(float* to, const Avx2 (&columns)[4]) {
    const __m256 low01 = _mm256_unpacklo_ps(columns[0].value, columns[1].value);
    const __m256 high01 = _mm256_unpackhi_ps(columns[0].value, columns[1].value);
    const __m256 low23 = _mm256_unpacklo_ps(columns[2].value, columns[3].value);
    const __m256 high23 = _mm256_unpackhi_ps(columns[2].value, columns[3].value);
    const __m256 row04 = _mm256_shuffle_ps(low01, low23, 0x44), row15 = _mm256_shuffle_ps(low01, low23, 0xee);
    const __m256 row26 = _mm256_shuffle_ps(high01, high23, 0x44), row37 = _mm256_shuffle_ps(high01, high23, 0xee);
    _mm256_storeu_ps(to, _mm256_permute2f128_ps(row04, row15, 0x20));
    _mm256_storeu_ps(to + 8, _mm256_permute2f128_ps(row26, row37, 0x20));
    _mm256_storeu_ps(to + 16, _mm256_permute2f128_ps(row04, row15, 0x31));
    _mm256_storeu_ps(to + 24, _mm256_permute2f128_ps(row26, row37, 0x31));
  }
  static void Round(const Avx2 (&x)[2], std::int8_t* q, std::int8_t* negative) {
    const __m256i low = _mm256_cvtps_epi32(Max(Set(-127), Min(Set(127), x[0])).value);
    const __m256i high = _mm256_cvtps_epi32(Max(Set(-127), Min(Set(127), x[1])).value);
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
    const __m128i rounded = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(q), rounded);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(negative), _mm_sub_epi8(_mm_setzero_si128(), rounded));
  }
};

// sum + products of four bytes each. |w|, |x| <= 127: two products fit in 16 bits.
inline __m256i MultiplyAdd(__m256i sum, __m256i w, __m256i x) {
  const __m256i twos = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(twos, _mm256_set1_epi16(1)));
}

void hamilton_gemv_s8_16x4_avx2(const Gemv& g) {
  const std::uint8_t* weights = g.values;
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += kHalfRows) {
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    __m256i sums[4][2] = {};
    for (std::int64_t step = 0; step < g.groups * kSteps; ++step) {
      const __m256i low = Load32(weights), high = Load32(weights + 32);
      Repeat<kColumns>([&](auto c) {
        const __m256i x = Broadcast8(xhat + c * kStep);
        sums[c][0] = MultiplyAdd(sums[c][0], low, x);
        sums[c][1] = MultiplyAdd(sums[c][1], high, x);
      });
      weights += 64;
      xhat += kColumns * kStep;
    }
    Repeat<kColumns>([&](auto c) { StoreS8(g, row, c, Reduce(sums[c][0], sums[c][1])); });
  }
}

// The products of a group add up to at most 8 * 15 * 127 in each 16 bits.
void hamilton_gemv_s4_16x4_avx2(const Gemv& g) {
  const __m256i ones = _mm256_set1_epi16(1);
  const std::uint8_t* weights = g.values;
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += kHalfRows) {
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    __m256 sums[4] = {};
    for (std::int64_t group = 0; group < g.groups; ++group) {
      __m256i parts[4][2];  // [column][four rows]
      Repeat<2>([&](auto two) {
        const __m256i pairs[2] = {Load32Flipped(weights), Load32Flipped(weights + 32)};
        Repeat<2>([&](auto step) {
          Repeat<2>([&](auto half) {
            const __m256i w = step == 0 ? LowNibbles(pairs[half]) : HighNibbles(pairs[half]);
            Repeat<kColumns>([&](auto c) {
              const __m256i products = _mm256_maddubs_epi16(w, Broadcast8(xhat + (step * kColumns + c) * kStep));
              parts[c][half] = two + step == 0 ? products : _mm256_add_epi16(parts[c][half], products);
            });
          });
        });
        weights += 64;
        xhat += 2 * kColumns * kStep;
      });
      const Corrections corrections = CorrectionsS4(g, group);
      const std::uint8_t* scales = HalfScales(g, row, group);
      Repeat<kColumns>([&](auto c) {
        const __m256i part = Reduce(_mm256_madd_epi16(parts[c][0], ones), _mm256_madd_epi16(parts[c][1], ones));
        sums[c] = AddGroup(sums[c], _mm256_add_epi32(part, _mm256_set1_epi32(corrections.columns[c])), scales);
      });
    }
    Repeat<kColumns>([&](auto c) { Store(g, row, c, sums[c]); });
  }
}

void expand_s4_avx2(const Expand& e) {
  ExpandWithSums(e, [](__m256i sum, __m256i ones, __m256i x) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(ones, x), _mm256_set1_epi16(1)));
  });
}

}  // namespace

void hamilton_gemv_f32_16x4_avx2(const Gemv& g) {
  const float* weights = reinterpret_cast<const float*>(g.values);
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += kTileRows) {
    const float* xhat = static_cast<const float*>(g.xhat);
    __m256 sums[4][2] = {};
    for (std::int64_t k = 0; k < g.groups * kGroup; ++k) {
      const __m256 low = _mm256_loadu_ps(weights), high = _mm256_loadu_ps(weights + 8);
      Repeat<kColumns>([&](auto c) {
        const __m256 x = _mm256_broadcast_ss(xhat + c);
        sums[c][0] = _mm256_fmadd_ps(low, x, sums[c][0]);
        sums[c][1] = _mm256_fmadd_ps(high, x, sums[c][1]);
      });
      weights += kTileRows;
      xhat += kColumns;
    }
    Repeat<kColumns>([&](auto c) {
      Store(g, row, c, sums[c][0]);
      Store(g, row + kHalfRows, c, sums[c][1]);
    });
  }
}

void expand_f32_avx2(const Expand& e) { ExpandF32Body<Avx2>(e); }
void expand_s8_avx2(const Expand& e) { ExpandS8Body<Avx2, 4, 1>(e); }
void expand_u8_avx2(const Expand& e) { ExpandS8Body<Avx2, 4, 1, 0x80>(e); }

const GateKernels gates_avx2 = MakeGateKernels<Avx2>();

const Kernels kernels_avx2 = {"avx2",
                              1,
                              hamilton_gemv_f32_16x4_avx2,
                              hamilton_gemv_s8_16x4_avx2,
                              hamilton_gemv_s4_16x4_avx2,
                              expand_f32_avx2,
                              expand_s8_avx2,
                              expand_s4_avx2,
                              &gates_avx2};

}  // namespace tetraphone
