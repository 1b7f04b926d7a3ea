// The cells of the recurrent kinds of kinds.h: a frame's element-wise equations, in the arithmetic of body.h, on as
// many units at once as a vector V has lanes. Everything has internal linkage, as there.
//
//   sums   W (x) x + R (x) h + b of each gate
//   state  before the frame, and behind it when Step returns: h, then c

#pragma once

namespace tetraphone {
namespace {

struct RnnCell {
  template <typename Activation, typename V>
  static void Step(const V (&sums)[1], V (&state)[1]) {
    state[0] = Activation::Tanh(sums[0]);
  }
};

struct LstmCell {
  template <typename Activation, typename V>
  static void Step(const V (&sums)[4], V (&state)[2]) {
    const auto& [input, forget, cell, output] = sums;  // torch's order
    auto& [h, c] = state;
    c = V::Fma(Activation::Sigmoid(forget), c, Activation::SigmoidTimesTanh(input, cell));
    h = Activation::SigmoidTimesTanh(output, c);
  }
};

}  // namespace
}  // namespace tetraphone
