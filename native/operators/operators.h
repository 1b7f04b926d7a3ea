// ExecuTorch's face of the kernels: quaternion::<operator>.out for each of kernels/kinds.h. Their schemas are written in
// export/operators.py.

#pragma once

#include "../kernels/layers.h"

namespace tetraphone {

// Puts the operators into ExecuTorch's registry; a name that is there already stays as it is.
void RegisterOperators();

// What a call says about its layer, to be compared with the packed block's header before anything runs.
inline bool Fits(const Layer& layer, Kind kind, std::int64_t inputs, std::int64_t outputs) {
  return layer.shape.kind == kind && layer.shape.inputs == inputs && layer.shape.outputs == outputs;
}

constexpr std::size_t kScratchAlignment = 64;

}  // namespace tetraphone
