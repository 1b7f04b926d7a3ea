#include "recognizer.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "../common/heap_bytes.h"
#include "../common/limits.h"
#include "../common/numerics.h"
#include "../common/words.h"
#include "../frontend/resampler.h"

namespace tetraphone {
namespace {

// Samples that pass through at a time: memory does not follow the caller's blocks, and the kernels still get as many
// frames at once as they can share weights over.
constexpr std::size_t kPiece = 8000;

// What a stream has until a call that changes it comes to its end.
Error Interrupted() {
  return {ErrorCode::kOutOfMemory, "out of memory in the middle of a call; reset the stream to start it anew"};
}

template <typename Call>
auto Guarded(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, "out of memory"};
  }
}

double Calibrated(const ModelInfo& info, double posterior) {
  constexpr double kLeast = 1e-9;
  const double p = std::min(std::max(posterior, kLeast), 1.0 - kLeast);
  const double logit = Log(p) - Log(1.0 - p);
  return 1.0 / (1.0 + Exp(-(info.confidence_slope * logit + info.confidence_intercept)));
}

}  // namespace

struct Stream::State {
  State(std::shared_ptr<const Model> of, const StreamOptions& how, std::unique_ptr<Network> net, Decoder dec)
      : model(std::move(of)),
        options(how),
        front_end(model->front_end()),
        network(std::move(net)),
        decoder(std::move(dec)) {
    front_end.KeepBands(options.keep_bands);
    scores.resize(model->program().most_frames * model->program().outputs);
  }

  // Everything that depends on samples seen.
  void Clear() {
    front_end.Reset();
    network->Reset();
    decoder.Reset();
    rate = channels = 0;
    taken = 0;
    kept_scores.clear();
    finished = false;
    broken.reset();
  }

  Failure Refusal() const {
    if (closed) return Error{ErrorCode::kClosed, "the stream is closed; make a new one"};
    if (finished) return Error{ErrorCode::kClosed, "the stream is finished; reset it to start anew"};
    return broken;
  }

  Failure Checked(const float* samples, std::size_t frames, int new_rate, int new_channels) const {
    if (Failure failure = CheckSound(new_rate, new_channels)) return failure;
    if (options.channel >= new_channels) {
      return Error{ErrorCode::kInvalidArgument,
                   "the sound has no channel " + std::to_string(options.channel) + "; it has " +
                       (new_channels == 1 ? "channel 0 alone" : "channels 0 to " + std::to_string(new_channels - 1))};
    }
    if (rate != 0 && (new_rate != rate || new_channels != channels)) {
      return Error{ErrorCode::kInvalidArgument, "the stream has " + std::to_string(rate) + " Hz and " +
                                                    std::to_string(channels) + " channels, this call " +
                                                    std::to_string(new_rate) + " and " + std::to_string(new_channels) +
                                                    "; reset the stream before a change"};
    }
    const std::size_t count = frames * static_cast<std::size_t>(new_channels);
    const float* bad = std::find_if_not(samples, samples + count, [](float sample) { return std::isfinite(sample); });
    if (bad != samples + count) {
      return Error{ErrorCode::kInvalidArgument, "sample " + std::to_string(bad - samples) +
                                                    " of the call is not a finite number; give samples in [-1, 1]"};
    }
    return std::nullopt;
  }

  // The channel that is heard, or the mean of all; until the next call.
  const float* Mono(const float* samples, std::size_t frames) {
    if (channels == 1) return samples;
    mono.resize(frames);
    for (std::size_t i = 0; i < frames; ++i) {
      if (options.channel >= 0) {
        mono[i] = samples[i * static_cast<std::size_t>(channels) + static_cast<std::size_t>(options.channel)];
        continue;
      }
      double sum = 0;
      for (int c = 0; c < channels; ++c) sum += *samples++;
      mono[i] = static_cast<float>(sum / channels);
    }
    return mono.data();
  }

