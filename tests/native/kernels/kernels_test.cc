// Every instruction set that this processor has, against the scalar one (bit for bit) and against an oracle in double
// precision; packing; damaged blocks.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "check.h"
#include "instruction_sets.h"
#include "layers.h"
#include "run.h"

namespace tetraphone {
namespace {

double ActivationError(Format format) { return format == Format::kFloat32 ? 4e-7 : 1e-4; }

constexpr double kEpsilon = 0x1p-24;
const float kNan = std::numeric_limits<float>::quiet_NaN();
const float kInfinity = std::numeric_limits<float>::infinity();

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

// `count` elements between two pages that may not be touched, ending `shift` bytes before the second.
template <typename T>
class Guarded {
 public:
  explicit Guarded(std::int64_t count, std::size_t shift = 0) : count_(count) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    const std::size_t pages = (bytes + shift + page - 1) / page * page;
    size_ = pages + 2 * page;
    base_ =
        static_cast<std::uint8_t*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) std::abort();
    mprotect(base_, page, PROT_NONE);
    mprotect(base_ + page + pages, page, PROT_NONE);
    data_ = reinterpret_cast<T*>(base_ + page + pages - bytes - shift);
  }
  Guarded(Guarded&& other) noexcept : base_(other.base_), size_(other.size_), data_(other.data_), count_(other.count_) {
    other.base_ = nullptr;
  }
  ~Guarded() {
    if (base_ != nullptr) munmap(base_, size_);
  }
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::int64_t size() const { return count_; }
  T& operator[](std::int64_t i) { return data_[i]; }
  const T& operator[](std::int64_t i) const { return data_[i]; }

 private:
  std::uint8_t* base_;
  std::size_t size_;
  T* data_;
  std::int64_t count_;
};

std::string Describe(const Shape& shape) {
  std::ostringstream text;
  text << "kind " << static_cast<int>(shape.kind) << " format " << static_cast<int>(shape.format) << " " << shape.inputs
       << " -> " << shape.outputs << " ";
  return text.str();
}

float HalfToFloat(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const float magnitude =
      exponent != 0 ? std::ldexp(1024.0f + (half & 1023), exponent - 25) : std::ldexp(half & 1023, -24);
  return half & 0x8000 ? -magnitude : magnitude;
}

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
  double Scale(std::int64_t row, std::int64_t group) const {
    if (!floats.empty()) return 1;
    return halves.empty() ? scales[static_cast<std::size_t>(row)]
                          : HalfToFloat(halves[static_cast<std::size_t>(row * groups + group)]);
  }
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

Case MakeCase(const Shape& shape, std::uint64_t seed, std::size_t shift = 0, bool saturate = false) {
  Random random(seed);
  const bool quaternion = shape.kind != Kind::kLinear;
  const bool recurrent = shape.kind == Kind::kRnn || shape.kind == Kind::kLstm;
  const std::int64_t components = quaternion ? 4 : 1;
  const std::int64_t gates = shape.kind == Kind::kLstm ? 4 : 1;
  const std::int64_t units = shape.outputs / components;
  Given input = MakeGiven(shape, components, gates * units, shape.inputs / components, saturate, &random);
  Given hidden;
  if (recurrent) hidden = MakeGiven(shape, components, gates * units, units, saturate, &random);
  std::vector<float> bias;
  for (std::int64_t i = 0; i < gates * shape.outputs; ++i) bias.push_back(random.Uniform(0.5));
  const std::size_t bytes = PackedBytes(shape);
  Guarded<std::uint8_t> block(static_cast<std::int64_t>(bytes), shift);
  CHECK(Pack(shape, std::as_const(input).View(), std::as_const(hidden).View(), bias.data(), block.data()) ==
        Status::kOk)
      << Describe(shape);
  Layer layer{};
  CHECK(Open(block.data(), bytes, &layer) == Status::kOk) << Describe(shape);
  return {shape,           quaternion,       recurrent, components, gates, units, std::move(input), std::move(hidden),
          std::move(bias), std::move(block), layer};
}

