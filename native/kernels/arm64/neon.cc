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
    asm volatile(TETRAPHONE_PRODUCTS
        "saddlp %[first].4s, %[t0].8h\n\t"
        "saddlp %[second].4s, %[t1].8h"
        : [first] "=w"(first), [second] "=w"(second), [t0] "=&w"(t0), [t1] "=&w"(t1)
        : [w0] "w"(w0), [w1] "w"(w1), [x0] "w"(x0), [x1] "w"(x1));
  } else {
    first = sums[2 * pair];
    second = sums[2 * pair + 1];
    asm volatile(TETRAPHONE_PRODUCTS
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

// int4: 32 products of a weight, at most 8, and 127 fit in 16 bits, so those of a group are added up there. Weights are
// used as they are.
inline int8x16_t SignedLowNibbles(int8x16_t pair) { return vshrq_n_s8(vshlq_n_s8(pair, 4), 4); }
inline int8x16_t SignedHighNibbles(int8x16_t pair) { return vshrq_n_s8(pair, 4); }

// A step of two rows times a column.
template <bool kFirst>
[[gnu::always_inline]] inline void MultiplyS4(int8x16_t w, int8x16_t x, int16x8_t (&sums)[2]) {
  const int8x8_t w_low = vget_low_s8(w), x_low = vget_low_s8(x);
  sums[0] = kFirst ? vmull_s8(w_low, x_low) : vmlal_s8(sums[0], w_low, x_low);
  sums[1] = kFirst ? vmull_high_s8(w, x) : vmlal_high_s8(sums[1], w, x);
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
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += 4) {
    const std::int8_t* weights = Signed(g.values) + row / 8 * g.groups * 128 + row / 4 % 2 * 32;
    const std::uint8_t* scales = HalfScales(g, row);
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    const std::int8_t* const last = xhat + g.groups * kGroup * kColumns * 2;
    float32x4_t sums[4] = {};
    while (xhat != last) {
      int16x8_t parts[4][2][2];  // [column][pair][row]
      Repeat<2>([&](auto half) {
        const int8x16x2_t w = vld1q_s8_x2(weights);
        weights += 64;
        const int8x16x4_t low_x = Next64(xhat);
        Repeat<2>([&](auto pair) {
          const int8x16_t low = SignedLowNibbles(w.val[pair]);
          Repeat<kColumns>([&](auto c) { MultiplyS4<half == 0>(low, low_x.val[c], parts[c][pair]); });
        });
        const int8x16x4_t high_x = Next64(xhat);
        Repeat<2>([&](auto pair) {
          const int8x16_t high = SignedHighNibbles(w.val[pair]);
          Repeat<kColumns>([&](auto c) { MultiplyS4<false>(high, high_x.val[c], parts[c][pair]); });
        });
      });
      const float32x4_t scale = NextFourScales(scales);
      Repeat<kColumns>([&](auto c) {
        const int16x8_t rows01 = vpaddq_s16(parts[c][0][0], parts[c][0][1]);
        const int16x8_t rows23 = vpaddq_s16(parts[c][1][0], parts[c][1][1]);
        const int32x4_t sum = vpaddlq_s16(vpaddq_s16(rows01, rows23));
        sums[c] = vfmaq_f32(sums[c], vcvtq_f32_s32(sum), scale);
      });
    }
    const float32x4_t multipliers = end.Multipliers();
    Repeat<kColumns>([&](auto c) { end.Store(row, c, sums[c], multipliers); });
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
                              expand_s8_4x2_neon,
                              &gates_neon};

}  // namespace tetraphone
