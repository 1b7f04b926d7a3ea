// A call of quaternion::<operator>.out in a program.

#pragma once

#include <cstddef>

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

}  // namespace tetraphone
