// AVX-512 with VNNI: eight rows of a step in one register.

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12's own header reads an undefined vector on purpose
#endif

#include "../body.h"
#include "../instruction_sets.h"
#include "vnni.h"

namespace tetraphone {
namespace {

struct Avx512 {
  static constexpr int kLanes = 16;
  __m512 value;

  static Avx512 Set(float a) { return {_mm512_set1_ps(a)}; }
  static Avx512 Load(const float* from) { return {_mm512_loadu_ps(from)}; }
  void Store(float* to) const { _mm512_storeu_ps(to, value); }
  static Avx512 Add(Avx512 a, Avx512 b) { return {_mm512_add_ps(a.value, b.value)}; }
  static Avx512 Sub(Avx512 a, Avx512 b) { return {_mm512_sub_ps(a.value, b.value)}; }
  static Avx512 Mul(Avx512 a, Avx512 b) { return {_mm512_mul_ps(a.value, b.value)}; }
  static Avx512 Div(Avx512 a, Avx512 b) { return {_mm512_div_ps(a.value, b.value)}; }
  static Avx512 Min(Avx512 a, Avx512 b) { return {_mm512_min_ps(a.value, b.value)}; }
  static Avx512 Max(Avx512 a, Avx512 b) { return {_mm512_max_ps(a.value, b.value)}; }
  static Avx512 Fma(Avx512 a, Avx512 b, Avx512 c) { return {_mm512_fmadd_ps(a.value, b.value, c.value)}; }
  static Avx512 PowerOfTwo(Avx512 a) {
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(a.value), 23))};
  }
};

inline __m512i MultiplyAdd(__m512i sum, __m512i unsigned_bytes, __m512i signed_bytes) {
  return _mm512_dpbusd_epi32(sum, unsigned_bytes, signed_bytes);
}

inline __m512i Load64(const std::uint8_t* from) { return _mm512_loadu_si512(from); }

inline __m512i Broadcast8Wide(const std::int8_t* from) {
  long long eight;
  __builtin_memcpy(&eight, from, 8);
  return _mm512_set1_epi64(eight);
}

// The sums of a tile from the lanes of its halves: a row's lie in two neighbouring lanes.
inline __m512i Reduce(__m512i low, __m512i high) {
  const __m512i first = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i second = _mm512_or_si512(first, _mm512_set1_epi32(1));
  return _mm512_add_epi32(_mm512_permutex2var_epi32(low, first, high), _mm512_permutex2var_epi32(low, second, high));
}

// The end of a product: a tile of a column.
inline void StoreTile(const Gemv& g, std::int64_t row, int column, __m512 sum) {
  const __m512 init = _mm512_loadu_ps(g.init + column * g.init_stride + row);
  _mm512_storeu_ps(g.out + column * g.out_stride + row,
                   _mm512_fmadd_ps(sum, _mm512_set1_ps(g.multiplier[column]), init));
}

// Calls multiply(Index<tiles>, tile) for all tiles from `tile` on, kTogether side by side as long as there are so many,
// then half as many: enough sums to hide an addition's latency.
template <int kTogether, typename Multiply>
inline void ForTiles(const Gemv& g, const Multiply& multiply, std::int64_t tile = 0) {
  for (; tile + kTogether <= g.tiles; tile += kTogether) multiply(Index<kTogether>(), tile);
  if constexpr (kTogether > 1) ForTiles<kTogether / 2>(g, multiply, tile);
}

