// The streaming recogniser, for C++: samples in, phones with times out. For C: recognizer_c.h.
//
//   auto recognizer = tetraphone::Recognizer::Load("qlstm-int8.pte");
//   if (!recognizer) return Complain(recognizer.error().message);
//   auto stream = recognizer->NewStream({});
//   while (microphone.Read(samples)) {
//     if (auto failure = (*stream)->Accept(samples.data(), samples.size(), 16000)) return Complain(failure->message);
//     for (const tetraphone::Phone& phone : *(*stream)->Poll()) Show(phone);
//   }
//   (*stream)->Finish();
//   for (const tetraphone::Phone& phone : *(*stream)->Poll()) Show(phone);
//
// Nothing throws or aborts. A recogniser and its streams may be used from any threads; calls on one stream wait for one
// another. How samples are cut into calls changes no bit of any result.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../common/result.h"
#include "../decoder/decoder.h"
#include "../model/model.h"

namespace tetraphone {

// A network frame stands for the sound around the centre of the feature frames that it stacks, frame_shift seconds
// long. A phone's frames are those at which its score is the greatest, in a row: `start` is where the first begins,
// `end` where the last ends. Frames at which the blank wins belong to no phone, so there may be gaps; phones never
// overlap.
struct Phone {
  int index;  // into ModelInfo::phones
  std::string symbol;
  double start;       // seconds since the stream's start
  double end;         // seconds
  // The chance that it is right, 0 to 1, as calibrated on held-out data when the model was exported, with a blank shift
  // of 0: another one moves it, and the times.
  double confidence;
};

// And pause, keep_bands, keep_scores, channel: see fields.h.
struct StreamOptions {
  DecoderOptions decoder;
  TETRAPHONE_OTHER_OPTIONS(TETRAPHONE_MEMBER)
};

// Whether a stream can have such options, but for the number of the grammar's phones.
Failure CheckOptions(const StreamOptions& options);

class Stream {
 public:
  ~Stream();

  // Takes `frames` samples of each channel, interleaved, in [-1, 1]; hears StreamOptions::channel, resampled to the
  // model's rate. The first call of a stream fixes rate and channels. Fails, and takes nothing, on a rate or channel
  // count that is impossible or differs from the first, where StreamOptions::channel is missing, and on a sample that
  // is not finite.
  Failure Accept(const float* samples, std::size_t frames, int rate, int channels = 1);
  // No more samples follow: what the network still waited for is computed, provisional phones become final.
  Failure Finish();
  // As newly made. A stream starts anew by this after Finish or an error.
  Failure Reset();
  // Ends the stream for all threads: waits for a call in progress; every later call fails with kClosed.
  void Close();

  // Phones that nothing to come can change, each given once, in order.
  Result<std::vector<Phone>> Poll();
  // Phones that would follow if the stream ended now; they may change.
  Result<std::vector<Phone>> Provisional() const;
  // Whether the speaker pauses: some phone was found, and none for StreamOptions::pause seconds.
  bool Paused() const;
  // Seconds of sound taken.
  double Seconds() const;
  // Of heap that the stream holds now, without its model and a grammar; see heap_bytes.h.
  std::size_t HeapBytes() const;

  // With keep_bands: log-mel energies since the last call, [n, bands], for a spectrogram.
  Result<std::vector<float>> TakeBands();
  // With keep_scores: unnormalised scores since the last call, [n, phones + 1], blank first.
  Result<std::vector<float>> TakeScores();

 private:
  friend class Recognizer;
  struct State;
  explicit Stream(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

class Recognizer {
 public:
  // Maps a file of `tetraphone export`, which must stay as it is while it is in use. Checksum, format version, program
  // and metadata are verified before anything is used.
  static Result<Recognizer> Load(const std::string& path);
  // Copies a file's bytes; `name` is for errors.
  static Result<Recognizer> Load(const std::uint8_t* data, std::size_t size, const std::string& name = "the model");

  Result<std::shared_ptr<Stream>> NewStream(const StreamOptions& options) const;

  const ModelInfo& info() const { return model_->info(); }
  const Model& model() const { return *model_; }
  const std::shared_ptr<const Model>& shared_model() const { return model_; }

 private:
  explicit Recognizer(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  std::shared_ptr<const Model> model_;
};

}  // namespace tetraphone
