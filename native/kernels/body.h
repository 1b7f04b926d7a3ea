// What is written once for all instruction sets: the element-wise sequences, over a vector type V. A set's file defines
//
//   struct V {                                // kLanes (1, 4, 8 or 16) floats
//     static constexpr int kLanes;
//     static V Set(float), Load(const float*); void Store(float*) const;
//     static V Add, Sub, Mul, Div, Min, Max(V, V), Fma(V a, V b, V c) = a * b + c rounded once, Abs(V), Negate(V);
//     static V PowerOfTwo(V a);              // the bits of a, shifted left by 23
//     static void StoreColumns(float*, const V (&columns)[4]);                // [kLanes][4]
//     // 16 values, half to even, to [-127, 127], and their negatives.
//     static void Round(const V (&x)[16 / kLanes], std::int8_t* q, std::int8_t* negative);
//   };
//
// of which a set that takes its expand_... from another needs no Abs, Negate, StoreColumns and Round.
// Min and Max give NaN where their second operand is NaN. Everything has internal linkage: nothing compiled for one
// instruction set may be called from another's.

#pragma once

#include "cells.h"
#include "kernels.h"
#include "repeat.h"

namespace tetraphone {
namespace {

// The activations of float32 networks. The greatest error is 1.9e-7 for tanh and 9.5e-8 for sigmoid (measured, here and
// below, on all 2^32 floats but NaN, with AVX-512; the test takes every 9973rd in every set).
struct Accurate {
  // 1 / (1 + 2^(rate x)), |x| clamped to `limit`. 2^f = p(f) for |f| <= 1/2, within 9.2e-8; p(0) = 1.
  template <typename V>
  static V Logistic(V x, float rate, float limit) {
    const V magic = V::Set(0x1.8p23f + 127);  // its last bits count units, from the exponent's bias on
    x = V::Max(V::Set(-limit), V::Min(V::Set(limit), x));
    const V exponent = V::Fma(x, V::Set(rate), magic);
    const V fraction = V::Fma(x, V::Set(rate), V::Sub(magic, exponent));
    V power = V::Set(0x1.5bba14p-10f);
    power = V::Fma(power, fraction, V::Set(0x1.3cea88p-7f));
    power = V::Fma(power, fraction, V::Set(0x1.c6b752p-5f));
    power = V::Fma(power, fraction, V::Set(0x1.ebf9bcp-3f));
    power = V::Fma(power, fraction, V::Set(0x1.62e42ap-1f));
    power = V::Fma(power, fraction, V::Set(1));
    return V::Div(V::Set(1), V::Fma(power, V::PowerOfTwo(exponent), V::Set(1)));
  }
  template <typename V>
  static V Sigmoid(V x) {
    return Logistic(x, -0x1.715476p0f, 87);  // log2(e)
  }
  template <typename V>
  static V Tanh(V x) {
    return V::Fma(V::Set(2), Logistic(x, -0x1.715476p1f, 43), V::Set(-1));
  }
  template <typename V>
  static V SigmoidTimesTanh(V x, V y) {
    return V::Mul(Sigmoid(x), Tanh(y));
  }
};

// The activations of int8 and int4 networks. The greatest error is 4.8e-5 for tanh, half of it for sigmoid; half the
// step of the quantised hidden state is 3.9e-3.
struct Quick {
  template <typename V>
  struct Fraction {
    V numerator, denominator;
  };
  // x (n0 + n1 s + n2 s^2) / (d0 + d1 s + s^2) with s = x^2, |x| clamped to `limit`.
  template <typename V>
  static Fraction<V> Ratio(V x, float limit, float n0, float n1, float n2, float d0, float d1) {
    x = V::Max(V::Set(-limit), V::Min(V::Set(limit), x));
    const V square = V::Mul(x, x);
    const V numerator = V::Mul(x, V::Fma(V::Fma(square, V::Set(n2), V::Set(n1)), square, V::Set(n0)));
    return {numerator, V::Fma(V::Add(square, V::Set(d1)), square, V::Set(d0))};
  }
  static constexpr float kN0 = 0x1.3c6a7cp6f, kN1 = 0x1.018b26p3f, kN2 = 0x1.a87f66p-5f;
  static constexpr float kD0 = 0x1.3c79dep6f, kD1 = 0x1.130530p5f;
  template <typename V>
  static Fraction<V> SigmoidFraction(V x) {  // 1/2 + tanh(x / 2) / 2
    const Fraction<V> half = Ratio(x, 10, 4 * kN0, kN1, kN2 / 4, 16 * kD0, 4 * kD1);
    return {V::Fma(half.denominator, V::Set(0.5f), half.numerator), half.denominator};
  }
  template <typename V>
  static Fraction<V> TanhFraction(V x) {
    return Ratio(x, 5, kN0, kN1, kN2, kD0, kD1);
  }
  template <typename V>
  static V Sigmoid(V x) {
    const Fraction<V> f = SigmoidFraction(x);
    return V::Div(f.numerator, f.denominator);
  }
  template <typename V>
  static V Tanh(V x) {
    const Fraction<V> f = TanhFraction(x);
    return V::Div(f.numerator, f.denominator);
  }
  template <typename V>
  static V SigmoidTimesTanh(V x, V y) {  // with one division
    const Fraction<V> a = SigmoidFraction(x), b = TanhFraction(y);
    return V::Div(V::Mul(a.numerator, b.numerator), V::Mul(a.denominator, b.denominator));
  }
};

// One frame's element-wise part: the kind's cell on every unit of every component.
template <typename V, typename Activation, typename Cell, int kGates, int kStates>
void GatesBody(const Gates& gates) {
  const std::int64_t units = gates.units;
  for (std::int64_t component = 0; component < 4; ++component) {
    const float* from = gates.sums + component * kGates * units;
    for (std::int64_t i = 0; i < units; i += V::kLanes) {
      V sums[kGates], state[kStates];
      Repeat<kGates>([&](auto gate) { sums[gate] = V::Load(from + gate * units + i); });
      Repeat<kStates>([&](auto part) { state[part] = V::Load(gates.state[part] + component * units + i); });
      Cell::template Step<Activation>(sums, state);
      Repeat<kStates>([&](auto part) { state[part].Store(gates.next[part] + component * units + i); });
    }
  }
}

// A set's kernels for the gates of all kinds.
template <typename V>
constexpr GateKernels MakeGateKernels() {
  GateKernels made{};
#define TETRAPHONE_GATES(name, number, quaternion, gates, states, ...)                      \
  made.accurate[IndexOf(Kind::k##name)] = GatesBody<V, Accurate, name##Cell, gates, states>; \
  made.quick[IndexOf(Kind::k##name)] = GatesBody<V, Quick, name##Cell, gates, states>;
  TETRAPHONE_RECURRENT_KINDS(TETRAPHONE_GATES)
#undef TETRAPHONE_GATES
  return made;
}

template <typename V>
inline float Sum(V v) {
  float lanes[V::kLanes];
  v.Store(lanes);
  float sum = lanes[0];
  for (int i = 1; i < V::kLanes; ++i) sum += lanes[i];
  return sum;
}

template <typename V>
inline float Greatest(V v) {
  float lanes[V::kLanes];
  v.Store(lanes);
  float greatest = lanes[0];
  for (int i = 1; i < V::kLanes; ++i) greatest = lanes[i] > greatest ? lanes[i] : greatest;
  return greatest;
}

template <typename V>
void ExpandF32Body(const Expand& e) {
  float* out = static_cast<float*>(e.xhat);
  for (int c = 0; c < kColumns; ++c) e.multiplier[c] = 1;
  if (!e.quaternion) {
    for (std::int64_t k = 0; k < e.groups * kGroup; k += V::kLanes) {
      const V columns[4] = {V::Load(e.planes + k), V::Load(e.planes + e.stride + k),
                            V::Load(e.planes + 2 * e.stride + k), V::Load(e.planes + 3 * e.stride + k)};
      V::StoreColumns(out + kColumns * k, columns);
    }
    return;
  }
  for (std::int64_t group = 0; group < e.groups; ++group) {
    for (int i = 0; i < kStep; i += V::kLanes) {
      const float* from = e.planes + group * kStep + i;
      const V x[4] = {V::Load(from), V::Load(from + e.stride), V::Load(from + 2 * e.stride),
                      V::Load(from + 3 * e.stride)};
      const V negative[4] = {V::Negate(x[0]), V::Negate(x[1]), V::Negate(x[2]), V::Negate(x[3])};
      Repeat<kSteps>([&](auto b) {
        V columns[4];
        Repeat<kColumns>([&](auto c) { columns[c] = kSigns[b][c] > 0 ? x[b ^ c] : negative[b ^ c]; });
        V::StoreColumns(out + kColumns * (group * kGroup + b * kStep + i), columns);
      });
    }
  }
}

inline std::uint64_t LoadEight(const std::int8_t* from) {
  std::uint64_t eight;
  std::memcpy(&eight, from, kStep);
  return eight;
}

// `count` values (a multiple of 16) that share one scale, quantised; returns their multiplier. q: [2][count], the
// negatives last.
template <typename V>
[[gnu::always_inline]] inline float QuantizeRow(const float* x, std::int64_t count, bool state, std::int8_t* q) {
  float m = 1;
  if (!state) {
    V greatest = V::Set(0);
    for (std::int64_t i = 0; i < count; i += V::kLanes) greatest = V::Max(greatest, V::Abs(V::Load(x + i)));
    m = Greatest(greatest);
  }
  const bool zero = m < kSmallest;
  const float factor = zero ? 0 : 127 / m;
  V poison = V::Set(0);  // sum of 0 * x: NaN where a value is not finite
  for (std::int64_t i = 0; i < count; i += 16) {
    V values[16 / V::kLanes];
    Repeat<16 / V::kLanes>([&](auto part) {
      const V value = V::Load(x + i + part * V::kLanes);
      poison = V::Fma(value, V::Set(0), poison);
      values[part] = V::Mul(value, V::Set(factor));
    });
    V::Round(values, q + i, q + count + i);
  }
  return (zero ? 0 : m / 127) + Sum(poison);
}

// The columns of X^ lie kTogether together, in kCopies copies: [4 / kTogether][depth / 8][kTogether][kCopies][8]. kFlip
// is applied to each byte.
template <typename V, int kTogether, int kCopies, std::uint8_t kFlip = 0>
void ExpandS8Body(const Expand& e) {
  std::int8_t* out = static_cast<std::int8_t*>(e.xhat);
  const std::int64_t steps = e.groups * kSteps;
  constexpr std::uint64_t kFlips = kFlip * 0x0101010101010101u;
  const auto place = [&](std::int64_t step, int column, std::uint64_t eight) {
    const std::int64_t at = (column / kTogether * steps + step) * kTogether + column % kTogether;
    for (int i = 0; i < kCopies; ++i) std::memcpy(out + (at * kCopies + i) * kStep, &eight, kStep);
  };
  std::int8_t* q = e.quantized;
  if (!e.quaternion) {
    for (int c = 0; c < kColumns; ++c) {
      e.multiplier[c] = QuantizeRow<V>(e.planes + c * e.stride, steps * kStep, false, q);
      for (std::int64_t step = 0; step < steps; ++step) place(step, c, LoadEight(q + step * kStep) ^ kFlips);
    }
    return;
  }
  const std::int64_t depth = 4 * e.stride;
  const float multiplier =
      e.state ? QuantizeRow<V>(e.planes, depth, true, q) : QuantizeRow<V>(e.planes, depth, false, q);
  for (int c = 0; c < kColumns; ++c) e.multiplier[c] = multiplier;
  const std::int8_t* negative = q + depth;
  for (std::int64_t group = 0; group < e.groups; ++group) {
    std::uint64_t eights[2][4];  // [negative][component]
    Repeat<4>([&](auto component) {
      eights[0][component] = LoadEight(q + component * e.stride + group * kStep) ^ kFlips;
      eights[1][component] = LoadEight(negative + component * e.stride + group * kStep) ^ kFlips;
    });
    Repeat<kSteps>([&](auto b) {
      Repeat<kColumns>([&](auto c) { place(group * kSteps + b, c, eights[kSigns[b][c] < 0][b ^ c]); });
    });
  }
}

}  // namespace
}  // namespace tetraphone