Status Repack(Case* test) {
  return Pack(test->shape, std::as_const(test->input).View(), std::as_const(test->hidden).View(), test->bias.data(),
              test->block.data());
}

struct Scratch {
  explicit Scratch(std::size_t bytes) : bytes((bytes + 63) / 64 * 64), memory(static_cast<std::int64_t>(this->bytes)) {
    std::memset(memory.data(), 0xff, this->bytes);  // NaN
  }
  std::size_t bytes;
  Guarded<std::uint8_t> memory;
};

struct Result {
  std::vector<float> y, h, c;
};

// Runs the frames in chunks of the given lengths.
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
    if (test.shape.kind == Kind::kLstm) result.c.assign(c_out.data(), c_out.data() + outputs);
    begin += frames;
  }
  return result;
}

std::vector<float> RandomVector(std::int64_t count, float limit, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = random.Uniform(limit);
  return values;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return false;
    if (!std::isnan(a[i]) && std::memcmp(&a[i], &b[i], 4) != 0) return false;
  }
  return true;
}

bool SameBits(const Result& a, const Result& b) {
  return SameBits(a.y, b.y) && SameBits(a.h, b.h) && SameBits(a.c, b.c);
}

// How many sets this processor must run, by the operating system's word: more only if the list has grown.
int LeastSets() {
#if defined(TETRAPHONE_SCALAR_ONLY)
  return 1;
#elif defined(__aarch64__)
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

template <typename Body>
void ForEachSet(Body body) {
  int count = 0;
  for (std::size_t i = 0; i < kInstructionSets; ++i) {
    if (!InstructionSets()[i].supported) continue;
    body(*InstructionSets()[i].kernels);
    ++count;
  }
  CHECK(count >= LeastSets());
}

const std::vector<std::int64_t> kSizes = [] {
  std::vector<std::int64_t> sizes = {40, 64, 80, 120};  // the models' own
  for (std::int64_t size = 1; size <= 2 * kTileRows + 1; ++size) sizes.push_back(size);
  return sizes;
}();

// Every kind and format with the given output size and a varying input size.
template <typename Body>
void ForEachShape(Body body) {
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    for (const Kind kind : {Kind::kHamiltonLinear, Kind::kLinear, Kind::kRnn, Kind::kLstm}) {
      for (const Format format : {Format::kFloat32, Format::kInt8, Format::kInt4}) {
        const std::int64_t unit = kind == Kind::kLinear ? 1 : 4;
        body(Shape{kind, format, unit * kSizes[(i * 7 + 2) % kSizes.size()], unit * kSizes[i]});
      }
    }
  }
}

// ---- the oracle -----------------------------------------------------------------------------------------------------

