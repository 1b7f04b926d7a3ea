#include "model.h"

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <new>
#include <optional>

#include "../common/heap_bytes.h"
#include "../common/limits.h"
#include "../common/words.h"
#include "../kernels/layers.h"
#include "../operators/operators.h"

namespace tetraphone {
namespace {

namespace et = executorch::runtime;

// ExecuTorch's tensors of constants want 16; the kernels' loads are fastest at a cache line.
constexpr std::align_val_t kAlignment{64};

Error Damaged(const std::string& name, const std::string& what) {
  return Error{ErrorCode::kDamaged, name + " has metadata of no model of ours (" + what + "); export the model again"};
}

// Metadata by name, with the value that is wrong kept for the error.
class Metadata {
 public:
  explicit Metadata(const ProgramFile& program) : values_(program.metadata) {}

  template <typename T>
  T Get(const std::string& key) {
    const auto found = values_.find(key);
    const T* value = found == values_.end() ? nullptr : std::get_if<T>(&found->second);
    if (value != nullptr) return *value;
    if (fault_.empty()) fault_ = key + (found == values_.end() ? " is missing" : " is of another type");
    return T{};
  }
  void Read(const std::string& key, double* number) { *number = Get<double>(key); }
  void Read(const std::string& key, int* number) {
    const auto value = Get<std::int64_t>(key);
    *number = static_cast<int>(value);
    if (fault_.empty() && value != *number) fault_ = key + " is " + std::to_string(value);
  }
  // One that follows from others; export's arithmetic may round otherwise.
  double Derived(const std::string& key, double expected) {
    return Number(key, expected - 1e-9, expected + 1e-9);
  }
  double Number(const std::string& key, double least, double greatest) {
    const double value = Get<double>(key);
    if (fault_.empty() && !(value >= least && value <= greatest)) fault_ = key + " is " + std::to_string(value);
    return value;
  }
  const std::string& fault() const { return fault_; }

