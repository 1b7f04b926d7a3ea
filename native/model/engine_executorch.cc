// Runs a program in ExecuTorch, whose kernels the operators are.

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <optional>

#include "../common/heap_bytes.h"
#include "../kernels/layers.h"
#include "../operators/operators.h"
#include "engine.h"

namespace tetraphone {
namespace {

namespace aten = executorch::aten;
namespace et = executorch::runtime;

Error Refused(const std::string& name, const char* what, et::Error error) {
  const bool memory = error == et::Error::MemoryAllocationFailed;
  return {memory ? ErrorCode::kOutOfMemory : ErrorCode::kDamaged,
          name + ": ExecuTorch cannot " + what + " (error " + std::to_string(static_cast<int>(error)) + "); " +
              (memory ? "free some memory" : "export the model again")};
}

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

class ExecuTorchCall final : public Call {
 public:
  ExecuTorchCall(const LoadedFile& file, const std::string& program, States* states)
      : file_(file),
        name_(program),
        program_(*file.content.Find(program)),
        states_(states),
        planned_(program_.planned_bytes + kScratchAlignment),
        scratch_(program_.scratch_bytes + kScratchAlignment),
        buffer_(planned_.data(), program_.planned_bytes),
        hierarchy_({&buffer_, std::size_t{1}}),
        temporary_(static_cast<std::uint32_t>(scratch_.size()), scratch_.data()),
        manager_(&allocator_, &hierarchy_, &temporary_) {}

  Failure Prepare(const et::Program& loaded) {
    et::Result<et::Method> method = loaded.load_method(name_.c_str(), &manager_);
    if (!method.ok()) return Refused(file_.name, "prepare it", method.error());
    method_.emplace(std::move(*method));
    // A state is read and written in one place: kernels/layers.h allows it.
    for (std::size_t i = 0; i < states_->size(); ++i) {
      std::vector<float>& state = (*states_)[i];
      aten::SizesType sizes[] = {static_cast<aten::SizesType>(state.size())};
      aten::DimOrderType order[] = {0};
      aten::StridesType strides[] = {1};
      aten::TensorImpl tensor(aten::ScalarType::Float, 1, sizes, state.data(), order, strides);
      et::Error error = method_->set_input(et::EValue(aten::Tensor(&tensor)), 1 + i);
      if (error == et::Error::Ok) {
        error = method_->set_output_data_ptr(state.data(), state.size() * sizeof(float), 1 + i);
      }
      if (error != et::Error::Ok) return Refused(file_.name, "take its states", error);
    }
    return std::nullopt;
  }

  // A program returns scores and states alone; after a call of one frame a layer's state is its output of that frame.
  Failure Run(const float* x, std::size_t frames, float* scores, float* hidden) override {
    if (hidden == nullptr) return Execute(x, frames, scores);
    const std::vector<float>& state = (*states_)[program_.steps[program_.steps.size() - 2].state];
    for (std::size_t i = 0; i < frames; ++i) {
      if (Failure failure = Execute(x + i * program_.inputs, 1, scores + i * program_.outputs)) return failure;
      std::copy(state.begin(), state.end(), hidden + i * state.size());
    }
    return std::nullopt;
  }

  std::size_t heap_bytes() const override {
    return sizeof *this + HeapBytes(planned_, scratch_) + allocator_.bytes();
  }

 private:
  Failure Execute(const float* x, std::size_t frames, float* scores) {
    aten::SizesType sizes[] = {static_cast<aten::SizesType>(frames), static_cast<aten::SizesType>(program_.inputs)};
    aten::DimOrderType order[] = {0, 1};
    aten::StridesType strides[] = {sizes[1], 1};
    aten::TensorImpl tensor(aten::ScalarType::Float, 2, sizes, const_cast<float*>(x), order, strides);
    et::Error error = method_->set_input(et::EValue(aten::Tensor(&tensor)), 0);
    if (error == et::Error::Ok) {
      // The output is declared with the greatest number of frames; the operator resizes it before it writes.
      error = method_->set_output_data_ptr(scores, program_.most_frames * program_.outputs * sizeof(float), 0);
    }
    if (error == et::Error::Ok) error = method_->execute();
    if (error != et::Error::Ok) return Refused(file_.name, "run it", error);
    return std::nullopt;
  }

  LoadedFile file_;
  std::string name_;
  const Program& program_;
  States* states_;
  std::vector<std::uint8_t> planned_;
  std::vector<std::uint8_t> scratch_;
  et::Span<std::uint8_t> buffer_;
  CountingAllocator allocator_;
  et::HierarchicalAllocator hierarchy_;
  et::MemoryAllocator temporary_;
  et::MemoryManager manager_;
  std::optional<et::Method> method_;  // last: it refers to the rest
};

class ExecuTorchEngine final : public Engine {
 public:
  explicit ExecuTorchEngine(const LoadedFile& file) : file_(file), loader_(file.data, file.size) {}

  Failure Load() {
    static const bool once = (et::runtime_init(), RegisterOperators(), true);  // ExecuTorch has no lock of its own
    (void)once;
    et::Result<et::Program> loaded = et::Program::load(&loader_, et::Program::Verification::InternalConsistency);
    if (!loaded.ok()) return Refused(file_.name, "load it", loaded.error());
    program_.emplace(std::move(*loaded));
    return std::nullopt;
  }

  Result<std::unique_ptr<Call>> NewCall(const std::string& program, States* states) const override {
    auto call = std::make_unique<ExecuTorchCall>(file_, program, states);
    if (Failure failure = call->Prepare(*program_)) return *failure;
    return std::unique_ptr<Call>(std::move(call));
  }

  std::size_t heap_bytes() const override { return sizeof *this; }

 private:
  LoadedFile file_;
  executorch::extension::BufferDataLoader loader_;
  std::optional<et::Program> program_;
};

}  // namespace

Result<std::unique_ptr<const Engine>> LoadExecuTorch(const LoadedFile& file) {
  auto engine = std::make_unique<ExecuTorchEngine>(file);
  if (Failure failure = engine->Load()) return *failure;
  return std::unique_ptr<const Engine>(std::move(engine));
}

}  // namespace tetraphone
