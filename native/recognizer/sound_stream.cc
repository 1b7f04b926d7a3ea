#include "sound_stream.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "../common/heap_bytes.h"
#include "../common/limits.h"

namespace tetraphone {
namespace {

// Samples that pass through at a time: memory does not follow the caller's blocks, and the kernels still get as many
// frames at once as they can share weights over.
constexpr std::size_t kPiece = 8000;

// What a stream has until a call that changes it comes to its end.
Error Interrupted() {
  return {ErrorCode::kOutOfMemory, "out of memory in the middle of a call; reset the stream to start it anew"};
}

}  // namespace

SoundStream::SoundStream(std::shared_ptr<const Model> model, std::unique_ptr<Network> network, const Options& options)
    : model_(std::move(model)), options_(options), front_end_(model_->front_end()), network_(std::move(network)) {
  front_end_.KeepBands(options_.keep_bands);
  scores_.resize(model_->program().most_frames * model_->program().outputs);
  if (options_.hidden) hidden_.resize(model_->program().most_frames * model_->program().hidden());
}

Failure SoundStream::Refusal() const {
  if (closed_) return Error{ErrorCode::kClosed, "the stream is closed; make a new one"};
  if (finished_) return Error{ErrorCode::kClosed, "the stream is finished; reset it to start anew"};
  return broken_;
}

Failure SoundStream::Checked(const float* samples, std::size_t frames, int rate, int channels) const {
  if (Failure failure = CheckSound(rate, channels)) return failure;
  if (options_.channel >= channels) {
    return Error{ErrorCode::kInvalidArgument,
                 "the sound has no channel " + std::to_string(options_.channel) + "; it has " +
                     (channels == 1 ? "channel 0 alone" : "channels 0 to " + std::to_string(channels - 1))};
  }
  if (rate_ != 0 && (rate != rate_ || channels != channels_)) {
    return Error{ErrorCode::kInvalidArgument, "the stream has " + std::to_string(rate_) + " Hz and " +
                                                  std::to_string(channels_) + " channels, this call " +
                                                  std::to_string(rate) + " and " + std::to_string(channels) +
                                                  "; reset the stream before a change"};
  }
  const std::size_t count = frames * static_cast<std::size_t>(channels);
  const float* bad = std::find_if_not(samples, samples + count, [](float sample) { return std::isfinite(sample); });
  if (bad != samples + count) {
    return Error{ErrorCode::kInvalidArgument, "sample " + std::to_string(bad - samples) +
                                                  " of the call is not a finite number; give samples in [-1, 1]"};
  }
  return std::nullopt;
}

// The channel that is heard, or the mean of all; until the next call.
const float* SoundStream::Mono(const float* samples, std::size_t frames) {
  if (channels_ == 1) return samples;
  const auto channels = static_cast<std::size_t>(channels_);
  mono_.resize(frames);
  for (std::size_t i = 0; i < frames; ++i) {
    if (options_.channel >= 0) {
      mono_[i] = samples[i * channels + static_cast<std::size_t>(options_.channel)];
      continue;
    }
    double sum = 0;
    for (std::size_t c = 0; c < channels; ++c) sum += *samples++;
    mono_[i] = static_cast<float>(sum / channels_);
  }
  return mono_.data();
}

// Keeps the table of the rate before: it takes milliseconds to make.
Failure SoundStream::PrepareResampler(int from) {
  if (resampler_ && resampled_rate_ == from) return resampler_->Reset(), std::nullopt;
  Result<Resampler> made = Resampler::Make(from, model_->info().features.sample_rate);
  if (!made) return made.error();
  resampler_.emplace(std::move(*made));
  resampled_rate_ = from;
  return std::nullopt;
}

// Mono samples at the model's rate.
Failure SoundStream::Feed(const float* samples, std::size_t count) {
  for (std::size_t first = 0; first < count; first += kPiece) {
    front_end_.Accept(samples + first, std::min(kPiece, count - first));
    if (Failure failure = Compute()) return failure;
  }
  return std::nullopt;
}

// Scores the inputs that are ready.
Failure SoundStream::Compute() {
  const Program& program = model_->program();
  front_end_.TakeInputs(&inputs_);
  const std::size_t ready = inputs_.size() / program.inputs;
  for (std::size_t first = 0; first < ready; first += program.most_frames) {
    const std::size_t frames = std::min(program.most_frames, ready - first);
    const float* x = inputs_.data() + first * program.inputs;
    float* hidden = options_.hidden ? hidden_.data() : nullptr;
    if (Failure failure = network_->Run(x, frames, scores_.data(), hidden)) return failure;
    if (Failure failure = Take(x, scores_.data(), hidden, frames)) return failure;
    if (options_.keep_scores) {
      kept_scores_.insert(kept_scores_.end(), scores_.begin(), scores_.begin() + frames * program.outputs);
    }
  }
  return std::nullopt;
}

Failure SoundStream::Accept(const float* samples, std::size_t frames, int rate, int channels) {
  const Lock lock(mutex_);
  return Guarded([&]() -> Failure {
    if (Failure failure = Refusal()) return failure;
    if (Failure failure = Checked(samples, frames, rate, channels)) return failure;
    if (rate_ == 0) {
      if (Failure failure = PrepareResampler(rate)) return failure;
      rate_ = rate;
      channels_ = channels;
    }
    broken_ = Interrupted();
    Failure failure;
    for (std::size_t first = 0; first < frames && !failure; first += kPiece) {
      const std::size_t count = std::min(kPiece, frames - first);
      taken_ += count;
      const float* mono = Mono(samples + first * static_cast<std::size_t>(channels), count);
      const std::vector<float>& resampled = resampler_->Process(mono, count);
      failure = Feed(resampled.data(), resampled.size());
    }
    return broken_ = failure;
  });
}

Failure SoundStream::Finish() {
  const Lock lock(mutex_);
  return Guarded([&]() -> Failure {
    if (Failure failure = Refusal()) return failure;
    broken_ = Interrupted();
    Failure failure;
    if (rate_ != 0) {
      const std::vector<float>& rest = resampler_->Finish();
      failure = Feed(rest.data(), rest.size());
    }
    front_end_.Finish();
    if (!failure) failure = Compute();
    if (!failure) failure = End();
    finished_ = !failure;
    return broken_ = failure;
  });
}

Failure SoundStream::Reset() {
  const Lock lock(mutex_);
  if (closed_) return Refusal();
  front_end_.Reset();
  network_->Reset();
  rate_ = channels_ = 0;
  taken_ = 0;
  kept_scores_.clear();
  finished_ = false;
  broken_.reset();
  Clear();
  return std::nullopt;
}

void SoundStream::Close() {
  const Lock lock(mutex_);
  closed_ = true;
}

double SoundStream::Seconds() const {
  const Lock lock(mutex_);
  return seconds();
}

Result<std::vector<float>> SoundStream::TakeBands() {
  return Locked([&] { return front_end_.TakeBands(); });
}

Result<std::vector<float>> SoundStream::TakeScores() {
  return Locked([&] { return std::exchange(kept_scores_, {}); });
}

std::size_t SoundStream::HeapBytes() const {
  const Lock lock(mutex_);
  return OwnHeapBytes() + front_end_.heap_bytes() + network_->heap_bytes() +
         (resampler_ ? resampler_->heap_bytes() : 0) +
         tetraphone::HeapBytes(mono_, inputs_, scores_, hidden_, kept_scores_);
}

}  // namespace tetraphone
