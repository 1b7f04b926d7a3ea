// Runs a program's steps on the kernels.

#include <cstdint>
#include <cstring>
#include <new>

#include "../common/heap_bytes.h"
#include "../kernels/layers.h"
#include "engine.h"

namespace tetraphone {
namespace {

class DirectCall final : public Call {
 public:
  DirectCall(const Program& program, States* states)
      : program_(program),
        states_(states),
        memory_(program.planned_bytes + kScratchAlignment + program.scratch_bytes),
        buffers_(program.buffers.size()) {
    for (std::size_t i = 1; i + 1 < buffers_.size(); ++i) {
      buffers_[i] = reinterpret_cast<float*>(memory_.data() + program.buffers[i]);
    }
    // Scratch follows what the program plans, at the alignment that the kernels want.
    std::uint8_t* behind = memory_.data() + program.planned_bytes;
    const std::size_t askew = reinterpret_cast<std::uintptr_t>(behind) % kScratchAlignment;
    scratch_ = behind + (kScratchAlignment - askew) % kScratchAlignment;
  }

  Failure Run(const float* x, std::size_t frames, float* scores, float* hidden) override {
    buffers_.back() = scores;
    for (const Program::Step& step : program_.steps) {
      const float* from = step.from == 0 ? x : buffers_[step.from];
      const std::size_t count = static_cast<std::size_t>(FindKind(step.layer.shape.kind)->states);
      float* state[kMostStates] = {};
      for (std::size_t i = 0; i < count; ++i) state[i] = (*states_)[step.state + i].data();
      tetraphone::Run(step.layer, from, static_cast<std::int64_t>(frames), state[0], state[1], buffers_[step.to],
                      state[0], state[1], scratch_);
    }
    if (hidden != nullptr) {
      std::memcpy(hidden, buffers_[program_.steps.back().from], frames * program_.hidden() * sizeof(float));
    }
    return std::nullopt;
  }

  std::size_t heap_bytes() const override { return sizeof *this + HeapBytes(memory_, buffers_); }

 private:
  const Program& program_;
  States* states_;
  std::vector<std::uint8_t> memory_;
  std::vector<float*> buffers_;  // the first is the caller's x; the last the caller's scores
  std::uint8_t* scratch_;
};

class DirectEngine final : public Engine {
 public:
  explicit DirectEngine(const ProgramFile& content) : content_(content) {}
  Result<std::unique_ptr<Call>> NewCall(const std::string& program, States* states) const override {
    return std::unique_ptr<Call>(new DirectCall(*content_.Find(program), states));
  }
  std::size_t heap_bytes() const override { return sizeof *this; }

 private:
  const ProgramFile& content_;
};

}  // namespace

Result<std::unique_ptr<const Engine>> LoadDirect(const LoadedFile& file) {
  return std::unique_ptr<const Engine>(new DirectEngine(file.content));
}

}  // namespace tetraphone
