// A loaded .pte file, and its network with a state: frames in, scores out.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../common/result.h"
#include "../frontend/features.h"
#include "program_file.h"

namespace tetraphone {

class Call;  // engine.h
class Engine;

// The program that says which phone is spoken when, of a file that aligns known words. Of a network frame it reads
// `align_rows` of the network's hidden rows (Program::hidden), one after another, and behind them the first
// `align_features` of the frame's own inputs; it gives for each of kSubFrames equal parts of the frame the
// log-likelihoods of silence and of the phones, up to a constant of each part.
constexpr const char* kAlign = "align";
constexpr std::size_t kSubFrames = 3;

// The programs that score how a known text was said. The first two read what is measured of its phones
// (pronunciation/measures.h), less `score_mean` and over `score_deviation`, one from the first phone to the last, the
// other from the last to the first. The third reads, of each phone, what the one gives and what the other gives, and
// gives kScores numbers, from 0 to 2 if it is a good one: the accuracy of the phone; three whose means over the phones
// of a word are the accuracy, stress and total of the word; three whose means over all phones are the accuracy, fluency
// and total of the sentence.
constexpr const char* kScoreForward = "score_forward";
constexpr const char* kScoreBackward = "score_backward";
constexpr const char* kScore = "score";
constexpr std::size_t kScores = 7;
// Numbers that are measured of a phone, of a network with so many outputs: kMeasures, and some for each output.
constexpr std::size_t kMeasures = 20;
constexpr std::size_t MeasureCount(std::size_t outputs) { return kMeasures + 2 * outputs + (outputs - 1); }
// As programs read them: zeros stand behind the last, since quaternions have four components.
constexpr std::size_t PaddedMeasures(std::size_t outputs) { return (MeasureCount(outputs) + 3) / 4 * 4; }

// The numbers that a file holds besides its features: X(type, name, what it may be, once the features are known).
#define TETRAPHONE_METADATA(X)                                                                                        \
  X(double, frame_shift, Derived(features.shift()))   /* seconds from one network frame to the next */                \
  X(double, frame_offset, Derived(features.offset())) /* seconds: network frame k stands for [k, k + 1] * frame_shift +\
                                                         frame_offset */                                              \
  X(double, delay, Derived(features.delay()))         /* seconds from a network frame's start to the last sample that \
                                                         its scores need */                                           \
  X(double, confidence_slope, Range{0, 1e3})          /* confidence = sigmoid(slope * logit(posterior) + intercept):  \
                                                         held-out data's fit */                                       \
  X(double, confidence_intercept, Range{-1e3, 1e3})                                                                   \
  X(int, align_rows, OfAlign(1, 100))                 /* hidden rows that describe a frame; 0: it cannot align */     \
  X(int, align_delay, OfAlign(0, 100))                /* network frames: the last row that describes frame t is row   \
                                                         t + align_delay */                                           \
  X(double, align_shift, OfAlign(-1, 1))              /* seconds, added to each boundary */

// What the file says of itself; METADATA of export/writer.py writes it.
struct ModelInfo {
  std::vector<std::string> phones;  // score k + 1 is phone k's; score 0 the blank's
  FeatureOptions features;
  bool aligns = false;  // the file has the program align
  std::size_t align_features = 0;
  bool scores = false;  // the file has the programs that score
  std::vector<float> score_mean;       // [PaddedMeasures]
  std::vector<float> score_deviation;  // above 0
#define TETRAPHONE_NUMBER(type, name, ...) type name = 0;
  TETRAPHONE_METADATA(TETRAPHONE_NUMBER)
#undef TETRAPHONE_NUMBER

  struct Range {
    double least;
    double greatest;
    std::optional<double> absent = std::nullopt;  // what a file without the value means; nullopt: it is refused
  };
  // Export's arithmetic may round otherwise.
  static Range Derived(double value) { return {value - 1e-9, value + 1e-9}; }
  // Read where the file aligns.
  Range OfAlign(double least, double greatest) const {
    return aligns ? Range{least, greatest} : Range{0, 0, 0.0};
  }

  // Visits the name, the value and the range of each number.
  template <typename Visit>
  void ForEach(Visit visit) {
#define TETRAPHONE_NUMBER(type, name, ...) visit(#name, name, __VA_ARGS__);
    TETRAPHONE_METADATA(TETRAPHONE_NUMBER)
#undef TETRAPHONE_NUMBER
  }
};

class Model {
 public:
  // Maps the file; it must not shrink while the model lives (copy a file that is not yours first). `name` is for
  // errors.
  static Result<std::shared_ptr<const Model>> Load(const std::string& path);
  // Copies the bytes.
  static Result<std::shared_ptr<const Model>> Load(const std::uint8_t* data, std::size_t size, const std::string& name);
  ~Model();

  const ModelInfo& info() const { return info_; }
  const Program& program() const { return *file_.Find(kForward); }
  const ProgramFile& file() const { return file_; }
  const std::string& name() const { return name_; }
  std::size_t file_bytes() const { return size_; }
  // With the file's bytes if they were copied, without them if they are mapped; see heap_bytes.h.
  std::size_t heap_bytes() const;
  const std::shared_ptr<const FrontEndTables>& front_end() const { return front_end_; }

 private:
  friend class Network;

  Model() = default;
  static Result<std::shared_ptr<const Model>> Finish(std::unique_ptr<Model> model);
  Failure ReadInfo();
  Failure CheckAlign();
  Failure ReadScore();

  std::string name_;
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  bool mapped_ = false;
  ProgramFile file_;
  std::unique_ptr<const Engine> engine_;
  ModelInfo info_;
  std::shared_ptr<const FrontEndTables> front_end_;
};

// One stream's network, or another program of its file. Not for two threads at once.
class Network {
 public:
  // An error if the file lacks the program.
  static Result<std::unique_ptr<Network>> Make(std::shared_ptr<const Model> model,
                                               const std::string& program = kForward);
  ~Network();

  const Program& program() const { return program_; }
  // x [frames, inputs] -> scores [frames, outputs], from the state of the last call; frames <= program().most_frames.
  // hidden, unless it is null: [frames, program().hidden()], the last recurrent layer's output; an error if that is 0.
  Failure Run(const float* x, std::size_t frames, float* scores, float* hidden = nullptr);
  // The state of a stream's start: zeros.
  void Reset();
  // Without the model; see heap_bytes.h.
  std::size_t heap_bytes() const;

 private:
  Network(std::shared_ptr<const Model> model, const Program& program);

  std::shared_ptr<const Model> model_;
  const Program& program_;
  std::vector<std::vector<float>> states_;
  std::unique_ptr<Call> call_;
};

}  // namespace tetraphone
