#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "instruction_sets.h"
#include "layers.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace tetraphone {
namespace {

// What the list of instruction sets asks of the processor.
struct Processor {
#if defined(__aarch64__)
  // AT_HWCAP bit 20 (HWCAP_ASIMDDP), AT_HWCAP2 bit 13 (HWCAP2_I8MM); older headers lack the second name.
  bool dotprod = getauxval(AT_HWCAP) >> 20 & 1;
  bool i8mm = dotprod && (getauxval(AT_HWCAP2) >> 13 & 1);
#endif
};

struct Table {
  InstructionSetEntry entries[kInstructionSets];
  const Kernels* active;

  Table() {
    [[maybe_unused]] const Processor processor;
    std::size_t count = 0;
#define TETRAPHONE_ENTRY(name, flags, supported) entries[count++] = {&kernels_##name, supported};
    TETRAPHONE_INSTRUCTION_SETS(TETRAPHONE_ENTRY)
#undef TETRAPHONE_ENTRY
    const char* forced = std::getenv("TETRAPHONE_ISA");
    const Kernels* found = nullptr;
    for (const InstructionSetEntry& entry : entries) {
      if (!entry.supported) continue;
      active = entry.kernels;
      if (forced != nullptr && std::strcmp(forced, entry.kernels->name) == 0) found = entry.kernels;
    }
    if (found != nullptr) {
      active = found;
    } else if (forced != nullptr && *forced != '\0') {
      std::fprintf(stderr, "tetraphone: TETRAPHONE_ISA=%s is not in this build or processor; using %s\n", forced,
                   active->name);
    }
  }
};

const Table& TheTable() {
  static const Table table;
  return table;
}

}  // namespace

const InstructionSetEntry* InstructionSets() { return TheTable().entries; }
const Kernels& ActiveKernels() { return *TheTable().active; }
const char* InstructionSet() { return ActiveKernels().name; }

}  // namespace tetraphone
