// WebAssembly's vectors of 128 bits. X^ is widened to 16 bits, of which a lane adds two products; the weights are
// widened as they are loaded.

#include <wasm_simd128.h>

#include "../body.h"
#include "../instruction_sets.h"

namespace tetraphone {
namespace {

// The sum of two doubles, its last bit odd where it is not exact: what rounds it again, to fewer than 52 bits, then
// rounds the exact sum (Boldo and Melquiond, 2008). `sum` is a + b as it is rounded.
v128_t OddSum(v128_t a, v128_t b, v128_t sum) {
  const v128_t second = wasm_f64x2_sub(sum, a);
  const v128_t error = wasm_f64x2_add(wasm_f64x2_sub(a, wasm_f64x2_sub(sum, second)), wasm_f64x2_sub(b, second));
  const v128_t inexact = wasm_f64x2_gt(wasm_f64x2_abs(error), wasm_f64x2_const_splat(0));  // not for NaN
  const v128_t even = wasm_i64x2_sub(wasm_v128_and(sum, wasm_i64x2_const_splat(1)), wasm_i64x2_const_splat(1));
  const v128_t towards = wasm_v128_or(wasm_i64x2_shr(wasm_v128_xor(error, sum), 63), wasm_i64x2_const_splat(1));
  return wasm_i64x2_add(sum, wasm_v128_and(towards, wasm_v128_and(inexact, even)));
}

v128_t UpperHalf(v128_t a) { return wasm_i32x4_shuffle(a, a, 2, 3, 2, 3); }

v128_t Demote(v128_t low, v128_t high) {
  return wasm_i32x4_shuffle(wasm_f32x4_demote_f64x2_zero(low), wasm_f32x4_demote_f64x2_zero(high), 0, 1, 4, 5);
}

// a * b + c rounded once. A product of floats is exact as a double; so is, nearly always, what rounding the sum twice
// gives: not where the double lies half way between two floats, which the last bits of a normal result show.
v128_t Fma(v128_t a, v128_t b, v128_t c) {
  const v128_t low_product = wasm_f64x2_mul(wasm_f64x2_promote_low_f32x4(a), wasm_f64x2_promote_low_f32x4(b));
  const v128_t high_product = wasm_f64x2_mul(wasm_f64x2_promote_low_f32x4(UpperHalf(a)),
                                             wasm_f64x2_promote_low_f32x4(UpperHalf(b)));
  const v128_t low_c = wasm_f64x2_promote_low_f32x4(c), high_c = wasm_f64x2_promote_low_f32x4(UpperHalf(c));
  const v128_t low = wasm_f64x2_add(low_product, low_c), high = wasm_f64x2_add(high_product, high_c);
  const v128_t result = Demote(low, high);
  const v128_t last = wasm_i32x4_shl(wasm_i32x4_shuffle(low, high, 0, 2, 4, 6), 3);  // of 29 that are rounded away
  const v128_t half_way = wasm_i32x4_eq(last, wasm_i32x4_const_splat(INT32_MIN));
  const v128_t tiny = wasm_f32x4_le(wasm_f32x4_abs(result), wasm_f32x4_const_splat(0x1p-126f));
  if (__builtin_expect(!wasm_v128_any_true(wasm_v128_or(half_way, tiny)), 1)) return result;
  return Demote(OddSum(low_product, low_c, low), OddSum(high_product, high_c, high));
}

struct Simd128 {
  static constexpr int kLanes = 4;
  v128_t value;

