// What the library was built as, for the C ABI.

#include "../kernels/instruction_sets.h"
#include "../kernels/layers.h"
#include "errors.h"

TETRAPHONE_C_ABI const char* tetraphone_version() { return TETRAPHONE_VERSION; }

TETRAPHONE_C_ABI const char* tetraphone_instruction_set() { return tetraphone::InstructionSet(); }

// 1, or 0 for a name that this build or processor lacks; at any time.
TETRAPHONE_C_ABI int tetraphone_choose_instruction_set(const char* name) {
  return tetraphone::ChooseInstructionSet(name);
}

// Whether the processor has the index-th instruction set of this build, the best last; -1 behind the last.
TETRAPHONE_C_ABI int tetraphone_instruction_set_at(std::size_t index, const char** name) {
  if (index >= tetraphone::kInstructionSets) return -1;
  const tetraphone::InstructionSetEntry& entry = tetraphone::InstructionSets()[index];
  *name = entry.kernels->name;
  return entry.supported;
}
