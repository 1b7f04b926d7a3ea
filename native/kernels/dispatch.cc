#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "instruction_sets.h"
#include "layers.h"

#if defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tetraphone {
namespace {

// What the list of instruction sets asks of the processor.
#if defined(__aarch64__) && defined(__APPLE__)
bool Has(const char* feature) {
  int has = 0;
  std::size_t size = sizeof has;
  return sysctlbyname(feature, &has, &size, nullptr, 0) == 0 && has != 0;
}

struct Processor {
  bool dotprod = Has("hw.optional.arm.FEAT_DotProd");
  bool i8mm = dotprod && Has("hw.optional.arm.FEAT_I8MM");
};
#elif defined(__aarch64__)
struct Processor {
  // AT_HWCAP bit 20 (HWCAP_ASIMDDP), AT_HWCAP2 bit 13 (HWCAP2_I8MM); older headers lack the second name.
  bool dotprod = getauxval(AT_HWCAP) >> 20 & 1;
  bool i8mm = dotprod && (getauxval(AT_HWCAP2) >> 13 & 1);
};
#elif defined(__x86_64__)
// Whether all these bits are set in register `index` (eax, ebx, ecx, edx) of a leaf of CPUID.
bool Cpuid(unsigned leaf, unsigned subleaf, int index, unsigned bits) {
  unsigned registers[4] = {};
  __get_cpuid_count(leaf, subleaf, &registers[0], &registers[1], &registers[2], &registers[3]);
  return (registers[index] & bits) == bits;
}

// Whether the system saves all these registers: the bits of XCR0. Compilers' own checks (__builtin_cpu_supports) say
// no to everything on Windows where zig links.
bool Saved(unsigned bits) {
  if (!Cpuid(1, 0, 2, 1u << 27)) return false;  // OSXSAVE: xgetbv is there
  unsigned low = 0, high = 0;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & bits) == bits;
}

constexpr unsigned kAvxState = 0x06, kAvx512State = 0xE6;
constexpr unsigned kFma = 1u << 12, kAvx = 1u << 28, kF16c = 1u << 29;               // leaf 1, ecx
constexpr unsigned kAvx2 = 1u << 5, kAvx512 = 1u << 16 | 1u << 30 | 1u << 31;        // leaf 7, ebx: F, BW, VL
constexpr unsigned kAvx512Vnni = 1u << 11, kAvxVnni = 1u << 4;                        // leaf 7, ecx; 7.1, eax

struct Processor {
  bool avx2 = Saved(kAvxState) && Cpuid(1, 0, 2, kFma | kAvx | kF16c) && Cpuid(7, 0, 1, kAvx2);
  bool avxvnni = avx2 && Cpuid(7, 1, 0, kAvxVnni);
  bool avx512vnni = avx2 && Saved(kAvx512State) && Cpuid(7, 0, 1, kAvx512) && Cpuid(7, 0, 2, kAvx512Vnni);
};
#else
struct Processor {};
#endif

struct Table {
  InstructionSetEntry entries[kInstructionSets];
  std::atomic<const Kernels*> active;

  Table() {
    [[maybe_unused]] const Processor processor{};
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
