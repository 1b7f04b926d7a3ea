// Any ARMv8-A processor.

#include "neon.h"

#include "../body.h"
#include "../instruction_sets.h"

namespace tetraphone {
namespace {

struct Neon {
  static constexpr int kLanes = 4;
  float32x4_t value;

  static Neon Set(float a) { return {vdupq_n_f32(a)}; }
  static Neon Load(const float* from) { return {vld1q_f32(from)}; }
  void Store(float* to) const { vst1q_f32(to, value); }
  static Neon Add(Neon a, Neon b) { return {vaddq_f32(a.value, b.value)}; }
  static Neon Sub(Neon a, Neon b) { return {vsubq_f32(a.value, b.value)}; }
  static Neon Mul(Neon a, Neon b) { return {vmulq_f32(a.value, b.value)}; }
  static Neon Div(Neon a, Neon b) { return {vdivq_f32(a.value, b.value)}; }
  static Neon Min(Neon a, Neon b) { return {vminq_f32(a.value, b.value)}; }
  static Neon Max(Neon a, Neon b) { return {vmaxq_f32(a.value, b.value)}; }
  static Neon Fma(Neon a, Neon b, Neon c) { return {vfmaq_f32(c.value, a.value, b.value)}; }
  static Neon Abs(Neon a) { return {vabsq_f32(a.value)}; }
  static Neon Negate(Neon a) { return {vnegq_f32(a.value)}; }
  static Neon PowerOfTwo(Neon a) { return {vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(a.value), 23))}; }
  static void StoreColumns(float* to, const Neon (&columns)[4]) {
    const float32x4x4_t values = {{columns[0].value, columns[1].value, columns[2].value, columns[3].value}};
    vst4q_f32(to, values);
  }
  static void Round(const Neon (&x)[4], std::int8_t* q, std::int8_t* negative) {
    const int16x8_t low = vqmovn_high_s32(vqmovn_s32(vcvtnq_s32_f32(x[0].value)), vcvtnq_s32_f32(x[1].value));
    const int16x8_t high = vqmovn_high_s32(vqmovn_s32(vcvtnq_s32_f32(x[2].value)), vcvtnq_s32_f32(x[3].value));
    const int8x16_t rounded = vmaxq_s8(vqmovn_high_s16(vqmovn_s16(low), high), vdupq_n_s8(-127));
    vst1q_s8(q, rounded);
    vst1q_s8(negative, vnegq_s8(rounded));
  }
};

// Sums of eight rows and two columns, [column][row]. The columns of X^ lie in pairs.
using Tile = int32x4_t[2][8];

// Two steps of a pair of rows times a column; adds them to the sums of the two rows, or sets these (kFirst). |sum of
// two products| <= 2 * 127 * 127 fits in 16 bits. Assembly, because 16 sums, 12 operands and two temporaries fit in the
// registers in this order only, which compilers do not keep.
template <bool kFirst>
[[gnu::always_inline]] inline void AddPair(int8x16_t w0, int8x16_t w1, int8x16_t x0, int8x16_t x1, int32x4_t (&sums)[8],
                                           int pair) {
#define TETRAPHONE_PRODUCTS                   \
  "smull %[t0].8h, %[w0].8b, %[x0].8b\n\t"    \
  "smull2 %[t1].8h, %[w0].16b, %[x0].16b\n\t" \
  "smlal %[t0].8h, %[w1].8b, %[x1].8b\n\t"    \
  "smlal2 %[t1].8h, %[w1].16b, %[x1].16b\n\t"
  int32x4_t first, second;
  int16x8_t t0, t1;
  if constexpr (kFirst) {
    asm(TETRAPHONE_PRODUCTS
        "saddlp %[first].4s, %[t0].8h\n\t"
        "saddlp %[second].4s, %[t1].8h"
        : [first] "=w"(first), [second] "=w"(second), [t0] "=&w"(t0), [t1] "=&w"(t1)
        : [w0] "w"(w0), [w1] "w"(w1), [x0] "w"(x0), [x1] "w"(x1));
  } else {
    first = sums[2 * pair];
    second = sums[2 * pair + 1];
    asm(TETRAPHONE_PRODUCTS
        "sadalp %[first].4s, %[t0].8h\n\t"
        "sadalp %[second].4s, %[t1].8h"
        : [first] "+w"(first), [second] "+w"(second), [t0] "=&w"(t0), [t1] "=&w"(t1)
        : [w0] "w"(w0), [w1] "w"(w1), [x0] "w"(x0), [x1] "w"(x1));
  }
#undef TETRAPHONE_PRODUCTS
  sums[2 * pair] = first;
  sums[2 * pair + 1] = second;
}

template <bool kFirst>
[[gnu::always_inline]] inline void MultiplyS8(const std::int8_t*& weights, const std::int8_t*& xhat, Tile& sums) {
  const int8x16x4_t w0 = Next64(weights), w1 = Next64(weights), x = Next64(xhat);
  Repeat<4>([&](auto pair) {
    AddPair<kFirst>(w0.val[pair], w1.val[pair], x.val[0], x.val[2], sums[0], pair);
    AddPair<kFirst>(w0.val[pair], w1.val[pair], x.val[1], x.val[3], sums[1], pair);
  });
}

template <bool kFirst>
[[gnu::always_inline]] inline void MultiplyS4(const std::int8_t*& weights, const std::int8_t*& xhat, Tile& sums) {
  const int8x16x4_t w = Next64(weights), x = Next64(xhat);
  Repeat<4>([&](auto pair) {
    const int8x16_t w0 = LowNibbles(w.val[pair]), w1 = HighNibbles(w.val[pair]);
    AddPair<kFirst>(w0, w1, x.val[0], x.val[2], sums[0], pair);
    AddPair<kFirst>(w0, w1, x.val[1], x.val[3], sums[1], pair);
  });
}

