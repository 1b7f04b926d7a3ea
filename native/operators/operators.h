// ExecuTorch's face of the kernels: quaternion::<operator>.out for each of kernels/kinds.h. Their schemas are written
// in export/operators.py.

#pragma once

namespace tetraphone {

// Puts the operators into ExecuTorch's registry; a name that is there already stays as it is.
void RegisterOperators();

}  // namespace tetraphone
