// Runs a stack of LSTM layers with random weights frame by frame (or in blocks), kernels alone, and prints the
// processor time of a frame.
//
//   kernel_frames float32|int8|int4 [layers=2] [quaternions=64] [input quaternions=40] [frames at a time=1]
//   [frames=1000]
//
// Instructions per frame: count two runs with ../shared/tools/icount.c, divide their difference by that of their
// frames.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "layers.h"

namespace {

using tetraphone::FormatInfo;
using tetraphone::Kind;

// Bytes at a multiple of 64, as in a mapped program and in the scratch of an operator.
class Aligned {
 public:
  explicit Aligned(std::size_t size) : size_(size), memory_(size + 64) {}
  std::uint8_t* data() { return memory_.data() + (64 - reinterpret_cast<std::uintptr_t>(memory_.data()) % 64); }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  std::vector<std::uint8_t> memory_;
};

struct Stack {
  std::vector<Aligned> blocks;
  std::vector<tetraphone::Layer> layers;
  std::vector<std::vector<float>> h, c;
};

std::uint32_t Next() {
  static std::uint32_t state = 1;
  return state = state * 1664525u + 1013904223u;
}

float Uniform(float limit) { return (static_cast<float>(Next() >> 8) * 0x1p-23f - 1) * limit; }

void AddLayer(const FormatInfo& format, std::int64_t inputs, std::int64_t outputs, Stack* stack) {
  const tetraphone::Shape shape{Kind::kLstm, format.format, inputs, outputs};
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  std::vector<float> floats[2], scales(size(shape.outputs), 0.0005f);
  std::vector<std::int8_t> integers[2];
  std::vector<std::uint16_t> halves(size(shape.outputs * shape.inputs + shape.outputs * shape.outputs), 0x2000);
  tetraphone::Matrix matrices[2];
  for (int i = 0; i < 2; ++i) {
    const std::int64_t count =
        shape.outputs * (i == 0 ? shape.inputs : shape.outputs);  // 4 gates, a quarter of the reals
    for (std::int64_t k = 0; k < count; ++k) {
      floats[i].push_back(Uniform(0.1f));
      integers[i].push_back(static_cast<std::int8_t>(Uniform(static_cast<float>(format.greatest))));
    }
    matrices[i] = {floats[i].data(), nullptr};
    if (format.greatest > 0) matrices[i] = {integers[i].data(), scales.data()};
    if (format.group > 0) matrices[i].scales = halves.data();
  }
  Aligned block(tetraphone::PackedBytes(shape));
  tetraphone::Layer layer;
  tetraphone::Status status = Pack(shape, matrices[0], matrices[1], nullptr, block.data());
  if (status == tetraphone::Status::kOk) status = Open(block.data(), block.size(), &layer);
  if (status != tetraphone::Status::kOk) {
    std::fprintf(stderr, "%s\n", StatusText(status));
    std::exit(1);
  }
  stack->blocks.push_back(std::move(block));
  stack->layers.push_back(layer);
  stack->h.emplace_back(size(shape.outputs));
  stack->c.emplace_back(size(shape.outputs));
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int index, std::int64_t otherwise) {
    return argc > index ? std::strtoll(argv[index], nullptr, 10) : otherwise;
  };
  const char* name = argc > 1 ? argv[1] : "int8";
  const FormatInfo* end = tetraphone::Formats() + tetraphone::kFormats;
  const FormatInfo* format =
      std::find_if(tetraphone::Formats(), end, [&](const FormatInfo& info) { return info.name == std::string(name); });
  if (format == end) {
    std::fprintf(stderr, "%s is no number format; give float32, int8 or int4\n", name);
    return 1;
  }
  const std::int64_t layers = number(2, 2), width = 4 * number(3, 64), inputs = 4 * number(4, 40),
                     together = number(5, 1);
  const std::int64_t frames = number(6, 1000);

  Stack stack;
  for (std::int64_t i = 0; i < layers; ++i) AddLayer(*format, i == 0 ? inputs : width, width, &stack);
  std::size_t weights = 0, scratch_bytes = 0;
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    weights += stack.blocks[i].size();
    const std::size_t bytes = ScratchBytes(stack.layers[i], together);
    scratch_bytes = bytes > scratch_bytes ? bytes : scratch_bytes;
  }
  Aligned scratch(scratch_bytes);
  std::vector<float> x[2];
  for (std::vector<float>& buffer : x)
    buffer.resize(static_cast<std::size_t>(together * (width > inputs ? width : inputs)));
  std::vector<float> input(static_cast<std::size_t>(together * inputs));
  for (float& value : input) value = Uniform(2);

  const std::clock_t begin = std::clock();
  for (std::int64_t frame = 0; frame < frames; frame += together) {
    const float* from = input.data();
    for (std::size_t i = 0; i < stack.layers.size(); ++i) {
      float* to = x[i % 2].data();
      Run(stack.layers[i], from, together, stack.h[i].data(), stack.c[i].data(), to, stack.h[i].data(),
          stack.c[i].data(), scratch.data());
      from = to;
    }
  }
  const double microseconds = 1e6 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%s %s: %.2f us a frame, %zu bytes of packed layers, %zu of scratch, h[0] = %.9g\n",
              tetraphone::InstructionSet(), name, microseconds / static_cast<double>(frames), weights, scratch_bytes,
              static_cast<double>(stack.h.back()[0]));
}
