// Loading the library registers the operators with ExecuTorch.

#include "../operators/operators.h"

namespace {
[[maybe_unused]] const bool registered = (tetraphone::RegisterOperators(), true);
}  // namespace
