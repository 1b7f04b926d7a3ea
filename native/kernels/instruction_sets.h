// The one list of instruction sets: X(name, compiler flags, whether this processor has it), the best last. The file of
// a set is <architecture>/<name>.cc and defines `kernels_<name>`; CMake reads names and flags from these lines, and
// declarations, dispatch, tests and benchmarks follow the list. With TETRAPHONE_SCALAR_ONLY or TETRAPHONE_BEST_ONLY it
// has one set alone: a WebAssembly module with vector instructions runs nowhere without them.

#pragma once

#include "kernels.h"

#if defined(TETRAPHONE_SCALAR_ONLY)
#define TETRAPHONE_INSTRUCTION_SETS(X) X(scalar, "", true)
#elif defined(__wasm_simd128__) && defined(TETRAPHONE_BEST_ONLY)
#define TETRAPHONE_INSTRUCTION_SETS(X) X(simd128, "-msimd128", true)
#elif defined(__wasm_simd128__)
#define TETRAPHONE_INSTRUCTION_SETS(X) \
  X(scalar, "", true)                  \
  X(simd128, "-msimd128", true)
#elif defined(__aarch64__)
#define TETRAPHONE_INSTRUCTION_SETS(X)                      \
  X(scalar, "", true)                                       \
  X(neon, "-march=armv8-a", true)                           \
  X(dotprod, "-march=armv8.2-a+dotprod", processor.dotprod) \
  X(i8mm, "-march=armv8.2-a+dotprod+i8mm", processor.i8mm)
#elif defined(__x86_64__)
#define TETRAPHONE_INSTRUCTION_SETS(X)                           \
  X(scalar, "", true)                                            \
  X(avx2, "-mavx2 -mfma -mf16c", processor.avx2)                 \
  X(avxvnni, "-mavx2 -mfma -mf16c -mavxvnni", processor.avxvnni) \
  X(avx512vnni, "-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512vl -mavx512vnni", processor.avx512vnni)
#else
#define TETRAPHONE_INSTRUCTION_SETS(X) X(scalar, "", true)
#endif

namespace tetraphone {

#define TETRAPHONE_DECLARE(name, flags, supported) extern const Kernels kernels_##name;
TETRAPHONE_INSTRUCTION_SETS(TETRAPHONE_DECLARE)
#undef TETRAPHONE_DECLARE
extern const Kernels kernels_scalar;  // in the library also where the list lacks it

struct InstructionSetEntry {
  const Kernels* kernels;
  bool supported;
};
constexpr std::size_t kInstructionSets = 0
#define TETRAPHONE_COUNT(name, flags, supported) +1
    TETRAPHONE_INSTRUCTION_SETS(TETRAPHONE_COUNT)
#undef TETRAPHONE_COUNT
    ;
const InstructionSetEntry* InstructionSets();  // kInstructionSets of them, in the order of the list
const Kernels& ActiveKernels();

}  // namespace tetraphone