// The sums of four rows.
template <int kQuarter>
inline int32x4_t Reduce(const int32x4_t (&sums)[8]) {
  return vpaddq_s32(vpaddq_s32(sums[4 * kQuarter], sums[4 * kQuarter + 1]),
                    vpaddq_s32(sums[4 * kQuarter + 2], sums[4 * kQuarter + 3]));
}

// Eight rows and the columns 2 * kColumnPair, 2 * kColumnPair + 1; moves xhat on to the next two.
template <int kColumnPair>
[[gnu::always_inline]] inline void GemvS8(const Gemv& g, const End& end, std::int64_t row, const std::int8_t*& xhat) {
  const std::int8_t* weights = Signed(g.values) + row * g.groups * kGroup;
  Tile sums;
  const std::int8_t* const last = xhat + g.groups * kGroup * 4;
  MultiplyS8<true>(weights, xhat, sums);
  MultiplyS8<false>(weights, xhat, sums);
  while (xhat != last) {
    MultiplyS8<false>(weights, xhat, sums);
    MultiplyS8<false>(weights, xhat, sums);
  }
  const float32x4_t multipliers = end.Multipliers(), scale0 = end.LoadScales(row), scale1 = end.LoadScales(row + 4);
  Repeat<2>([&](auto c) {
    constexpr Index<2 * kColumnPair + c> column;
    end.StoreS8(row, column, Reduce<0>(sums[c]), scale0, multipliers);
    end.StoreS8(row + 4, column, Reduce<1>(sums[c]), scale1, multipliers);
  });
}

template <int kColumnPair>
[[gnu::always_inline]] inline void GemvS4(const Gemv& g, const End& end, std::int64_t row, const std::int8_t*& xhat) {
  const std::int8_t* weights = Signed(g.values) + row * g.groups * kGroup / 2;
  const std::uint8_t* scales = g.scales + (row / kTileRows * g.groups * kTileRows + row % kTileRows) * 2;
  float32x4_t sums[2][2] = {};  // [column][four rows]
  for (std::int64_t group = 0; group < g.groups; ++group) {
    Tile parts;
    MultiplyS4<true>(weights, xhat, parts);
    MultiplyS4<false>(weights, xhat, parts);
    const float32x4_t scale0 = LoadHalfScales(scales), scale1 = LoadHalfScales(scales + 8);
    Repeat<2>([&](auto c) {
      sums[c][0] = AddGroup(sums[c][0], Reduce<0>(parts[c]), scale0);
      sums[c][1] = AddGroup(sums[c][1], Reduce<1>(parts[c]), scale1);
    });
    scales += kTileRows * 2;
  }
  const float32x4_t multipliers = end.Multipliers();
  Repeat<2>([&](auto c) {
    constexpr Index<2 * kColumnPair + c> column;
    end.Store(row, column, sums[c][0], multipliers);
    end.Store(row + 4, column, sums[c][1], multipliers);
  });
}

void hamilton_gemv_s8_16x4_neon(const Gemv& g) {
  const End end(g);
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += 8) {
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    GemvS8<0>(g, end, row, xhat);
    GemvS8<1>(g, end, row, xhat);
  }
}

void hamilton_gemv_s4_16x4_neon(const Gemv& g) {
  const End end(g);
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += 8) {
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    GemvS4<0>(g, end, row, xhat);
    GemvS4<1>(g, end, row, xhat);
  }
}

template <int kLane>
inline void MultiplyColumns(const float32x4x4_t& w, float32x4_t x, float32x4_t (&sums)[4]) {
  Repeat<4>([&](auto i) { sums[i] = vfmaq_laneq_f32(sums[i], w.val[i], x, kLane); });
}

}  // namespace

void hamilton_gemv_f32_16x4_neon(const Gemv& g) {
  const End end(g);
  const float* weights = reinterpret_cast<const float*>(g.values);
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += kTileRows) {
    const float* xhat = static_cast<const float*>(g.xhat);
    float32x4_t sums[4][4] = {};  // [column][four rows]
    for (std::int64_t k = 0; k < g.groups * kGroup; k += 4) {
      const float32x4x4_t x = vld1q_f32_x4(xhat);
      Repeat<4>([&](auto i) {
        const float32x4x4_t w = vld1q_f32_x4(weights + i * kTileRows);
        MultiplyColumns<0>(w, x.val[i], sums[0]);
        MultiplyColumns<1>(w, x.val[i], sums[1]);
        MultiplyColumns<2>(w, x.val[i], sums[2]);
        MultiplyColumns<3>(w, x.val[i], sums[3]);
      });
      weights += 4 * kTileRows;
      xhat += 4 * kColumns;
    }
    const float32x4_t multipliers = end.Multipliers();
    Repeat<kColumns>([&](auto c) { Repeat<4>([&](auto i) { end.Store(row + 4 * i, c, sums[c][i], multipliers); }); });
  }
}

void expand_f32_neon(const Expand& e) { ExpandF32Body<Neon>(e); }
void expand_s8_4x1_neon(const Expand& e) { ExpandS8Body<Neon, 4, 1>(e); }
void expand_s8_4x2_neon(const Expand& e) { ExpandS8Body<Neon, 4, 2>(e); }

const GateKernels gates_neon = MakeGateKernels<Neon>();

const Kernels kernels_neon = {"neon",
                              1,
                              hamilton_gemv_f32_16x4_neon,
                              hamilton_gemv_s8_16x4_neon,
                              hamilton_gemv_s4_16x4_neon,
                              expand_f32_neon,
                              ExpandS8Body<Neon, 2, 2>,
                              ExpandS8Body<Neon, 2, 2>,
                              &gates_neon};

}  // namespace tetraphone
