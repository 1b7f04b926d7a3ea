// What a stream does whatever is asked of its sound: samples of any rate and channels become inputs of the network, and
// its scores reach whoever wants them, under one lock, until the stream is finished, closed or broken.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "../common/result.h"
#include "../frontend/features.h"
#include "../frontend/resampler.h"
#include "../model/model.h"
#include "../system/mutex.h"

namespace tetraphone {

// What `call` gives; running out of memory is an error.
template <typename Call>
auto Guarded(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, "out of memory"};
  }
}

// Its public functions are those of Stream (recognizer.h), which says what they do.
class SoundStream {
 public:
  struct Options {
    int channel;  // that is heard; -1: the mean of all
    bool keep_bands;
    bool keep_scores;
    bool hidden = false;  // whether Take gets the hidden rows too
  };

  SoundStream(std::shared_ptr<const Model> model, std::unique_ptr<Network> network, const Options& options);
  virtual ~SoundStream() = default;

  Failure Accept(const float* samples, std::size_t frames, int rate, int channels);
  Failure Finish();
  Failure Reset();
  void Close();
  double Seconds() const;
  Result<std::vector<float>> TakeBands();
  Result<std::vector<float>> TakeScores();
  std::size_t HeapBytes() const;

  // What `take` gives, unless the stream is closed.
  template <typename Take>
  auto Locked(Take take) const -> Result<decltype(take())> {
    const Lock lock(mutex_);
    return Guarded([&]() -> Result<decltype(take())> {
      if (closed_) return *Refusal();
      return take();
    });
  }

 protected:
  // The next network frames' scores, [frames, outputs], and, if the options want them, hidden rows, [frames, hidden],
  // else null.
  virtual Failure Take(const float* x, const float* scores, const float* hidden, std::size_t frames) = 0;
  // No more of them follow.
  virtual Failure End() = 0;
  // As before the first.
  virtual void Clear() = 0;
  // Of the object itself and of what it holds beside this one's members.
  virtual std::size_t OwnHeapBytes() const = 0;

  const std::shared_ptr<const Model>& model() const { return model_; }
  double seconds() const { return rate_ == 0 ? 0.0 : static_cast<double>(taken_) / rate_; }
  Mutex& mutex() const { return mutex_; }

 private:
  Failure Refusal() const;
  Failure Checked(const float* samples, std::size_t frames, int rate, int channels) const;
  const float* Mono(const float* samples, std::size_t frames);
  Failure PrepareResampler(int from);
  Failure Feed(const float* samples, std::size_t count);
  Failure Compute();

  const std::shared_ptr<const Model> model_;
  const Options options_;
  FrontEnd front_end_;
  std::unique_ptr<Network> network_;
  std::optional<Resampler> resampler_;
  int resampled_rate_ = 0;
  int rate_ = 0;  // of the stream, once samples have come
  int channels_ = 0;
  std::uint64_t taken_ = 0;  // frames of the caller's rate
  std::vector<float> mono_;
  std::vector<float> inputs_;
  std::vector<float> scores_;
  std::vector<float> hidden_;  // empty where nobody wants them
  std::vector<float> kept_scores_;
  bool finished_ = false;
  bool closed_ = false;
  Failure broken_;  // what stopped the stream in the middle
  mutable Mutex mutex_;
};

}  // namespace tetraphone