  static Simd128 Set(float a) { return {wasm_f32x4_splat(a)}; }
  static Simd128 Load(const float* from) { return {wasm_v128_load(from)}; }
  void Store(float* to) const { wasm_v128_store(to, value); }
  static Simd128 Add(Simd128 a, Simd128 b) { return {wasm_f32x4_add(a.value, b.value)}; }
  static Simd128 Sub(Simd128 a, Simd128 b) { return {wasm_f32x4_sub(a.value, b.value)}; }
  static Simd128 Mul(Simd128 a, Simd128 b) { return {wasm_f32x4_mul(a.value, b.value)}; }
  static Simd128 Div(Simd128 a, Simd128 b) { return {wasm_f32x4_div(a.value, b.value)}; }
  static Simd128 Min(Simd128 a, Simd128 b) { return {wasm_f32x4_pmin(b.value, a.value)}; }  // a < b ? a : b
  static Simd128 Max(Simd128 a, Simd128 b) { return {wasm_f32x4_pmax(b.value, a.value)}; }
  static Simd128 Fma(Simd128 a, Simd128 b, Simd128 c) { return {tetraphone::Fma(a.value, b.value, c.value)}; }
  static Simd128 Abs(Simd128 a) { return {wasm_f32x4_abs(a.value)}; }
  static Simd128 Negate(Simd128 a) { return {wasm_f32x4_neg(a.value)}; }
  static Simd128 PowerOfTwo(Simd128 a) { return {wasm_i32x4_shl(a.value, 23)}; }
  static void StoreColumns(float* to, const Simd128 (&columns)[4]) {
    const v128_t low01 = wasm_i32x4_shuffle(columns[0].value, columns[1].value, 0, 4, 1, 5);
    const v128_t high01 = wasm_i32x4_shuffle(columns[0].value, columns[1].value, 2, 6, 3, 7);
    const v128_t low23 = wasm_i32x4_shuffle(columns[2].value, columns[3].value, 0, 4, 1, 5);
    const v128_t high23 = wasm_i32x4_shuffle(columns[2].value, columns[3].value, 2, 6, 3, 7);
    wasm_v128_store(to, wasm_i64x2_shuffle(low01, low23, 0, 2));
    wasm_v128_store(to + 4, wasm_i64x2_shuffle(low01, low23, 1, 3));
    wasm_v128_store(to + 8, wasm_i64x2_shuffle(high01, high23, 0, 2));
    wasm_v128_store(to + 12, wasm_i64x2_shuffle(high01, high23, 1, 3));
  }
  static void Round(const Simd128 (&x)[4], std::int8_t* q, std::int8_t* negative) {
    v128_t whole[4];
    Repeat<4>([&](auto i) {
      whole[i] = wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(Max(Set(-127), Min(Set(127), x[i])).value));
    });
    const v128_t rounded = wasm_i8x16_narrow_i16x8(wasm_i16x8_narrow_i32x4(whole[0], whole[1]),
                                                   wasm_i16x8_narrow_i32x4(whole[2], whole[3]));
    wasm_v128_store(q, rounded);
    wasm_v128_store(negative, wasm_i8x16_neg(rounded));
  }
};

constexpr int kRows = 4;  // of a vector of sums
constexpr int kPair = 2;  // of them at a time, for all four columns: what the registers hold

// [depth / 8][4 columns][8] of 16 bits, made of the same of 8 bits from the end.
void ExpandS16(const Expand& e) {
  ExpandS8Body<Simd128, 4, 1>(e);
  std::int8_t* xhat = static_cast<std::int8_t*>(e.xhat);
  for (std::int64_t at = e.groups * kGroup * kColumns - kStep; at >= 0; at -= kStep) {
    wasm_v128_store(xhat + 2 * at, wasm_i16x8_load8x8(xhat + at));
  }
}

// The sums of four vectors' lanes: of two and two, then of all.
v128_t Half(v128_t a, v128_t b) {
  return wasm_i32x4_add(wasm_i32x4_shuffle(a, b, 0, 1, 4, 5), wasm_i32x4_shuffle(a, b, 2, 3, 6, 7));
}
v128_t Join(v128_t ab, v128_t cd) {
  return wasm_i32x4_add(wasm_i32x4_shuffle(ab, cd, 0, 2, 4, 6), wasm_i32x4_shuffle(ab, cd, 1, 3, 5, 7));
}

v128_t AddProducts(v128_t sum, v128_t w, v128_t x) { return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(w, x)); }

// The end of a product: four rows of a column.
void Store(const Gemv& g, std::int64_t row, std::int64_t column, v128_t sum) {
  const v128_t init = wasm_v128_load(g.init + column * g.init_stride + row);
  wasm_v128_store(g.out + column * g.out_stride + row, Fma(sum, wasm_f32x4_splat(g.multiplier[column]), init));
}

void hamilton_gemv_f32_16x4_simd128(const Gemv& g) {
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += kRows) {
    const float* weights =
        reinterpret_cast<const float*>(g.values) + row / kTileRows * g.groups * kGroup * kTileRows + row % kTileRows;
    const float* xhat = static_cast<const float*>(g.xhat);
    v128_t sums[kColumns] = {};
    for (std::int64_t k = 0; k < g.groups * kGroup; ++k) {
      const v128_t w = wasm_v128_load(weights + k * kTileRows);
      Repeat<kColumns>([&](auto c) { sums[c] = Fma(w, wasm_v128_load32_splat(xhat + k * kColumns + c), sums[c]); });
    }
    Repeat<kColumns>([&](auto c) { Store(g, row, c, sums[c]); });
  }
}

