// ExecuTorch's face of the kernels: quaternion::<operator>.out for each of kernels/kinds.h. Their schemas are written
// in export/operators.py.

#pragma once

#include "../kernels/layers.h"

namespace tetraphone {

// Where the arguments of a call stand: those of the schema (export/operators.py writes it; x is the first), and what
// the operator returns, which is the tensors that it wrote.
struct Arguments {
  std::size_t states;      // the first of them
  std::size_t weights;     // the packed block
  std::size_t outputs;     // the number of reals, where there is no state to tell it; else 0
  std::size_t y;           // written; the new states follow
  std::size_t new_states;  // the first of them
  std::size_t returned;
  std::size_t count;
};

// Of an operator with so many states.
constexpr Arguments ArgumentsOf(std::size_t states) {
  const std::size_t weights = 1 + states, outputs = states == 0 ? weights + 1 : 0, y = weights + (states == 0 ? 2 : 1);
  return {1, weights, outputs, y, y + 1, y + 1 + states, y + 1 + states + 1};
}

// Puts the operators into ExecuTorch's registry; a name that is there already stays as it is.
void RegisterOperators();

// What a call says about its layer, to be compared with the packed block's header before anything runs.
inline bool Fits(const Layer& layer, Kind kind, std::int64_t inputs, std::int64_t outputs) {
  return layer.shape.kind == kind && layer.shape.inputs == inputs && layer.shape.outputs == outputs;
}

constexpr std::size_t kScratchAlignment = 64;

}  // namespace tetraphone
