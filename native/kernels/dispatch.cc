#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "instruction_sets.h"
#include "layers.h"

#if defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tetraphone {
namespace {

#if defined(__x86_64__)
// Bit `bit` of register `index` (eax, ebx, ecx, edx) of a leaf of CPUID.
bool Cpuid(unsigned leaf, unsigned subleaf, int index, int bit) {
  unsigned registers[4] = {};
  __get_cpuid_count(leaf, subleaf, &registers[0], &registers[1], &registers[2], &registers[3]);
  return registers[index] >> bit & 1;
}
#endif

// What the list of instruction sets asks of the processor.
struct Processor {
#if defined(__aarch64__)
  // AT_HWCAP bit 20 (HWCAP_ASIMDDP), AT_HWCAP2 bit 13 (HWCAP2_I8MM); older headers lack the second name.
  bool dotprod = getauxval(AT_HWCAP) >> 20 & 1;
  bool i8mm = dotprod && (getauxval(AT_HWCAP2) >> 13 & 1);
#elif defined(__x86_64__)
  // The built-in checks include the operating system's part: whether it saves the registers.
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && Cpuid(1, 0, 2, 29);  // F16C
  bool avxvnni = avx2 && Cpuid(7, 1, 0, 4);
  bool avx512vnni = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
#endif
};

struct Table {
  InstructionSetEntry entries[kInstructionSets];
  std::atomic<const Kernels*> active;

  Table() {
    [[maybe_unused]] const Processor processor;
    std::size_t count = 0;
#define TETRAPHONE_ENTRY(name, flags, supported) entries[count++] = {&kernels_##name, supported};
    TETRAPHONE_INSTRUCTION_SETS(TETRAPHONE_ENTRY)
#undef TETRAPHONE_ENTRY
    const char* forced = std::getenv("TETRAPHONE_ISA");
    for (const InstructionSetEntry& entry : entries) {
      if (entry.supported) active = entry.kernels;
    }
    if (forced != nullptr && *forced != '\0' && !Choose(forced)) {
      std::fprintf(stderr, "tetraphone: TETRAPHONE_ISA=%s is not in this build or processor; using %s\n", forced,
                   active.load()->name);
    }
  }

  bool Choose(const char* name) {
    for (const InstructionSetEntry& entry : entries) {
      if (!entry.supported || std::strcmp(name, entry.kernels->name) != 0) continue;
      active.store(entry.kernels, std::memory_order_relaxed);  // the kernels are constants: nothing else is published
      return true;
    }
    return false;
  }
};

Table& TheTable() {
  static Table table;
  return table;
}

}  // namespace

const InstructionSetEntry* InstructionSets() { return TheTable().entries; }
const Kernels& ActiveKernels() { return *TheTable().active.load(std::memory_order_relaxed); }
const char* InstructionSet() { return ActiveKernels().name; }
bool ChooseInstructionSet(const char* name) { return TheTable().Choose(name); }

}  // namespace tetraphone
