#include "model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <tuple>

#include "../common/heap_bytes.h"
#include "../common/limits.h"
#include "../common/words.h"
#include "../system/files.h"
#include "engine.h"
#include "metadata.h"

namespace tetraphone {
namespace {

// The program's constants lie at multiples of 16 of the file; the kernels' loads are fastest at a cache line.
constexpr std::align_val_t kAlignment{64};

Error Damaged(const std::string& name, const std::string& what) {
  return Error{ErrorCode::kDamaged, name + " has metadata of no model of ours (" + what + "); export the model again"};
}

}  // namespace

Model::~Model() {
  engine_.reset();
  if (data_ == nullptr) return;
  if (mapped_) {
    UnmapFile({data_, size_});
  } else {
    ::operator delete(const_cast<std::uint8_t*>(data_), kAlignment);
  }
}

Result<std::shared_ptr<const Model>> Model::Load(const std::string& path) {
  const Result<Mapping> mapping = MapFile(path);
  if (!mapping) {
    const Error& error = mapping.error();
    if (error.code == ErrorCode::kOutOfMemory) return Error{error.code, "cannot map " + path + ": " + error.message};
    return Error{error.code, "cannot read " + path + ": " + error.message + "; `tetraphone export` makes models"};
  }
  std::unique_ptr<Model> model(new Model);
  model->name_ = path;
  model->data_ = mapping->data;
  model->size_ = mapping->size;
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
  Result<ProgramFile> file = ReadProgramFile(model->data_, model->size_, model->name_);
  if (!file) return file.error();
  model->file_ = std::move(*file);
  if (Failure failure = model->ReadInfo()) return *failure;

  const Result<const EngineEntry*> entry = ActiveEngine();
  if (!entry) return entry.error();
  auto engine = (*entry)->load({model->data_, model->size_, model->file_, model->name_});
  if (!engine) return engine.error();
  model->engine_ = std::move(*engine);
  return std::shared_ptr<const Model>(std::move(model));
}

Failure Model::ReadInfo() {
  Metadata data(file_.metadata);
  info_.phones = Words(data.Get<std::string>("phones"));
  if (Failure failure = CheckPhones(info_.phones)) return Damaged(name_, failure->message);
  FeatureOptions& features = info_.features;
  FeatureOptions::ForEach(features, [&](const char* name, auto& value, double, double) { data.Read(name, &value); });
  if (!data.fault().empty()) return Damaged(name_, data.fault());
  if (Failure failure = CheckFeatures(features)) return Damaged(name_, failure->message);
  info_.aligns = file_.Find(kAlign) != nullptr;
  info_.ForEach([&](const char* name, auto& value, const ModelInfo::Range& may) { data.Read(name, &value, may); });
  auto mean = data.Get<std::vector<float>>("normalisation_mean");
  auto deviation = data.Get<std::vector<float>>("normalisation_deviation");
  if (!data.fault().empty()) return Damaged(name_, data.fault());
  if (program().inputs != features.inputs() || program().outputs != info_.phones.size() + 1) {
    return Damaged(name_, std::to_string(features.inputs()) + " features and " + std::to_string(info_.phones.size()) +
                              " phones for a network of " + std::to_string(program().inputs) + " inputs and " +
                              std::to_string(program().outputs) + " scores");
  }
  auto tables = FrontEnd::MakeTables(features, std::move(mean), std::move(deviation));
  if (!tables) return Damaged(name_, tables.error().message);
  front_end_ = *tables;
  if (Failure failure = CheckAlign()) return failure;
  return ReadScore();
}

Failure Model::CheckAlign() {
  const Program* align = file_.Find(kAlign);
  if (align == nullptr) return std::nullopt;
  const std::size_t hidden = program().hidden(), outputs = kSubFrames * (info_.phones.size() + 1);
  const std::size_t rows = static_cast<std::size_t>(info_.align_rows) * hidden;
  if (hidden == 0 || align->inputs < rows || align->inputs - rows > program().inputs || align->outputs != outputs ||
      !align->states.empty()) {
    return Damaged(name_, "a program align of " + std::to_string(align->inputs) + " inputs, " +
                              std::to_string(align->outputs) + " outputs and " + std::to_string(align->states.size()) +
                              " states, where " + std::to_string(info_.align_rows) + " rows of " +
                              std::to_string(hidden) + " hidden reals and " + std::to_string(info_.phones.size()) +
                              " phones want " + std::to_string(outputs) + " outputs");
  }
  info_.align_features = align->inputs - rows;
  return std::nullopt;
}

Failure Model::ReadScore() {
  const Program* ahead = file_.Find(kScoreForward);
  const Program* back = file_.Find(kScoreBackward);
  const Program* score = file_.Find(kScore);
  info_.scores = score != nullptr;
  if (!info_.scores && ahead == nullptr && back == nullptr) return std::nullopt;
  const std::size_t outputs = info_.phones.size() + 1, measures = PaddedMeasures(outputs);
  const auto reads = [&](const Program* program) { return program != nullptr && program->inputs == measures; };
  if (!info_.scores || !reads(ahead) || !reads(back) || score->inputs != ahead->outputs + back->outputs ||
      score->outputs != kScores || !score->states.empty() || !info_.aligns) {
    return Damaged(name_, "programs that score which do not belong together, or not to a network of " +
                              std::to_string(info_.phones.size()) + " phones that aligns");
  }
  Metadata data(file_.metadata);
  info_.score_mean = data.Get<std::vector<float>>("score_mean");
  info_.score_deviation = data.Get<std::vector<float>>("score_deviation");
  if (!data.fault().empty()) return Damaged(name_, data.fault());
  const auto positive = [](float deviation) { return std::isfinite(deviation) && deviation > 0; };
  const auto finite = [](float mean) { return std::isfinite(mean); };
  const auto& [mean, deviation] = std::tie(info_.score_mean, info_.score_deviation);
  if (mean.size() != measures || deviation.size() != measures || !std::all_of(mean.begin(), mean.end(), finite) ||
      !std::all_of(deviation.begin(), deviation.end(), positive)) {
    return Damaged(name_, "score_mean or score_deviation is not of " + std::to_string(measures) + " measures");
  }
  return std::nullopt;
}

std::size_t Model::heap_bytes() const {
  std::size_t bytes = sizeof *this + engine_->heap_bytes() + (mapped_ ? 0 : size_);
  bytes += HeapBytes(info_.phones) + HeapBytes(info_.score_mean, info_.score_deviation);
  bytes += FrontEnd::TablesHeapBytes(*front_end_);
  for (const auto& [key, value] : file_.programs) bytes += sizeof key + sizeof value + value.heap_bytes();
  for (const auto& [key, value] : file_.metadata) {
    bytes += sizeof key + sizeof value;
    if (const auto* text = std::get_if<std::string>(&value)) bytes += text->capacity();
    if (const auto* numbers = std::get_if<std::vector<float>>(&value)) bytes += HeapBytes(*numbers);
  }
  return bytes;
}

Network::Network(std::shared_ptr<const Model> model, const Program& program)
    : model_(std::move(model)), program_(program) {
  for (const std::size_t size : program_.states) states_.emplace_back(size, 0.0f);
}

Network::~Network() = default;

Result<std::unique_ptr<Network>> Network::Make(std::shared_ptr<const Model> model, const std::string& program) {
  const Program* found = model->file_.Find(program);
  if (found == nullptr) {
    return Error{ErrorCode::kInvalidArgument,
                 model->name_ + " lacks the program " + program + "; give a model that was exported with it"};
  }
  std::unique_ptr<Network> network(new Network(std::move(model), *found));
  auto call = network->model_->engine_->NewCall(program, &network->states_);
  if (!call) return call.error();
  network->call_ = std::move(*call);
  return network;
}

Failure Network::Run(const float* x, std::size_t frames, float* scores, float* hidden) {
  if (hidden != nullptr && program_.hidden() == 0) {
    return Error{ErrorCode::kInvalidArgument,
                 model_->name_ + " cannot align, since no recurrent layer gives what its scores are made of"};
  }
  if (Failure failure = call_->Run(x, frames, scores, hidden)) return failure;
  const std::size_t count = frames * program_.outputs;
  if (!std::all_of(scores, scores + count, [](float score) { return std::isfinite(score); })) {
    return Error{ErrorCode::kDamaged, model_->name_ + " gives scores that are not finite; train and export it again"};
  }
  return std::nullopt;
}

std::size_t Network::heap_bytes() const {
  return sizeof *this + NestedHeapBytes(states_) + call_->heap_bytes();
}

void Network::Reset() {
  for (auto& state : states_) std::fill(state.begin(), state.end(), 0.0f);
}

}  // namespace tetraphone