 private:
  const std::map<std::string, ProgramFile::Value>& values_;
  std::string fault_;
};

}  // namespace

struct Model::Runtime {
  executorch::extension::BufferDataLoader loader;
  std::optional<et::Program> program;
};

Model::~Model() {
  runtime_.reset();
  if (data_ == nullptr) return;
  if (mapped_) {
    munmap(const_cast<std::uint8_t*>(data_), size_);
  } else {
    ::operator delete(const_cast<std::uint8_t*>(data_), kAlignment);
  }
}

Result<std::shared_ptr<const Model>> Model::Load(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    const std::string why = file < 0 ? std::strerror(errno) : "it is no file";
    if (file >= 0) close(file);
    return Error{ErrorCode::kUnreadable, "cannot read " + path + ": " + why + "; `tetraphone export` makes models"};
  }
  std::unique_ptr<Model> model(new Model);
  model->name_ = path;
  model->size_ = static_cast<std::size_t>(status.st_size);
  void* data = model->size_ == 0 ? nullptr : mmap(nullptr, model->size_, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (data == MAP_FAILED) return Error{ErrorCode::kOutOfMemory, "cannot map " + path + ": " + std::strerror(errno)};
  model->data_ = static_cast<const std::uint8_t*>(data);
  model->mapped_ = true;
  return Finish(std::move(model));
}

Result<std::shared_ptr<const Model>> Model::Load(const std::uint8_t* data, std::size_t size, const std::string& name) {
  std::unique_ptr<Model> model(new Model);
  model->name_ = name;
  model->size_ = size;
  if (size != 0) {
    void* copy = ::operator new(size, kAlignment, std::nothrow);
    if (copy == nullptr)
      return Error{ErrorCode::kOutOfMemory, "no memory for the " + std::to_string(size) + " bytes of " + name};
    std::memcpy(copy, data, size);
    model->data_ = static_cast<const std::uint8_t*>(copy);
  }
  return Finish(std::move(model));
}

Result<std::shared_ptr<const Model>> Model::Finish(std::unique_ptr<Model> model) {
  Result<ProgramFile> program = ReadProgram(model->data_, model->size_, model->name_);
  if (!program) return program.error();
  model->program_ = std::move(*program);
  if (Failure failure = model->ReadInfo()) return *failure;

  static const bool once = (et::runtime_init(), RegisterOperators(), true);  // ExecuTorch has no lock of its own
  (void)once;
  model->runtime_.reset(new Runtime{{model->data_, model->size_}, std::nullopt});
  et::Result<et::Program> loaded =
      et::Program::load(&model->runtime_->loader, et::Program::Verification::InternalConsistency);
  if (!loaded.ok()) {
    return Error{ErrorCode::kDamaged, model->name_ + " does not load in ExecuTorch (error " +
                                          std::to_string(static_cast<int>(loaded.error())) +
                                          "); export the model again"};
  }
  model->runtime_->program.emplace(std::move(*loaded));
  return std::shared_ptr<const Model>(std::move(model));
}

Failure Model::ReadInfo() {
  Metadata data(program_);
  info_.phones = Words(data.Get<std::string>("phones"));
  if (Failure failure = CheckPhones(info_.phones)) return Damaged(name_, failure->message);
  FeatureOptions& features = info_.features;
  FeatureOptions::ForEach(features, [&](const char* name, auto& value, double, double) { data.Read(name, &value); });
  if (Failure failure = CheckFeatures(features); failure && data.fault().empty()) {
    return Damaged(name_, failure->message);
  }
  info_.frame_shift = data.Derived("frame_shift", features.shift());
  info_.frame_offset = data.Derived("frame_offset", features.offset());
  info_.delay = data.Derived("delay", features.delay());
  info_.confidence_slope = data.Number("confidence_slope", 0, 1e3);
  info_.confidence_intercept = data.Number("confidence_intercept", -1e3, 1e3);
  auto mean = data.Get<std::vector<float>>("normalisation_mean");
  auto deviation = data.Get<std::vector<float>>("normalisation_deviation");
  if (!data.fault().empty()) return Damaged(name_, data.fault());
  if (program_.inputs != features.inputs() || program_.outputs != info_.phones.size() + 1) {
    return Damaged(name_, std::to_string(features.inputs()) + " features and " + std::to_string(info_.phones.size()) +
                              " phones for a network of " + std::to_string(program_.inputs) + " inputs and " +
                              std::to_string(program_.outputs) + " scores");
  }
  auto tables = FrontEnd::MakeTables(features, std::move(mean), std::move(deviation));
  if (!tables) return Damaged(name_, tables.error().message);
  front_end_ = *tables;
  return std::nullopt;
}

std::size_t Model::heap_bytes() const {
  std::size_t bytes = sizeof *this + sizeof *runtime_ + (mapped_ ? 0 : size_);
  bytes += HeapBytes(info_.phones, program_.states) + FrontEnd::TablesHeapBytes(*front_end_);
  for (const auto& [key, value] : program_.metadata) {
    bytes += sizeof key + sizeof value;
    if (const auto* text = std::get_if<std::string>(&value)) bytes += text->capacity();
    if (const auto* numbers = std::get_if<std::vector<float>>(&value)) bytes += HeapBytes(*numbers);
  }
  return bytes;
}

namespace {

// Counts what ExecuTorch asks for when it prepares a method.
class CountingAllocator final : public executorch::extension::MallocMemoryAllocator {
 public:
  void* allocate(std::size_t size, std::size_t alignment) override {
    void* memory = MallocMemoryAllocator::allocate(size, alignment);
    if (memory != nullptr) bytes_ += size;
    return memory;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace

// ExecuTorch's method and all memory that it works in.
struct Network::Call {
  explicit Call(const ProgramFile& program)
      : planned(program.planned_bytes + kPadding),
        scratch(program.scratch_bytes + kPadding),
        buffer(planned.data(), program.planned_bytes),
        hierarchy({&buffer, std::size_t{1}}),
        temporary(static_cast<std::uint32_t>(scratch.size()), scratch.data()),
        manager(&allocator, &hierarchy, &temporary) {}

  static constexpr std::size_t kPadding = kScratchAlignment;

  std::vector<std::uint8_t> planned;
  std::vector<std::uint8_t> scratch;
  et::Span<std::uint8_t> buffer;
  CountingAllocator allocator;
  et::HierarchicalAllocator hierarchy;
  et::MemoryAllocator temporary;
  et::MemoryManager manager;
  std::optional<et::Method> method;  // last: it refers to the rest
};

Network::Network(std::shared_ptr<const Model> model) : model_(std::move(model)) {
  for (const std::size_t size : model_->program_.states) states_.emplace_back(size, 0.0f);
}

Network::~Network() = default;

Result<std::unique_ptr<Network>> Network::Make(std::shared_ptr<const Model> model) {
  std::unique_ptr<Network> network(new Network(std::move(model)));
  const Model& file = *network->model_;
  const auto refused = [&](const char* what, et::Error error) {
    return Error{error == et::Error::MemoryAllocationFailed ? ErrorCode::kOutOfMemory : ErrorCode::kDamaged,
                 file.name_ + ": ExecuTorch cannot " + what + " (error " + std::to_string(static_cast<int>(error)) +
                     "); export the model again"};
  };
  network->call_.reset(new Call(file.program_));
  Call& call = *network->call_;
  et::Result<et::Method> method = file.runtime_->program->load_method("forward", &call.manager);
  if (!method.ok()) return refused("prepare it", method.error());
  call.method.emplace(std::move(*method));
  // A state is read and written in one place: kernels/layers.h allows it.
  for (std::size_t i = 0; i < network->states_.size(); ++i) {
    std::vector<float>& state = network->states_[i];
    executorch::aten::SizesType sizes[] = {static_cast<executorch::aten::SizesType>(state.size())};
    executorch::aten::DimOrderType order[] = {0};
    executorch::aten::StridesType strides[] = {1};
    executorch::aten::TensorImpl tensor(executorch::aten::ScalarType::Float, 1, sizes, state.data(), order, strides);
    et::Error error = call.method->set_input(et::EValue(executorch::aten::Tensor(&tensor)), 1 + i);
    if (error == et::Error::Ok) {
      error = call.method->set_output_data_ptr(state.data(), state.size() * sizeof(float), 1 + i);
    }
    if (error != et::Error::Ok) return refused("take its states", error);
  }
  return network;
}

Failure Network::Run(const float* x, std::size_t frames, float* scores) {
  const ProgramFile& program = model_->program_;
  executorch::aten::SizesType sizes[] = {static_cast<executorch::aten::SizesType>(frames),
                                         static_cast<executorch::aten::SizesType>(program.inputs)};
  executorch::aten::DimOrderType order[] = {0, 1};
  executorch::aten::StridesType strides[] = {sizes[1], 1};
  executorch::aten::TensorImpl tensor(executorch::aten::ScalarType::Float, 2, sizes, const_cast<float*>(x), order,
                                      strides);
  et::Method& method = *call_->method;
  et::Error error = method.set_input(et::EValue(executorch::aten::Tensor(&tensor)), 0);
  if (error == et::Error::Ok) {
    // The output is declared with the greatest number of frames; the operator resizes it before it writes.
    error = method.set_output_data_ptr(scores, program.most_frames * program.outputs * sizeof(float), 0);
  }
  if (error == et::Error::Ok) error = method.execute();
  if (error != et::Error::Ok) {
    return Error{error == et::Error::MemoryAllocationFailed ? ErrorCode::kOutOfMemory : ErrorCode::kDamaged,
                 model_->name_ + ": ExecuTorch could not run it (error " + std::to_string(static_cast<int>(error)) +
                     "); export the model again"};
  }
  const std::size_t count = frames * program.outputs;
  if (!std::all_of(scores, scores + count, [](float score) { return std::isfinite(score); })) {
    return Error{ErrorCode::kDamaged, model_->name_ + " gives scores that are not finite; train and export it again"};
  }
  return std::nullopt;
}

std::size_t Network::heap_bytes() const {
  return sizeof *this + NestedHeapBytes(states_) + sizeof *call_ + HeapBytes(call_->planned, call_->scratch) +
         call_->allocator.bytes();
}

void Network::Reset() {
  for (auto& state : states_) std::fill(state.begin(), state.end(), 0.0f);
}

}  // namespace tetraphone
