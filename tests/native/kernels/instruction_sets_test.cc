// The instruction sets of this processor: which there are, that all give the same bits, and the choice of one.

#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <string>
#if !defined(__wasm__)
#include <thread>
#endif

#include "cases.h"
#include "contracts.h"
#include "run.h"

namespace tetraphone {
namespace {

TEST(InstructionSets, AreListed) {
  ForEachSet([](const Kernels& kernels) { std::cout << "instruction set " << kernels.name << "\n"; });
  for (std::size_t i = 0; i < kInstructionSets; ++i) {
    if (InstructionSets()[i].supported) continue;
    std::cout << "SKIPPED instruction set " << InstructionSets()[i].kernels->name << ": this processor lacks it\n";
  }
  std::cout << "in use: " << InstructionSet() << "\n";
}

TEST(InstructionSets, GiveTheSameBits) {
  ForEachShape([](const Shape& shape) {
    for (const std::size_t shift : {0, 1, 17}) {
      if (shift > 0 && shape.outputs > 80) continue;
      const Case test = MakeCase(shape, 9, shift);
      const std::vector<float> x = RandomVector(6 * shape.inputs, 2, 10);
      const std::vector<float> h = RandomVector(shape.outputs, 1, 11), c = RandomVector(shape.outputs, 1, 12);
      const Result expected = RunChunks(kernels_scalar, test, x, h, c, {6});
      ForEachSet([&](const Kernels& kernels) {
        EXPECT_TRUE(SameBits(RunChunks(kernels, test, x, h, c, {6}), expected));
      });
    }
  });
}

// Chosen anew while other threads compute: every frame has the bits of every set.
TEST(InstructionSets, AreChosenAtAnyTime) {
  const std::string first = InstructionSet();
  EXPECT_FALSE(ChooseInstructionSet("none"));
  EXPECT_EQ(first, InstructionSet());
  EXPECT_FALSE(ChooseInstructionSet(""));
  EXPECT_EQ(first, InstructionSet());
  for (std::size_t i = 0; i < kInstructionSets; ++i) {
    const InstructionSetEntry& entry = InstructionSets()[i];
    EXPECT_EQ(ChooseInstructionSet(entry.kernels->name), entry.supported) << entry.kernels->name;
    if (entry.supported) {
      EXPECT_STREQ(InstructionSet(), entry.kernels->name);
    }
  }
#if !defined(__wasm__)  // which has no threads
  const Case test = MakeCase({Kind::kHamiltonLinear, Format::kInt8, 52, 24}, 29);
  const std::vector<float> x(52, 0.25f);
  const auto compute = [&] {
    std::vector<float> y(24);
    Scratch scratch(ScratchBytes(test.layer, 1));
    tetraphone::Run(test.layer, x.data(), 1, nullptr, nullptr, y.data(), nullptr, nullptr, scratch.memory.data());
    return y;
  };
  const std::vector<float> expected = compute();
  std::atomic<bool> same{true}, done{false};
  std::thread other([&] {
    while (!done) same = same && compute() == expected;
  });
  for (int round = 0; round < 1000; ++round) {
    ForEachSet([&](const Kernels& kernels) { EXPECT_TRUE(ChooseInstructionSet(kernels.name)); });
  }
  done = true;
  other.join();
  EXPECT_TRUE(same);
#endif
  EXPECT_TRUE(ChooseInstructionSet(first.c_str()));
}

TEST(Contracts, AreTold) {
  constexpr int kRows = kTileRows, kDepth = kGroup;
  std::uint8_t block[kRows * kDepth], xhat[kDepth * kColumns * 2];
  float floats[8 * kDepth], out[kColumns * kRows], multiplier[kColumns];
  const Gemv gemv{block, block, block, 1, 1, xhat, multiplier, floats, 0, out, kRows};
  const Expand expand{floats, kDepth, 1, true, false, xhat, multiplier, reinterpret_cast<std::int8_t*>(block)};
  const Gates gates{floats, kRows, {out, out}, {out, out}};
  EXPECT_TRUE(Holds(gemv) && Holds(expand) && Holds(gates));
  const auto broken = [](auto arguments, auto change) {
    change(arguments);
    return !Holds(arguments);
  };
  EXPECT_TRUE(broken(gemv, [](Gemv& g) { g.out_stride = kRows - 1; }));
  EXPECT_TRUE(broken(gemv, [](Gemv& g) { g.init = g.out + 1, g.init_stride = g.out_stride; }));
  EXPECT_FALSE(broken(gemv, [](Gemv& g) { g.init = g.out, g.init_stride = g.out_stride; }));
  EXPECT_TRUE(broken(gemv, [](Gemv& g) { g.out = const_cast<float*>(g.multiplier); }));
  EXPECT_TRUE(broken(expand, [](Expand& e) { e.stride = kDepth - 1; }));
  EXPECT_TRUE(broken(expand, [](Expand& e) { e.quaternion = false, e.state = true; }));
  EXPECT_TRUE(broken(expand, [](Expand& e) { e.groups = 9; }));
  EXPECT_TRUE(broken(gates, [](Gates& g) { g.units = kRows - 1; }));
  EXPECT_TRUE(broken(gates, [](Gates& g) { g.next[1] = g.next[1] + 1; }));
}

}  // namespace
}  // namespace tetraphone