  // Keeps the table of the rate before: it takes milliseconds to make.
  Failure PrepareResampler(int from) {
    if (resampler && resampled_rate == from) return resampler->Reset(), std::nullopt;
    Result<Resampler> made = Resampler::Make(from, model->info().features.sample_rate);
    if (!made) return made.error();
    resampler.emplace(std::move(*made));
    resampled_rate = from;
    return std::nullopt;
  }

  // Mono samples at the model's rate.
  Failure Feed(const float* samples, std::size_t count) {
    for (std::size_t first = 0; first < count; first += kPiece) {
      front_end.Accept(samples + first, std::min(kPiece, count - first));
      if (Failure failure = Compute()) return failure;
    }
    return std::nullopt;
  }

  // Scores and decodes the inputs that are ready.
  Failure Compute() {
    const ProgramFile& program = model->program();
    front_end.TakeInputs(&inputs);
    const std::size_t ready = inputs.size() / program.inputs;
    for (std::size_t first = 0; first < ready; first += program.most_frames) {
      const std::size_t frames = std::min(program.most_frames, ready - first);
      if (Failure failure = network->Run(inputs.data() + first * program.inputs, frames, scores.data())) return failure;
      for (std::size_t i = 0; i < frames; ++i) decoder.Accept(scores.data() + i * program.outputs);
      if (options.keep_scores) {
        kept_scores.insert(kept_scores.end(), scores.begin(), scores.begin() + frames * program.outputs);
      }
    }
    return std::nullopt;
  }

  std::vector<Phone> Phones(const std::vector<Token>& tokens) const {
    const ModelInfo& info = model->info();
    std::vector<Phone> phones;
    for (const Token& token : tokens) {
      const double start = static_cast<double>(token.first) * info.frame_shift + info.frame_offset;
      const double end = static_cast<double>(token.last + 1) * info.frame_shift + info.frame_offset;
      phones.push_back({token.phone, info.phones[static_cast<std::size_t>(token.phone)], std::max(start, 0.0),
                        std::max(std::min(end, Seconds()), 0.0), Calibrated(info, token.posterior)});
    }
    return phones;
  }

  // What `take` gives, unless the stream is closed.
  template <typename Take>
  auto Locked(Take take) const -> Result<decltype(take())> {
    const std::lock_guard<std::mutex> lock(mutex);
    return Guarded([&]() -> Result<decltype(take())> {
      if (closed) return *Refusal();
      return take();
    });
  }

  double Seconds() const { return rate == 0 ? 0.0 : static_cast<double>(taken) / rate; }

  const std::shared_ptr<const Model> model;
  const StreamOptions options;
  FrontEnd front_end;
  std::unique_ptr<Network> network;
  Decoder decoder;
  std::optional<Resampler> resampler;
  int resampled_rate = 0;
  int rate = 0;  // of the stream, once samples have come
  int channels = 0;
  std::uint64_t taken = 0;  // frames of the caller's rate
  std::vector<float> mono;
  std::vector<float> inputs;
  std::vector<float> scores;
  std::vector<float> kept_scores;
  bool finished = false;
  bool closed = false;
  Failure broken;  // what stopped the stream in the middle
  mutable std::mutex mutex;
};

Stream::Stream(std::unique_ptr<State> state) : state_(std::move(state)) {}
Stream::~Stream() = default;

Failure Stream::Accept(const float* samples, std::size_t frames, int rate, int channels) {
  State& s = *state_;
  const std::lock_guard<std::mutex> lock(s.mutex);
  return Guarded([&]() -> Failure {
    if (Failure failure = s.Refusal()) return failure;
    if (Failure failure = s.Checked(samples, frames, rate, channels)) return failure;
    if (s.rate == 0) {
      if (Failure failure = s.PrepareResampler(rate)) return failure;
      s.rate = rate;
      s.channels = channels;
    }
    s.broken = Interrupted();
    Failure failure;
    for (std::size_t first = 0; first < frames && !failure; first += kPiece) {
      const std::size_t count = std::min(kPiece, frames - first);
      s.taken += count;
      const float* mono = s.Mono(samples + first * static_cast<std::size_t>(channels), count);
      const std::vector<float>& resampled = s.resampler->Process(mono, count);
      failure = s.Feed(resampled.data(), resampled.size());
    }
    return s.broken = failure;
  });
}