// The quaternion rule i^2 = j^2 = k^2 = ijk = -1, written out once more, independently of the kernels' table: the real
// matrix of a weight, entry [output component][input component].
double BlockEntry(const Given& w, std::int64_t row, std::int64_t column, int to, int from) {
  static constexpr int kComponent[4][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
  static constexpr int kSign[4][4] = {{1, -1, -1, -1}, {1, 1, -1, 1}, {1, 1, 1, -1}, {1, -1, 1, 1}};
  return kSign[to][from] * w.Value(kComponent[to][from], row, column);
}

struct Sum {
  double value;
  double magnitude;  // sum of absolute products, for the bound
};

// Row `row`, output component `to` of the product with planar values x, each worth `scale`.
Sum Product(const Case& test, const Given& w, std::int64_t row, int to, const std::vector<double>& x, double scale) {
  Sum sum{0, 0};
  for (std::int64_t column = 0; column < w.columns; ++column) {
    const double weight_scale = w.Scale(row, column * test.components / 32);
    for (int from = 0; from < test.components; ++from) {
      const double weight = test.quaternion ? BlockEntry(w, row, column, to, from) : w.Value(0, row, column);
      const double product = weight * weight_scale * scale * x[static_cast<std::size_t>(from * w.columns + column)];
      sum.value += product;
      sum.magnitude += std::fabs(product);
    }
  }
  return sum;
}

struct Quantized {
  std::vector<double> values;
  double scale;
};

Quantized QuantizeInput(const Case& test, const float* x, std::int64_t count, bool state) {
  Quantized q{std::vector<double>(static_cast<std::size_t>(count)), 1};
  if (test.shape.format == Format::kFloat32) {
    for (std::int64_t i = 0; i < count; ++i) q.values[static_cast<std::size_t>(i)] = x[i];
    return q;
  }
  float greatest = state ? 1 : 0;
  for (std::int64_t i = 0; i < count && !state; ++i) greatest = std::max(greatest, std::fabs(x[i]));
  if (greatest < kSmallest) return q;
  const float factor = 127 / greatest;
  q.scale = greatest / 127;
  for (std::int64_t i = 0; i < count; ++i) {
    q.values[static_cast<std::size_t>(i)] = std::nearbyint(std::clamp(x[i], -greatest, greatest) * factor);
  }
  return q;
}

double SigmoidOracle(double x) { return 1 / (1 + std::exp(-x)); }

// Checks one frame that began in state (h, c) and ended in (y, c_next).
void CheckFrame(const Case& test, const float* x, const std::vector<float>& h, const std::vector<float>& c,
                const float* y, const std::vector<float>& c_next, const char* set) {
  const Quantized input = QuantizeInput(test, x, test.shape.inputs, false);
  Quantized hidden{{}, 1};
  if (test.recurrent) hidden = QuantizeInput(test, h.data(), test.shape.outputs, true);
  const double activation_error = ActivationError(test.shape.format);
  const double terms = static_cast<double>(test.components * (test.input.columns + test.hidden.columns)) + 8;
  for (int component = 0; component < test.components; ++component) {
    for (std::int64_t unit = 0; unit < test.units; ++unit) {
      const std::size_t at = static_cast<std::size_t>(component * test.units + unit);
      double a[4], bound[4];
      for (std::int64_t gate = 0; gate < test.gates; ++gate) {
        const std::int64_t row = gate * test.units + unit;
        const Sum from_input = Product(test, test.input, row, component, input.values, input.scale);
        Sum from_hidden{0, 0};
        if (test.recurrent) from_hidden = Product(test, test.hidden, row, component, hidden.values, hidden.scale);
        const double bias = test.bias[static_cast<std::size_t>(gate * test.shape.outputs) + at];
        a[gate] = from_input.value + from_hidden.value + bias;
        bound[gate] = terms * kEpsilon * (from_input.magnitude + from_hidden.magnitude + std::fabs(bias));
      }
      double expected = a[0], error = bound[0];
      if (test.shape.kind == Kind::kRnn) {
        expected = std::tanh(a[0]);
        error = bound[0] + activation_error;
      } else if (test.shape.kind == Kind::kLstm) {
        const double cell = SigmoidOracle(a[1]) * c[at] + SigmoidOracle(a[0]) * std::tanh(a[2]);
        const double cell_error = (bound[1] / 4 + activation_error) * std::fabs(c[at]) +
                                  (bound[0] / 4 + activation_error) + (bound[2] + activation_error) +
                                  4 * kEpsilon * (1 + std::fabs(c[at]));
        CHECK(std::fabs(c_next[at] - cell) <= cell_error)
            << set << " " << Describe(test.shape) << c_next[at] << " " << cell;
        expected = SigmoidOracle(a[3]) * std::tanh(cell);
        error = cell_error + bound[3] / 4 + 3 * activation_error;
      }
      CHECK(std::fabs(y[at] - expected) <= error) << set << " " << Describe(test.shape) << y[at] << " " << expected;
    }
  }
}

// ---- tests ----------------------------------------------------------------------------------------------------------

TEST(SetsAreListed) {
  ForEachSet([](const Kernels& kernels) { std::cout << "instruction set " << kernels.name << "\n"; });
  for (std::size_t i = 0; i < kInstructionSets; ++i) {
    if (InstructionSets()[i].supported) continue;
    std::cout << "SKIPPED instruction set " << InstructionSets()[i].kernels->name << ": this processor lacks it\n";
  }
  std::cout << "in use: " << InstructionSet() << "\n";
}

TEST(UnpackInvertsPack) {
  ForEachShape([](const Shape& shape) {
    const Case test = MakeCase(shape, 1);
    Given input = test.input, hidden = test.hidden;
    for (Given* given : {&input, &hidden}) {
      std::fill(given->floats.begin(), given->floats.end(), 9.0f);
      std::fill(given->integers.begin(), given->integers.end(), std::int8_t{99});
      std::fill(given->scales.begin(), given->scales.end(), 9.0f);
      std::fill(given->halves.begin(), given->halves.end(), std::uint16_t{9});
    }
    std::vector<float> bias(test.bias.size(), 9.0f);
    CHECK(Unpack(test.block.data(), PackedBytes(shape), input.View(), hidden.View(), bias.data()) == Status::kOk);
    const auto same = [](const Given& a, const Given& b) {
      return a.floats == b.floats && a.integers == b.integers && a.scales == b.scales && a.halves == b.halves;
    };
    CHECK(same(input, test.input) && same(hidden, test.hidden) && bias == test.bias) << Describe(shape);
  });
}

TEST(NoBiasIsZeroBias) {
  const Shape shape{Kind::kHamiltonLinear, Format::kFloat32, 8, 12};
  const Case test = MakeCase(shape, 2);
  std::vector<std::uint8_t> block(PackedBytes(shape));
  CHECK(Pack(shape, test.input.View(), {nullptr, nullptr}, nullptr, block.data()) == Status::kOk);
  Given input = test.input;
  std::vector<float> bias(12, 9.0f);
  CHECK(Unpack(block.data(), block.size(), input.View(), {nullptr, nullptr}, bias.data()) == Status::kOk);
  CHECK(bias == std::vector<float>(12, 0.0f));
}

TEST(ShapesAreRefused) {
  const auto refused = [](Kind kind, Format format, std::int64_t inputs, std::int64_t outputs) {
    const Shape shape{kind, format, inputs, outputs};
    std::uint8_t byte;
    return PackedBytes(shape) == 0 && Pack(shape, {}, {}, nullptr, &byte) == Status::kShape;
  };
  CHECK(refused(Kind::kLstm, Format::kInt8, 0, 4));
  CHECK(refused(Kind::kLstm, Format::kInt8, 4, 0));
  CHECK(refused(Kind::kLstm, Format::kInt8, -4, 4));
  CHECK(refused(Kind::kLstm, Format::kInt8, 6, 4));
  CHECK(refused(Kind::kRnn, Format::kFloat32, 4, 6));
  CHECK(refused(Kind::kLinear, Format::kFloat32, 1 << 17, 1));
  CHECK(refused(Kind::kLinear, Format::kFloat32, std::numeric_limits<std::int64_t>::max(), 1));
  CHECK(refused(Kind::kLinear, Format::kFloat32, 1 << 16, 1 << 16));
  CHECK(refused(static_cast<Kind>(0), Format::kInt8, 4, 4));
  CHECK(refused(Kind::kRnn, static_cast<Format>(4), 4, 4));
  CHECK(!refused(Kind::kLinear, Format::kInt4, 1, 1));
}

TEST(ValuesAreRefused) {
  const auto pack = [](const Case& test) {
    std::vector<std::uint8_t> block(PackedBytes(test.shape));
    const Status status = Pack(test.shape, test.input.View(), test.hidden.View(), test.bias.data(), block.data());
    Layer layer;
    CHECK((Open(block.data(), block.size(), &layer) == Status::kOk) == (status == Status::kOk));
    return status;
  };
  for (const Format format : {Format::kFloat32, Format::kInt8, Format::kInt4}) {
    const Case good = MakeCase({Kind::kRnn, format, 8, 12}, 3);
    CHECK(pack(good) == Status::kOk);
    Case bad = MakeCase(good.shape, 3);
    bad.bias[5] = kInfinity;
    CHECK(pack(bad) == Status::kValue);
    for (Given Case::* matrix : {&Case::input, &Case::hidden}) {
      Case changed = MakeCase(good.shape, 3);
      Given& given = changed.*matrix;
      if (format == Format::kFloat32) given.floats.back() = kNan;
      if (format == Format::kInt8) given.integers.back() = -128;
      if (format == Format::kInt4) given.integers.back() = -8;
      CHECK(pack(changed) == Status::kValue);
      if (format == Format::kFloat32) continue;
      Case infinite = MakeCase(good.shape, 3);
      if (format == Format::kInt8) (infinite.*matrix).scales.back() = kInfinity;
      if (format == Format::kInt4) (infinite.*matrix).halves.back() = 0x7c00;
      CHECK(pack(infinite) == Status::kValue);
    }
  }
}

TEST(DamagedBlocksAreRefused) {
  ForEachShape([](const Shape& shape) {
    if (shape.outputs % 20 != 0) return;
    const Case test = MakeCase(shape, 4);
    const std::size_t bytes = PackedBytes(shape);
    Layer layer;
    for (std::size_t length = 0; length < bytes; length += 16) {
      CHECK(Open(test.block.data(), length, &layer) == Status::kTruncated) << Describe(shape) << length;
      if (length > 1024) continue;  // with a guard page right after it
      Guarded<std::uint8_t> part(static_cast<std::int64_t>(length));
      if (length > 0) std::memcpy(part.data(), test.block.data(), length);
      CHECK(Open(part.data(), length, &layer) == Status::kTruncated) << Describe(shape) << length;
    }
    std::vector<std::uint8_t> damaged(bytes + 16);
    std::memcpy(damaged.data(), test.block.data(), bytes);
    CHECK(Open(damaged.data(), bytes + 16, &layer) == Status::kHeader);
    for (std::size_t byte = 0; byte < 64; ++byte) {
      for (int bit = 0; bit < 8; ++bit) {
        damaged[byte] = static_cast<std::uint8_t>(damaged[byte] ^ 1 << bit);
        const Status expected = byte < 4   ? Status::kMagic
                                : byte == 4 && bit == 1 ? Status::kVersion  // 2 becomes 0, or more
                                : byte < 6 ? Status::kNewer
                                : byte < 8 ? Status::kTile
                                           : Status::kHeader;
        CHECK(Open(damaged.data(), bytes, &layer) == expected) << Describe(shape) << byte << " " << bit;
        damaged[byte] = static_cast<std::uint8_t>(damaged[byte] ^ 1 << bit);
      }
    }
  });
}

TEST(FramesEqualTheOracle) {
  ForEachShape([](const Shape& shape) {
    const Case test = MakeCase(shape, 5);
    const std::int64_t frames = 3;
    const std::vector<float> x = RandomVector(frames * shape.inputs, 3, 6);
    ForEachSet([&](const Kernels& kernels) {
      std::vector<float> h = RandomVector(shape.outputs, 1.2f, 7), c = RandomVector(shape.outputs, 2, 8);
      for (std::int64_t frame = 0; frame < frames; ++frame) {
        const std::vector<float> one(x.begin() + frame * shape.inputs, x.begin() + (frame + 1) * shape.inputs);
        const Result next = RunChunks(kernels, test, one, h, c, {1});
        CheckFrame(test, one.data(), h, c, next.y.data(), next.c, kernels.name);
        if (test.recurrent) CHECK(next.h == next.y);
        h = next.h;
        c = next.c;
      }
    });
  });
}

TEST(SetsGiveTheSameBits) {
  ForEachShape([](const Shape& shape) {
    for (const std::size_t shift : {0, 1, 17}) {
      if (shift > 0 && shape.outputs > 80) continue;
      const Case test = MakeCase(shape, 9, shift);
      const std::vector<float> x = RandomVector(6 * shape.inputs, 2, 10);
      const std::vector<float> h = RandomVector(shape.outputs, 1, 11), c = RandomVector(shape.outputs, 1, 12);
      const Result expected = RunChunks(kernels_scalar, test, x, h, c, {6});
      ForEachSet([&](const Kernels& kernels) {
        CHECK(SameBits(RunChunks(kernels, test, x, h, c, {6}), expected)) << kernels.name << " " << Describe(shape);
      });
    }
  });
}

TEST(SaturatedIntegersAreExact) {
  for (const Kind kind : {Kind::kHamiltonLinear, Kind::kLinear, Kind::kLstm}) {
    for (const Format format : {Format::kInt8, Format::kInt4}) {
      const Case test = MakeCase({kind, format, 480, 64}, 13, 0, true);
      for (int pattern = 0; pattern < 16; ++pattern) {
        std::vector<float> x(480, 5.0f);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = pattern >> (i / 120) & 1 ? -5.0f : 5.0f;
        const std::vector<float> h(64, pattern % 2 ? -1.0f : 1.0f), c(64, 0.5f);
        const Result expected = RunChunks(kernels_scalar, test, x, h, c, {1});
        CheckFrame(test, x.data(), h, c, expected.y.data(), expected.c, "scalar");
        ForEachSet([&](const Kernels& kernels) {
          CHECK(SameBits(RunChunks(kernels, test, x, h, c, {1}), expected))
              << kernels.name << " " << Describe(test.shape);
        });
      }
    }
  }
}

TEST(GroupingOfFramesChangesNothing) {
  const std::int64_t frames = 53;
  for (const Kind kind : {Kind::kHamiltonLinear, Kind::kLinear, Kind::kRnn, Kind::kLstm}) {
    for (const Format format : {Format::kFloat32, Format::kInt8, Format::kInt4}) {
      const Case test = MakeCase({kind, format, 44, 36}, 14);
      const std::vector<float> x = RandomVector(frames * 44, 2, 15);
      const std::vector<float> h = RandomVector(36, 1, 16), c = RandomVector(36, 1, 17);
      ForEachSet([&](const Kernels& kernels) {
        const Result whole = RunChunks(kernels, test, x, h, c, {frames});
        CHECK(whole.y.size() == static_cast<std::size_t>(frames * 36));
        for (const std::vector<std::int64_t>& chunks :
             {std::vector<std::int64_t>(frames, 1), {0, 16, 17, 0, 3, 7, 10}}) {
          CHECK(SameBits(RunChunks(kernels, test, x, h, c, chunks), whole))
              << kernels.name << " " << Describe(test.shape);
        }
      });
    }
  }
}

TEST(StatesMayBeUpdatedInPlace) {
  for (const std::int64_t frames : {0, 1, 20}) {
    for (const Kind kind : {Kind::kRnn, Kind::kLstm}) {
      const Case test = MakeCase({kind, Format::kInt8, 8, 20}, 18);
      const std::vector<float> x = RandomVector(frames * 8, 2, 19);
      const std::vector<float> h = RandomVector(20, 1, 20), c = RandomVector(20, 1, 21);
      ForEachSet([&](const Kernels& kernels) {
        const Result apart = RunChunks(kernels, test, x, h, c, {frames});
        Result together{std::vector<float>(static_cast<std::size_t>(frames * 20)), h, c};
        Scratch scratch(ScratchBytes(test.layer, frames));
        RunWith(kernels, test.layer, x.data(), frames, together.h.data(), together.c.data(), together.y.data(),
                together.h.data(), together.c.data(), scratch.memory.data());
        CHECK(SameBits(apart, together)) << kernels.name;
        if (frames == 0) CHECK(together.h == h && together.c == c);
      });
    }
  }
}

TEST(ScratchIsBounded) {
  ForEachShape([](const Shape& shape) {
    const Case test = MakeCase(shape, 22);
    CHECK(ScratchBytes(test.layer, 1) <= ScratchBytes(test.layer, 16));
    CHECK(ScratchBytes(test.layer, 16) == ScratchBytes(test.layer, 1 << 20));
  });
}

// One value of the second of three frames is not finite: the quantised formats' frame, and all later ones of a
// recurrent layer, are NaN; float32 follows arithmetic. A denormal is just a small number.
TEST(ExtremeInputs) {
  ForEachShape([](const Shape& shape) {
    if (shape.outputs > 80) return;
    const Case test = MakeCase(shape, 23);
    for (const float extreme : {kNan, kInfinity, -kInfinity, 1e-40f, std::numeric_limits<float>::max()}) {
      for (const std::int64_t place : {std::int64_t{0}, shape.inputs / 2, shape.inputs - 1}) {
        std::vector<float> x = RandomVector(3 * shape.inputs, 1, 24);
        x[static_cast<std::size_t>(shape.inputs + place)] = extreme;
        const std::vector<float> h = RandomVector(shape.outputs, 1, 25), c = RandomVector(shape.outputs, 1, 26);
        const Result expected = RunChunks(kernels_scalar, test, x, h, c, {3});
        ForEachSet([&](const Kernels& kernels) {
          CHECK(SameBits(RunChunks(kernels, test, x, h, c, {3}), expected)) << kernels.name << " " << Describe(shape);
        });
        const bool poisoned = std::isnan(extreme) || (std::isinf(extreme) && shape.format != Format::kFloat32);
        for (std::int64_t i = 0; i < 3 * shape.outputs; ++i) {
          const std::int64_t frame = i / shape.outputs;
          const bool nan = std::isnan(expected.y[static_cast<std::size_t>(i)]);
          if (frame == 0) CHECK(!nan);
          if (frame == 1 && poisoned) CHECK(nan) << Describe(shape) << extreme;
          if (frame == 2 && poisoned) CHECK(nan == test.recurrent) << Describe(shape) << extreme;
          if (!poisoned && !std::isinf(extreme)) CHECK(!nan) << Describe(shape) << extreme;
        }
      }
    }
  });
}

// Infinite inputs of a float32 layer with positive weights: the gates saturate, and padding stays out of it.
TEST(InfinityInFloat32) {
  const Shape shape{Kind::kRnn, Format::kFloat32, 4, 20};
  Case test = MakeCase(shape, 27);
  for (float& value : test.input.floats) value = 1;
  CHECK(Repack(&test) == Status::kOk);
  const std::vector<float> x = {kInfinity, 1, 1, 1, 0, 0, 0, 0};
  const std::vector<float> h(20, 0.0f);
  ForEachSet([&](const Kernels& kernels) {
    const Result result = RunChunks(kernels, test, x, h, h, {2});
    for (std::size_t i = 0; i < 40; ++i) CHECK(std::isfinite(result.y[i])) << kernels.name << " " << i;
    for (std::size_t i = 0; i < 20; ++i) CHECK(result.y[i] == 1) << kernels.name;
  });
}

TEST(ZerosAndTinyInputsQuantizeToZero) {
  for (const float tiny : {0.0f, 1e-45f, 1e-38f}) {
    const Case test = MakeCase({Kind::kHamiltonLinear, Format::kInt8, 12, 8}, 28);
    ForEachSet([&](const Kernels& kernels) {
      CHECK(RunChunks(kernels, test, std::vector<float>(12, tiny), {}, {}, {}).y.empty());
      Guarded<float> y(8);
      Scratch scratch(ScratchBytes(test.layer, 1));
      const std::vector<float> x(12, tiny);
      RunWith(kernels, test.layer, x.data(), 1, nullptr, nullptr, y.data(), nullptr, nullptr, scratch.memory.data());
      for (std::int64_t i = 0; i < 8; ++i) CHECK(y[i] == test.bias[static_cast<std::size_t>(i)]);
    });
  }
}

// Chosen anew while other threads compute: every frame has the bits of every set.
TEST(TheSetIsChosenAtAnyTime) {
  const std::string first = InstructionSet();
  CHECK(!ChooseInstructionSet("none") && first == InstructionSet());
  CHECK(!ChooseInstructionSet("") && first == InstructionSet());
  for (std::size_t i = 0; i < kInstructionSets; ++i) {
    const InstructionSetEntry& entry = InstructionSets()[i];
    CHECK(ChooseInstructionSet(entry.kernels->name) == entry.supported) << entry.kernels->name;
    if (entry.supported) CHECK(std::strcmp(InstructionSet(), entry.kernels->name) == 0);
  }
  const Case test = MakeCase({Kind::kHamiltonLinear, Format::kInt8, 52, 24}, 29);
  const std::vector<float> x(52, 0.25f);
  const auto compute = [&] {
    std::vector<float> y(24);
    Scratch scratch(ScratchBytes(test.layer, 1));
    Run(test.layer, x.data(), 1, nullptr, nullptr, y.data(), nullptr, nullptr, scratch.memory.data());
    return y;
  };
  const std::vector<float> expected = compute();
  std::atomic<bool> same{true}, done{false};
  std::thread other([&] {
    while (!done) same = same && compute() == expected;
  });
  for (int round = 0; round < 1000; ++round) {
    ForEachSet([&](const Kernels& kernels) { CHECK(ChooseInstructionSet(kernels.name)); });
  }
  done = true;
  other.join();
  CHECK(same);
  CHECK(ChooseInstructionSet(first.c_str()));
}

// tanh through a recurrent layer's element-wise part, sigmoid as the forget gate of a cell of 1: of every 9973rd float
// by its bits, in the set in use; all sets give the same bits. TETRAPHONE_STRIDE=1 takes all 2^32 floats instead.
TEST(ActivationsAreWithinTheirBound) {
  const char* given = std::getenv("TETRAPHONE_STRIDE");
  const std::uint64_t stride = given != nullptr ? std::strtoull(given, nullptr, 10) : 9973;
  constexpr int kUnits = 16, kCount = 4 * kUnits;
  struct Activated {
    float tanh[kCount], sigmoid[kCount];
  };
  const auto activate = [](const Kernels& kernels, Format format, const float (&x)[kCount]) {
    const bool accurate = format == Format::kFloat32;
    Activated result;
    (accurate ? kernels.rnn_f32 : kernels.rnn_s8)({x, kUnits, nullptr, result.tanh, nullptr});
    float sums[4][4][kUnits] = {}, h[kCount];
    for (int i = 0; i < kCount; ++i) {
      sums[i / kUnits][1][i % kUnits] = x[i];
      result.sigmoid[i] = 1;
    }
    (accurate ? kernels.lstm_f32 : kernels.lstm_s8)({&sums[0][0][0], kUnits, result.sigmoid, h, result.sigmoid});
    return result;
  };
  for (const Format format : {Format::kFloat32, Format::kInt8}) {
    double tanh_error = 0, sigmoid_error = 0;
    std::uint64_t bits = 0;
    while (bits < std::uint64_t{1} << 32) {
      float x[kCount];
      for (float& value : x) {
        const std::uint32_t pattern = static_cast<std::uint32_t>(bits);
        std::memcpy(&value, &pattern, 4);
        bits += stride;
      }
      const Activated active = activate(ActiveKernels(), format, x);
      for (int i = 0; i < kCount; ++i) {
        const float tanh = active.tanh[i], sigmoid = active.sigmoid[i];
        if (std::isnan(x[i])) {
          CHECK(std::isnan(tanh) && std::isnan(sigmoid));
          continue;
        }
        tanh_error = std::max(tanh_error, std::fabs(tanh - std::tanh(static_cast<double>(x[i]))));
        sigmoid_error = std::max(sigmoid_error, std::fabs(sigmoid - SigmoidOracle(x[i])));
        CHECK(std::fabs(tanh) <= 1 && sigmoid >= 0 && sigmoid <= 1) << x[i];
      }
      ForEachSet([&](const Kernels& kernels) {
        const Activated other = activate(kernels, format, x);
        for (int i = 0; i < kCount; ++i) {
          if (std::isnan(x[i])) {
            CHECK(std::isnan(other.tanh[i]) && std::isnan(other.sigmoid[i])) << kernels.name;
          } else {
            CHECK(other.tanh[i] == active.tanh[i] && other.sigmoid[i] == active.sigmoid[i])
                << kernels.name << " " << x[i];
          }
        }
      });
    }
    std::cout << "greatest error: tanh " << tanh_error << ", sigmoid " << sigmoid_error << "\n";
    CHECK(tanh_error <= ActivationError(format)) << tanh_error;
    CHECK(sigmoid_error <= ActivationError(format)) << sigmoid_error;
  }
}

}  // namespace
}  // namespace tetraphone

int main(int argc, char** argv) { return RunTests(argc, argv); }
