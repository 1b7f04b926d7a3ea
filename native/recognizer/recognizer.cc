#include "recognizer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "../common/limits.h"
#include "../common/numerics.h"
#include "sound_stream.h"

namespace tetraphone {
namespace {

double Calibrated(const ModelInfo& info, double posterior) {
  constexpr double kLeast = 1e-9;
  const double p = std::min(std::max(posterior, kLeast), 1.0 - kLeast);
  const double logit = Log(p) - Log(1.0 - p);
  return 1.0 / (1.0 + Exp(-(info.confidence_slope * logit + info.confidence_intercept)));
}

}  // namespace

struct Stream::State final : SoundStream {
  State(std::shared_ptr<const Model> of, const StreamOptions& how, std::unique_ptr<Network> network, Decoder dec)
      : SoundStream(std::move(of), std::move(network), {how.channel, how.keep_bands, how.keep_scores}),
        pause(how.pause),
        decoder(std::move(dec)) {}

  Failure Take(const float*, const float* scores, const float*, std::size_t frames) override {
    for (std::size_t i = 0; i < frames; ++i) decoder.Accept(scores + i * model()->program().outputs);
    return std::nullopt;
  }

  Failure End() override {
    decoder.Finish();
    return std::nullopt;
  }

  void Clear() override { decoder.Reset(); }

  std::size_t OwnHeapBytes() const override { return sizeof(Stream) + sizeof *this + decoder.heap_bytes(); }

  std::vector<Phone> Phones(const std::vector<Token>& tokens) const {
    const ModelInfo& info = model()->info();
    std::vector<Phone> phones;
    for (const Token& token : tokens) {
      const double start = static_cast<double>(token.first) * info.frame_shift + info.frame_offset;
      const double end = static_cast<double>(token.last + 1) * info.frame_shift + info.frame_offset;
      phones.push_back({token.phone, info.phones[static_cast<std::size_t>(token.phone)], std::max(start, 0.0),
                        std::max(std::min(end, seconds()), 0.0), Calibrated(info, token.posterior)});
    }
    return phones;
  }

  bool Paused() const {
    const Lock lock(mutex());
    const std::int64_t silent = decoder.TrailingSilence();
    return silent < decoder.frames() && static_cast<double>(silent) * model()->info().frame_shift >= pause;
  }

  const double pause;  // seconds
  Decoder decoder;
};

Stream::Stream(std::unique_ptr<State> state) : state_(std::move(state)) {}
Stream::~Stream() = default;

Failure Stream::Accept(const float* samples, std::size_t frames, int rate, int channels) {
  return state_->Accept(samples, frames, rate, channels);
}
Failure Stream::Finish() { return state_->Finish(); }
Failure Stream::Reset() { return state_->Reset(); }
void Stream::Close() { state_->Close(); }
bool Stream::Paused() const { return state_->Paused(); }
double Stream::Seconds() const { return state_->Seconds(); }
std::size_t Stream::HeapBytes() const { return state_->HeapBytes(); }
Result<std::vector<float>> Stream::TakeBands() { return state_->TakeBands(); }
Result<std::vector<float>> Stream::TakeScores() { return state_->TakeScores(); }

Result<std::vector<Phone>> Stream::Poll() {
  return state_->Locked([&] { return state_->Phones(state_->decoder.Take()); });
}

Result<std::vector<Phone>> Stream::Provisional() const {
  return state_->Locked([&] { return state_->Phones(state_->decoder.Provisional()); });
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