Failure Stream::Finish() {
  State& s = *state_;
  const std::lock_guard<std::mutex> lock(s.mutex);
  return Guarded([&]() -> Failure {
    if (Failure failure = s.Refusal()) return failure;
    s.broken = Interrupted();
    Failure failure;
    if (s.rate != 0) {
      const std::vector<float>& rest = s.resampler->Finish();
      failure = s.Feed(rest.data(), rest.size());
    }
    s.front_end.Finish();
    if (!failure) failure = s.Compute();
    if (!failure) {
      s.decoder.Finish();
      s.finished = true;
    }
    return s.broken = failure;
  });
}

Failure Stream::Reset() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->closed) return state_->Refusal();
  state_->Clear();
  return std::nullopt;
}

void Stream::Close() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->closed = true;
}

Result<std::vector<Phone>> Stream::Poll() {
  return state_->Locked([&] { return state_->Phones(state_->decoder.Take()); });
}

Result<std::vector<Phone>> Stream::Provisional() const {
  return state_->Locked([&] { return state_->Phones(state_->decoder.Provisional()); });
}

bool Stream::Paused() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const std::int64_t silent = state_->decoder.TrailingSilence();
  return silent < state_->decoder.frames() &&
         static_cast<double>(silent) * state_->model->info().frame_shift >= state_->options.pause;
}

double Stream::Seconds() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->Seconds();
}

std::size_t Stream::HeapBytes() const {
  const State& s = *state_;
  const std::lock_guard<std::mutex> lock(s.mutex);
  return sizeof *this + sizeof s + s.front_end.heap_bytes() + s.network->heap_bytes() + s.decoder.heap_bytes() +
         (s.resampler ? s.resampler->heap_bytes() : 0) +
         tetraphone::HeapBytes(s.mono, s.inputs, s.scores, s.kept_scores);
}

Result<std::vector<float>> Stream::TakeBands() {
  return state_->Locked([&] { return state_->front_end.TakeBands(); });
}

Result<std::vector<float>> Stream::TakeScores() {
  return state_->Locked([&] { return std::exchange(state_->kept_scores, {}); });
}

Result<Recognizer> Recognizer::Load(const std::string& path) {
  return Guarded([&]() -> Result<Recognizer> {
    auto model = Model::Load(path);
    if (!model) return model.error();
    return Recognizer(std::move(*model));
  });
}

Result<Recognizer> Recognizer::Load(const std::uint8_t* data, std::size_t size, const std::string& name) {
  return Guarded([&]() -> Result<Recognizer> {
    auto model = Model::Load(data, size, name);
    if (!model) return model.error();
    return Recognizer(std::move(*model));
  });
}

Failure CheckOptions(const StreamOptions& options) {
#define TETRAPHONE_CHECK(kind, name, ...) \
  if (Failure failure = CheckOption(#name, options.name)) return failure;
  TETRAPHONE_OTHER_OPTIONS(TETRAPHONE_CHECK)
#undef TETRAPHONE_CHECK
  return CheckOptions(options.decoder);
}

Result<std::shared_ptr<Stream>> Recognizer::NewStream(const StreamOptions& options) const {
  return Guarded([&]() -> Result<std::shared_ptr<Stream>> {
    if (Failure failure = CheckOptions(options)) return *failure;
    Result<Decoder> decoder = Decoder::Make(info().phones.size(), options.decoder);
    if (!decoder) return decoder.error();
    Result<std::unique_ptr<Network>> network = Network::Make(model_);
    if (!network) return network.error();
    auto state = std::make_unique<Stream::State>(model_, options, std::move(*network), std::move(*decoder));
    return std::shared_ptr<Stream>(new Stream(std::move(state)));
  });
}

}  // namespace tetraphone