void hamilton_gemv_s8_16x4_simd128(const Gemv& g) {
  const std::int64_t steps = g.groups * kSteps;
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += kRows) {
    v128_t halves[kRows / kPair][kColumns];
    Repeat<kRows / kPair>([&](auto half) {
      const std::uint8_t* weights = g.values + (row / 8 * steps * 8 + row % 8 + half * kPair) * kStep;
      const std::int16_t* xhat = static_cast<const std::int16_t*>(g.xhat);
      v128_t sums[kColumns][kPair] = {};
      for (std::int64_t group = 0; group < g.groups; ++group) {
        Repeat<kSteps>([&](auto) {
          const v128_t w0 = wasm_i16x8_load8x8(weights), w1 = wasm_i16x8_load8x8(weights + kStep);
          Repeat<kColumns>([&](auto c) {
            const v128_t x = wasm_v128_load(xhat + c * kStep);
            sums[c][0] = AddProducts(sums[c][0], w0, x);
            sums[c][1] = AddProducts(sums[c][1], w1, x);
          });
          weights += 8 * kStep;
          xhat += kColumns * kStep;
        });
      }
      Repeat<kColumns>([&](auto c) { halves[half][c] = Half(sums[c][0], sums[c][1]); });
    });
    const v128_t scales = wasm_v128_load(g.scales + row * 4);
    Repeat<kColumns>([&](auto c) {
      const v128_t sum = Join(halves[0][c], halves[1][c]);
      Store(g, row, c, wasm_f32x4_mul(wasm_f32x4_convert_i32x4(sum), scales));
    });
  }
}

// Four halves, none of which is infinite: also as a float's their bits are in order, but for the exponent's bias.
v128_t LoadHalves(const std::uint8_t* from) {
  const v128_t bits = wasm_u32x4_load16x4(from);
  const v128_t magnitude = wasm_f32x4_mul(wasm_i32x4_shl(wasm_v128_and(bits, wasm_i32x4_const_splat(0x7fff)), 13),
                                          wasm_f32x4_const_splat(0x1p112f));
  return wasm_v128_or(magnitude, wasm_i32x4_shl(wasm_v128_and(bits, wasm_i32x4_const_splat(0x8000)), 16));
}

void hamilton_gemv_s4_16x4_simd128(const Gemv& g) {
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += kRows) {
    const std::uint8_t* weights = g.values + (row / 8 * g.groups * 2 * 8 + row % 8) * kStep;
    const std::uint8_t* scales = g.scales + (row / kTileRows * g.groups * kTileRows + row % kTileRows) * 2;
    const std::int16_t* xhat = static_cast<const std::int16_t*>(g.xhat);
    v128_t sums[kColumns] = {};
    for (std::int64_t group = 0; group < g.groups; ++group) {
      v128_t halves[kRows / kPair][kColumns];
      Repeat<kRows / kPair>([&](auto half) {
        v128_t parts[kColumns][kPair] = {};
        Repeat<2>([&](auto two) {
          v128_t low[kPair], high[kPair];
          Repeat<kPair>([&](auto i) {
            const v128_t both = wasm_i16x8_load8x8(weights + (two * 8 + half * kPair + i) * kStep);
            low[i] = wasm_i16x8_shr(wasm_i16x8_shl(both, 12), 12);
            high[i] = wasm_i16x8_shr(both, 4);
          });
          Repeat<kColumns>([&](auto c) {
            const v128_t x0 = wasm_v128_load(xhat + (2 * two * kColumns + c) * kStep);
            const v128_t x1 = wasm_v128_load(xhat + ((2 * two + 1) * kColumns + c) * kStep);
            Repeat<kPair>([&](auto i) {
              parts[c][i] = AddProducts(AddProducts(parts[c][i], low[i], x0), high[i], x1);
            });
          });
        });
        Repeat<kColumns>([&](auto c) { halves[half][c] = Half(parts[c][0], parts[c][1]); });
      });
      const v128_t scale = LoadHalves(scales + group * kTileRows * 2);
      Repeat<kColumns>([&](auto c) {
        sums[c] = Fma(wasm_f32x4_convert_i32x4(Join(halves[0][c], halves[1][c])), scale, sums[c]);
      });
      weights += 2 * 8 * kStep;
      xhat += kSteps * kColumns * kStep;
    }
    Repeat<kColumns>([&](auto c) { Store(g, row, c, sums[c]); });
  }
}

constexpr GateKernels kGates = MakeGateKernels<Simd128>();

}  // namespace

const Kernels kernels_simd128 = {"simd128",
                                 1,
                                 hamilton_gemv_f32_16x4_simd128,
                                 hamilton_gemv_s8_16x4_simd128,
                                 hamilton_gemv_s4_16x4_simd128,
                                 ExpandF32Body<Simd128>,
                                 ExpandS16,
                                 ExpandS16,
                                 &kGates};

}  // namespace tetraphone
