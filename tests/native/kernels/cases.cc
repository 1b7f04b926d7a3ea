#include "cases.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "run.h"

namespace tetraphone {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint32_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::uint32_t>(state_ >> 32);
  }
  int Integer(int low, int high) { return low + static_cast<int>(Next() % static_cast<std::uint32_t>(high - low + 1)); }
  float Uniform(float limit) { return (static_cast<float>(Next() >> 8) * 0x1p-23f - 1) * limit; }

 private:
  std::uint64_t state_;
};

float HalfToFloat(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const float magnitude =
      exponent != 0 ? std::ldexp(1024.0f + (half & 1023), exponent - 25) : std::ldexp(half & 1023, -24);
  return half & 0x8000 ? -magnitude : magnitude;
}

Given MakeGiven(const Shape& shape, std::int64_t components, std::int64_t rows, std::int64_t columns, bool saturate,
                Random* random) {
  Given given;
  given.rows = rows;
  given.columns = columns;
  const std::int64_t group = 32 / components;
  given.groups = (columns + group - 1) / group;
  const std::int64_t depth = components * columns;
  const int limit = shape.format == Format::kInt4 ? 7 : 127;
  for (std::int64_t i = 0; i < components * rows * columns; ++i) {
    if (shape.format == Format::kFloat32) {
      given.floats.push_back(random->Uniform(2 / std::sqrt(static_cast<float>(depth))));
    } else {
      given.integers.push_back(static_cast<std::int8_t>(saturate ? limit : random->Integer(-limit, limit)));
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    if (shape.format == Format::kInt8)
      given.scales.push_back((1 + random->Uniform(0.5)) / 100 / std::sqrt(1.0f * depth));
    for (std::int64_t g = 0; shape.format == Format::kInt4 && g < given.groups; ++g) {
      given.halves.push_back(static_cast<std::uint16_t>(random->Integer(0x1c00, 0x2c00)));  // 2^-8 to 2^-4
    }
  }
  if (!given.halves.empty()) given.halves[0] = 0x0155;  // a subnormal one
  if (given.halves.size() > 1) given.halves[1] |= 0x8000;  // a negative one
  if (given.scales.size() > 1) given.scales[1] *= -1;
  return given;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return false;
    if (!std::isnan(a[i]) && std::memcmp(&a[i], &b[i], 4) != 0) return false;
  }
  return true;
}

}  // namespace

double Given::Scale(std::int64_t row, std::int64_t group) const {
  if (!floats.empty()) return 1;
  return halves.empty() ? scales[static_cast<std::size_t>(row)]
                        : HalfToFloat(halves[static_cast<std::size_t>(row * groups + group)]);
}

Case MakeCase(const Shape& shape, std::uint64_t seed, std::size_t shift, bool saturate) {
  Random random(seed);
  const LayerKind& kind = *FindKind(shape.kind);
  const bool quaternion = kind.quaternion, recurrent = kind.states > 0;
  const std::int64_t components = quaternion ? 4 : 1;
  const std::int64_t gates = kind.gates;
  const std::int64_t units = shape.outputs / components;
  Given input = MakeGiven(shape, components, gates * units, shape.inputs / components, saturate, &random);
  Given hidden;
  if (recurrent) hidden = MakeGiven(shape, components, gates * units, units, saturate, &random);
  std::vector<float> bias;
  for (std::int64_t i = 0; i < gates * shape.outputs; ++i) bias.push_back(random.Uniform(0.5));
  const std::size_t bytes = PackedBytes(shape);
  Guarded<std::uint8_t> block(static_cast<std::int64_t>(bytes), shift);
  EXPECT_EQ(Pack(shape, std::as_const(input).View(), std::as_const(hidden).View(), bias.data(), block.data()),
            Status::kOk);
  Layer layer{};
  EXPECT_EQ(Open(block.data(), bytes, &layer), Status::kOk);
  return {shape,           quaternion,       recurrent, components, gates, units, std::move(input), std::move(hidden),
          std::move(bias), std::move(block), layer};
}

Status Repack(Case* test) {
  return Pack(test->shape, std::as_const(test->input).View(), std::as_const(test->hidden).View(), test->bias.data(),
              test->block.data());
}

std::vector<float> RandomVector(std::int64_t count, float limit, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = random.Uniform(limit);
  return values;
}

Scratch::Scratch(std::size_t bytes) : bytes((bytes + 63) / 64 * 64), memory(static_cast<std::int64_t>(this->bytes)) {
  std::memset(memory.data(), 0xff, this->bytes);
}

Result RunChunks(const Kernels& kernels, const Case& test, const std::vector<float>& x, const std::vector<float>& h,
                 const std::vector<float>& c, const std::vector<std::int64_t>& chunks) {
  Result result{{}, h, c};
  const std::int64_t outputs = test.shape.outputs;
  std::int64_t begin = 0;
  for (const std::int64_t frames : chunks) {
    Guarded<float> chunk(frames * test.shape.inputs);
    for (std::int64_t i = 0; i < chunk.size(); ++i)
      chunk[i] = x[static_cast<std::size_t>(begin * test.shape.inputs + i)];
    Guarded<float> y(frames * outputs), h_in(outputs), c_in(outputs), h_out(outputs), c_out(outputs);
    std::copy(result.h.begin(), result.h.end(), h_in.data());
    std::copy(result.c.begin(), result.c.end(), c_in.data());
    Scratch scratch(ScratchBytes(test.layer, frames));
    RunWith(kernels, test.layer, chunk.data(), frames, h_in.data(), c_in.data(), y.data(), h_out.data(), c_out.data(),
            scratch.memory.data());
    result.y.insert(result.y.end(), y.data(), y.data() + y.size());
    if (test.recurrent) result.h.assign(h_out.data(), h_out.data() + outputs);
    if (FindKind(test.shape.kind)->states > 1) result.c.assign(c_out.data(), c_out.data() + outputs);
    begin += frames;
  }
  return result;
}

bool SameBits(const Result& a, const Result& b) {
  return SameBits(a.y, b.y) && SameBits(a.h, b.h) && SameBits(a.c, b.c);
}

int LeastSets() {
#if defined(TETRAPHONE_SCALAR_ONLY)
  return 1;
#elif defined(__aarch64__) || defined(__wasm__)
  return 2;  // NEON is in every such processor; aarch64.sh knows what else the emulated ones have
#else
  static const int least = [] {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line) && line.rfind("flags", 0) != 0) continue;
    const auto has = [&](const char* flag) { return (line + " ").find(std::string(" ") + flag + " ") != line.npos; };
    const bool avx2 = has("avx2") && has("fma") && has("f16c");
    const bool avx512 = has("avx512f") && has("avx512bw") && has("avx512vl") && has("avx512_vnni");
    return 1 + avx2 + (avx2 && has("avx_vnni")) + (avx2 && avx512);
  }();
  return least;
#endif
}

const std::vector<std::int64_t>& Sizes() {
  static const std::vector<std::int64_t> all = [] {
    std::vector<std::int64_t> sizes = {40, 64, 80, 120};
    for (std::int64_t size = 1; size <= 2 * kTileRows + 1; ++size) sizes.push_back(size);
    return sizes;
  }();
  return all;
}

std::string Describe(const Shape& shape) {
  std::ostringstream text;
  text << "kind " << static_cast<int>(shape.kind) << " format " << static_cast<int>(shape.format) << " " << shape.inputs
       << " -> " << shape.outputs;
  return text.str();
}

}  // namespace tetraphone