template <int kTiles>
void MultiplyS8(const Gemv& g, std::int64_t tile) {
  const std::int64_t half_bytes = g.groups * kSteps * 64;
  const std::uint8_t* weights = g.values + 2 * tile * half_bytes;
  const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
  __m512i sums[4][2 * kTiles];  // [column][half]
  Repeat<2 * kTiles>([&](auto half) {
    const __m512i begin = _mm512_cvtepu32_epi64(LoadCorrections(g.sums + (2 * tile + half) * kHalfRows * 4));
    Repeat<kColumns>([&](auto c) { sums[c][half] = begin; });
  });
  for (std::int64_t step = 0; step < g.groups * kSteps; ++step) {
    __m512i w[2 * kTiles];
    Repeat<2 * kTiles>([&](auto half) { w[half] = Load64(weights + half * half_bytes); });
    Repeat<kColumns>([&](auto c) {
      const __m512i x = Broadcast8Wide(xhat + c * kStep);
      Repeat<2 * kTiles>([&](auto half) { sums[c][half] = MultiplyAdd(sums[c][half], x, w[half]); });
    });
    weights += 64;
    xhat += kColumns * kStep;
  }
  Repeat<kTiles>([&](auto t) {
    const std::int64_t row = (tile + t) * kTileRows;
    const __m512 scales = _mm512_castsi512_ps(Load64(g.scales + row * 4));
    Repeat<kColumns>([&](auto c) {
      const __m512i sum = Reduce(sums[c][2 * t], sums[c][2 * t + 1]);
      StoreTile(g, row, c, _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scales));
    });
  });
}

void hamilton_gemv_s8_16x4_avx512vnni(const Gemv& g) {
  ForTiles<2>(g, [&](auto tiles, std::int64_t tile) { MultiplyS8<tiles>(g, tile); });
}

void hamilton_gemv_s4_16x4_avx512vnni(const Gemv& g) {
  const __m512i eights = _mm512_set1_epi8(-0x78), fifteen = _mm512_set1_epi8(15);
  const std::int64_t half_bytes = g.groups * kSteps * 32;
  const std::uint8_t* weights = g.values;
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += kTileRows) {
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    __m512 sums[4] = {};
    for (std::int64_t group = 0; group < g.groups; ++group) {
      const Corrections corrections = CorrectionsS4(g, group);
      __m512i parts[4][2];  // [column][half]
      Repeat<kColumns>(
          [&](auto c) { parts[c][0] = parts[c][1] = _mm512_set1_epi64(InOneLane(corrections.columns[c])); });
      Repeat<2>([&](auto) {
        __m512i w[2][2];  // [half][step]
        Repeat<2>([&](auto half) {
          const __m512i pair = _mm512_xor_si512(Load64(weights + half * half_bytes), eights);
          w[half][0] = _mm512_and_si512(pair, fifteen);
          w[half][1] = _mm512_and_si512(_mm512_srli_epi16(pair, 4), fifteen);
        });
        Repeat<kColumns>([&](auto c) {
          Repeat<2>([&](auto step) {
            const __m512i x = Broadcast8Wide(xhat + (step * kColumns + c) * kStep);
            Repeat<2>([&](auto half) { parts[c][half] = MultiplyAdd(parts[c][half], w[half][step], x); });
          });
        });
        weights += 64;
        xhat += 2 * kColumns * kStep;
      });
      const __m512 scales = _mm512_cvtph_ps(Load32(HalfScales(g, row, group)));
      Repeat<kColumns>([&](auto c) {
        sums[c] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(Reduce(parts[c][0], parts[c][1])), scales, sums[c]);
      });
    }
    weights += half_bytes;
    Repeat<kColumns>([&](auto c) { StoreTile(g, row, c, sums[c]); });
  }
}

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
  Repeat<kTiles>(
      [&](auto t) { Repeat<kColumns>([&](auto c) { StoreTile(g, (tile + t) * kTileRows, c, sums[c][t]); }); });
}

void hamilton_gemv_f32_16x4_avx512vnni(const Gemv& g) {
  ForTiles<4>(g, [&](auto tiles, std::int64_t tile) { MultiplyF32<tiles>(g, tile); });
}

void expand_s4_avx512vnni(const Expand& e) {
  ExpandWithSums(e, [](__m256i sum, __m256i w, __m256i x) { return _mm256_dpbusd_epi32(sum, w, x); });
}

constexpr GateKernels kGates = MakeGateKernels<Avx512>();

}  // namespace

const Kernels kernels_avx512vnni = {"avx512vnni",
                                    4,
                                    hamilton_gemv_f32_16x4_avx512vnni,
                                    hamilton_gemv_s8_16x4_avx512vnni,
                                    hamilton_gemv_s4_16x4_avx512vnni,
                                    expand_f32_avx2,
                                    expand_u8_avx2,
                                    expand_s4_avx512vnni,
                                    &kGates};

}  // namespace tetraphone
