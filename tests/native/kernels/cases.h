// Layers with random weights, their frames in chunks, and what the tests of kernels are repeated for: shapes and
// instruction sets.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "guarded.h"
#include "instruction_sets.h"
#include "layers.h"

namespace tetraphone {

const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInfinity = std::numeric_limits<float>::infinity();

// A matrix as Python gives it, in the type of its format.
struct Given {
  std::vector<float> floats;
  std::vector<std::int8_t> integers;
  std::vector<float> scales;
  std::vector<std::uint16_t> halves;
  std::int64_t rows = 0, columns = 0, groups = 0;

  Matrix View() const {
    if (!floats.empty()) return {floats.data(), nullptr};
    return {integers.data(), halves.empty() ? static_cast<const void*>(scales.data()) : halves.data()};
  }
  MutableMatrix View() {
    if (!floats.empty()) return {floats.data(), nullptr};
    return {integers.data(), halves.empty() ? static_cast<void*>(scales.data()) : halves.data()};
  }
  double Value(std::int64_t component, std::int64_t row, std::int64_t column) const {  // without a scale
    const std::size_t index = static_cast<std::size_t>((component * rows + row) * columns + column);
    return floats.empty() ? integers[index] : floats[index];
  }
  double Scale(std::int64_t row, std::int64_t group) const;
};

struct Case {
  Shape shape;
  bool quaternion;
  bool recurrent;
  std::int64_t components, gates, units;
  Given input, hidden;
  std::vector<float> bias;
  Guarded<std::uint8_t> block;
  Layer layer;
};

// The block ends `shift` bytes before a page that may not be touched; with `saturate`, all integers are the greatest.
Case MakeCase(const Shape& shape, std::uint64_t seed, std::size_t shift = 0, bool saturate = false);

// Packs the changed weights of a case into its block.
Status Repack(Case* test);

std::vector<float> RandomVector(std::int64_t count, float limit, std::uint64_t seed);

// Memory of the size that a layer asks for, which is NaN at first.
struct Scratch {
  explicit Scratch(std::size_t bytes);
  std::size_t bytes;
  Guarded<std::uint8_t> memory;
};

struct Result {
  std::vector<float> y, h, c;
};

// Runs the frames in chunks of the given lengths.
Result RunChunks(const Kernels& kernels, const Case& test, const std::vector<float>& x, const std::vector<float>& h,
                 const std::vector<float>& c, const std::vector<std::int64_t>& chunks);

// Equal bits, all NaN being one.
bool SameBits(const Result& a, const Result& b);

// How many sets this processor must run, by the operating system's word: more only if the list has grown.
int LeastSets();

template <typename Body>
void ForEachSet(Body body) {
  int count = 0;
  for (std::size_t i = 0; i < kInstructionSets; ++i) {
    if (!InstructionSets()[i].supported) continue;
    SCOPED_TRACE(InstructionSets()[i].kernels->name);
    body(*InstructionSets()[i].kernels);
    ++count;
  }
  EXPECT_GE(count, LeastSets());
}

// Output sizes: the models' own, and 1 to 2 tiles + 1.
const std::vector<std::int64_t>& Sizes();

std::string Describe(const Shape& shape);

// Every kind and format with the given output size and a varying input size; ends with the first shape that fails.
template <typename Body>
void ForEachShape(Body body) {
  const std::vector<std::int64_t>& sizes = Sizes();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (const LayerKind& kind : kLayerKinds) {
      for (const Format format : {Format::kFloat32, Format::kInt8, Format::kInt4}) {
        const std::int64_t unit = kind.quaternion ? 4 : 1;
        const Shape shape{kind.kind, format, unit * sizes[(i * 7 + 2) % sizes.size()], unit * sizes[i]};
        SCOPED_TRACE(Describe(shape));
        body(shape);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

}  // namespace tetraphone
