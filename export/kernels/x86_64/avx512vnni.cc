// AVX-512 with VNNI: eight rows of a step in one register.

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12's own header reads an undefined vector on purpose
#endif

#include "../instruction_sets.h"
#include "vnni.h"

namespace tetraphone {
namespace {

inline __m512i MultiplyAdd(__m512i sum, __m512i w, __m512i x) { return _mm512_dpbusd_epi32(sum, w, x); }

inline __m512i Load64(const std::uint8_t* from) { return _mm512_loadu_si512(from); }

inline __m512i Broadcast8Wide(const std::int8_t* from) {
  long long eight;
  __builtin_memcpy(&eight, from, 8);
  return _mm512_set1_epi64(eight);
}

inline __m256i ReduceWide(__m512i sums) {
  return Reduce(_mm512_castsi512_si256(sums), _mm512_extracti64x4_epi64(sums, 1));
}

void hamilton_gemv_s8_16x4_avx512vnni(const Gemv& g) {
  const Corrections corrections = CorrectionsS8(g);
  const __m512i sign = _mm512_set1_epi8(-128);
  const std::int64_t half_bytes = g.groups * kSteps * 64;
  const std::uint8_t* weights = g.values;
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += kTileRows) {
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    __m512i sums[4][2];  // [column][half]
    Repeat<kColumns>([&](auto c) { sums[c][0] = sums[c][1] = _mm512_set1_epi64(InOneLane(corrections.columns[c])); });
    for (std::int64_t step = 0; step < g.groups * kSteps; ++step) {
      const __m512i low = _mm512_xor_si512(Load64(weights), sign);
      const __m512i high = _mm512_xor_si512(Load64(weights + half_bytes), sign);
      Repeat<kColumns>([&](auto c) {
        const __m512i x = Broadcast8Wide(xhat + c * kStep);
        sums[c][0] = MultiplyAdd(sums[c][0], low, x);
        sums[c][1] = MultiplyAdd(sums[c][1], high, x);
      });
      weights += 64;
      xhat += kColumns * kStep;
    }
    weights += half_bytes;
    Repeat<kColumns>([&](auto c) {
      StoreS8(g, row, c, ReduceWide(sums[c][0]));
      StoreS8(g, row + kHalfRows, c, ReduceWide(sums[c][1]));
    });
  }
}

void hamilton_gemv_s4_16x4_avx512vnni(const Gemv& g) {
  const __m512i eights = _mm512_set1_epi8(-0x78), fifteen = _mm512_set1_epi8(15);
  const std::uint8_t* weights = g.values;
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += kHalfRows) {
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    __m256 sums[4] = {};
    for (std::int64_t group = 0; group < g.groups; ++group) {
      const Corrections corrections = CorrectionsS4(g, group);
      __m512i parts[4];
      Repeat<kColumns>([&](auto c) { parts[c] = _mm512_set1_epi64(InOneLane(corrections.columns[c])); });
      Repeat<2>([&](auto) {
        const __m512i pair = _mm512_xor_si512(Load64(weights), eights);
        const __m512i w0 = _mm512_and_si512(pair, fifteen);
        const __m512i w1 = _mm512_and_si512(_mm512_srli_epi16(pair, 4), fifteen);
        Repeat<kColumns>([&](auto c) {
          parts[c] = MultiplyAdd(parts[c], w0, Broadcast8Wide(xhat + c * kStep));
          parts[c] = MultiplyAdd(parts[c], w1, Broadcast8Wide(xhat + (kColumns + c) * kStep));
        });
        weights += 64;
        xhat += 2 * kColumns * kStep;
      });
      const std::uint8_t* scales = HalfScales(g, row, group);
      Repeat<kColumns>([&](auto c) { sums[c] = AddGroup(sums[c], ReduceWide(parts[c]), scales); });
    }
    Repeat<kColumns>([&](auto c) { Store(g, row, c, sums[c]); });
  }
}

// kTiles tiles side by side: enough sums to hide an addition's latency.
template <int kTiles>
void MultiplyF32(const Gemv& g, std::int64_t tile) {
  const std::int64_t depth = g.groups * kGroup;
  const std::uint8_t* weights = g.values + tile * g.groups * ValueBytes(32);
  const float* xhat = static_cast<const float*>(g.xhat);
  __m512 sums[4][kTiles] = {};
  for (std::int64_t k = 0; k < depth; ++k) {
    __m512 w[kTiles];
    Repeat<kTiles>([&](auto t) { w[t] = _mm512_loadu_ps(weights + t * g.groups * ValueBytes(32)); });
    Repeat<kColumns>([&](auto c) {
      const __m512 x = _mm512_set1_ps(xhat[c]);
      Repeat<kTiles>([&](auto t) { sums[c][t] = _mm512_fmadd_ps(w[t], x, sums[c][t]); });
    });
    weights += kTileRows * 4;
    xhat += kColumns;
  }
  Repeat<kTiles>([&](auto t) {
    Repeat<kColumns>([&](auto c) {
      const std::int64_t row = (tile + t) * kTileRows;
      const __m512 init = _mm512_loadu_ps(g.init + c * g.init_stride + row);
      _mm512_storeu_ps(g.out + c * g.out_stride + row, _mm512_fmadd_ps(sums[c][t], _mm512_set1_ps(g.multiplier[c]), init));
    });
  });
}

void hamilton_gemv_f32_16x4_avx512vnni(const Gemv& g) {
  std::int64_t tile = 0;
  for (; tile + 4 <= g.tiles; tile += 4) MultiplyF32<4>(g, tile);
  for (; tile < g.tiles; ++tile) MultiplyF32<1>(g, tile);
}

void expand_s8_avx512vnni(const Expand& e) {
  ExpandWithSums(e, [](__m256i sum, __m256i w, __m256i x) { return _mm256_dpbusd_epi32(sum, w, x); });
}

}  // namespace

const Kernels kernels_avx512vnni = {"avx512vnni",
                                    hamilton_gemv_f32_16x4_avx512vnni,
                                    hamilton_gemv_s8_16x4_avx512vnni,
                                    hamilton_gemv_s4_16x4_avx512vnni,
                                    expand_f32_avx2,
                                    expand_s8_avx512vnni,
                                    rnn_f32_avx2,
                                    rnn_s8_avx2,
                                    lstm_f32_avx2,
                                    lstm_s8_avx2};

}  // namespace tetraphone
