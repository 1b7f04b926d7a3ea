// The reference: obvious loops.

#include <cmath>

#include "body.h"
#include "instruction_sets.h"

namespace tetraphone {
namespace {

struct Scalar {
  static constexpr int kLanes = 1;
  float value;

  static Scalar Set(float a) { return {a}; }
  static Scalar Load(const float* from) { return {*from}; }
  void Store(float* to) const { *to = value; }
  static Scalar Add(Scalar a, Scalar b) { return {a.value + b.value}; }
  static Scalar Sub(Scalar a, Scalar b) { return {a.value - b.value}; }
  static Scalar Mul(Scalar a, Scalar b) { return {a.value * b.value}; }
  static Scalar Div(Scalar a, Scalar b) { return {a.value / b.value}; }
  static Scalar Min(Scalar a, Scalar b) { return a.value < b.value ? a : b; }
  static Scalar Max(Scalar a, Scalar b) { return a.value > b.value ? a : b; }
  static Scalar Fma(Scalar a, Scalar b, Scalar c) { return {std::fma(a.value, b.value, c.value)}; }
  static Scalar Abs(Scalar a) { return {std::fabs(a.value)}; }
  static Scalar Negate(Scalar a) { return {-a.value}; }
  static Scalar PowerOfTwo(Scalar a) {
    std::uint32_t bits;
    std::memcpy(&bits, &a, 4);
    bits <<= 23;
    std::memcpy(&a, &bits, 4);
    return a;
  }
  static void StoreColumns(float* to, const Scalar (&columns)[4]) {
    for (int c = 0; c < 4; ++c) to[c] = columns[c].value;
  }
  static void Round(const Scalar (&x)[16], std::int8_t* q, std::int8_t* negative) {
    for (int i = 0; i < 16; ++i) {
      q[i] = static_cast<std::int8_t>(std::lrintf(Max(Set(-127), Min(Set(127), x[i])).value));
      negative[i] = static_cast<std::int8_t>(-q[i]);
    }
  }
};

float LoadFloat(const std::uint8_t* from) {
  float value;
  std::memcpy(&value, from, 4);
  return value;
}

float LoadHalf(const std::uint8_t* from) {
  const std::uint32_t half = from[0] | from[1] << 8;
  const float magnitude = half & 0x7c00 ? std::ldexp(static_cast<float>(1024 + (half & 1023)), (half >> 10 & 31) - 25)
                                        : std::ldexp(static_cast<float>(half & 1023), -24);
  return half & 0x8000 ? -magnitude : magnitude;
}

void Finish(const Gemv& g, std::int64_t row, int column, float sum) {
  const float init = LoadFloat(reinterpret_cast<const std::uint8_t*>(g.init + column * g.init_stride + row));
  g.out[column * g.out_stride + row] = std::fma(sum, g.multiplier[column], init);
}

void hamilton_gemv_f32_16x4(const Gemv& g) {
  const float* xhat = static_cast<const float*>(g.xhat);
  const std::int64_t depth = g.groups * kGroup;
  for (std::int64_t row = 0; row < g.tiles * kTileRows; ++row) {
    const std::uint8_t* weights = g.values + row / kTileRows * g.groups * ValueBytes(32) + row % kTileRows * 4;
    for (int c = 0; c < kColumns; ++c) {
      float sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        sum = std::fma(LoadFloat(weights + k * kTileRows * 4), xhat[k * kColumns + c], sum);
      }
      Finish(g, row, c, sum);
    }
  }
}

void hamilton_gemv_s8_16x4(const Gemv& g) {
  const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
  const std::int64_t steps = g.groups * kSteps;
  for (std::int64_t row = 0; row < g.tiles * kTileRows; ++row) {
    const std::uint8_t* weights = g.values + (row / 8 * steps * 8 + row % 8) * kStep;
    for (int c = 0; c < kColumns; ++c) {
      std::int32_t sum = 0;
      for (std::int64_t step = 0; step < steps; ++step) {
        for (int k = 0; k < kStep; ++k) {
          sum += static_cast<std::int8_t>(weights[step * 64 + k]) * xhat[(step * kColumns + c) * kStep + k];
        }
      }
      Finish(g, row, c, static_cast<float>(sum) * LoadFloat(g.scales + row * 4));
    }
  }
}

void hamilton_gemv_s4_16x4(const Gemv& g) {
  const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
  for (std::int64_t row = 0; row < g.tiles * kTileRows; ++row) {
    const std::uint8_t* weights = g.values + (row / 8 * g.groups * 2 * 8 + row % 8) * kStep;
    const std::uint8_t* scales = g.scales + (row / kTileRows * g.groups * kTileRows + row % kTileRows) * 2;
    for (int c = 0; c < kColumns; ++c) {
      float sum = 0;
      for (std::int64_t group = 0; group < g.groups; ++group) {
        std::int32_t part = 0;
        for (int step = 0; step < kSteps; ++step) {
          for (int k = 0; k < kStep; ++k) {
            const int nibble = weights[(group * 2 + step / 2) * 64 + k] >> step % 2 * 4 & 15;
            part += ((nibble ^ 8) - 8) * xhat[((group * kSteps + step) * kColumns + c) * kStep + k];
          }
        }
        sum = std::fma(static_cast<float>(part), LoadHalf(scales + group * kTileRows * 2), sum);
      }
      Finish(g, row, c, sum);
    }
  }
}

constexpr GateKernels kGates = MakeGateKernels<Scalar>();

}  // namespace

const Kernels kernels_scalar = {"scalar",
                                1,
                                hamilton_gemv_f32_16x4,
                                hamilton_gemv_s8_16x4,
                                hamilton_gemv_s4_16x4,
                                ExpandF32Body<Scalar>,
                                ExpandS8Body<Scalar, 4, 1>,
                                ExpandS8Body<Scalar, 4, 1>,
                                &kGates};

}  // namespace tetraphone
