// The streaming front end: samples in, the network's inputs out, equal to training's (sound/features.py) for any
// chunking, and the same bits on every processor.
//
// Kaldi's log-mel filter bank (snip-edges, Povey window, pre-emphasis 0.97, DC offset removed, power spectrum, 20 Hz to
// half the sample rate, no dither) on samples in [-1, 1]; Kaldi's add-deltas (order 3, window 2, the first and the last
// frame repeated behind the edges); normalisation by band and component; `stack` frames side by side, every `stride`.
// An input is planar: [r | x | y | z], in each component frame after frame, in each frame band after band.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "../common/result.h"

namespace tetraphone {

constexpr int kLookAhead = 6;  // frames after a frame that its derivatives read, and before

struct FeatureOptions {  // the fields of sound/features.py's FeatureOptions, whose defaults stand there; see ForEach
  int sample_rate = 0;   // Hz
  int bands = 0;
  double window_ms = 0;
  double hop_ms = 0;
  int stack = 0;
  int stride = 0;

  // Visits each option of `options`: its name in files and errors, its value, the least and the greatest.
  template <typename Options, typename Visit>
  static void ForEach(Options& options, Visit visit) {
    visit("sample_rate", options.sample_rate, 1000, 192000);
    visit("bands", options.bands, 3, 256);
    visit("window_ms", options.window_ms, 1, 250);
    visit("hop_ms", options.hop_ms, 0.01, 1000);
    visit("stack", options.stack, 1, 16);
    visit("stride", options.stride, 1, options.stack);
  }

  std::size_t inputs() const { return std::size_t{4} * bands * stack; }
  // Of a network frame, in seconds; see ModelInfo (model.h).
  double shift() const { return stride * hop_ms / 1000; }
  double offset() const { return ((stack - stride) * hop_ms + window_ms - hop_ms) / 2000; }
  double delay() const { return ((stack - 1 + kLookAhead) * hop_ms + window_ms) / 1000; }
};

// What Kaldi's filter bank allows (a hop of two samples or more, no more bands than the window resolves), and sizes
// that a phone can hold; training asks it too, as it does limits.h.
Failure CheckFeatures(const FeatureOptions& options);

// Tables that all streams of a model share: window, twiddle factors, mel weights, statistics.
class FrontEndTables;

class FrontEnd {
 public:
  // mean, deviation: 4 * bands each, planar. Fails on options that CheckFeatures refuses, means and deviations
  // that are not finite or beyond a million, deviations below a millionth.
  static Result<std::shared_ptr<const FrontEndTables>> MakeTables(const FeatureOptions& options,
                                                                  std::vector<float> mean,
                                                                  std::vector<float> deviation);

  explicit FrontEnd(std::shared_ptr<const FrontEndTables> tables);

  // Takes samples at the model's rate, in [-1, 1], all finite. Inputs that become ready are appended to what TakeInputs
  // gives: call it often enough (0.1 s of samples or so) to keep memory bounded.
  void Accept(const float* samples, std::size_t count);

  // No more samples follow until Reset. The last frames become ready; the last input is filled up with the last frame.
  void Finish();

  // As newly made; capacity is kept.
  void Reset();

  // Of this object, without the tables; see heap_bytes.h.
  std::size_t heap_bytes() const;
  static std::size_t TablesHeapBytes(const FrontEndTables& tables);

  // Inputs that are ready, [n, inputs], in exchange for a vector's memory: with the same vector every time, a stream
  // allocates no more.
  void TakeInputs(std::vector<float>* into) {
    into->clear();
    into->swap(inputs_ready_);
  }
  // Log-mel frames for display, [frames, bands].
  std::vector<float> TakeBands() { return std::exchange(bands_ready_, {}); }
  // Bands are kept for TakeBands only if this is on; off at first.
  void KeepBands(bool keep) { keep_bands_ = keep; }

 private:
  void ComputeRow();
  void PushRow();
  void EmitInput();

  std::shared_ptr<const FrontEndTables> tables_;
  bool keep_bands_ = false;
  std::vector<float> window_;  // samples of the next frame
  std::size_t filled_ = 0;     // how many of them are there
  std::size_t skip_ = 0;       // samples to come that no frame sees, where the hop is longer than the window
  std::vector<float> scratch_;
  std::vector<float> row_;     // the newest log-mel frame [bands, filled up to whole lanes]
  std::vector<float> rows_;    // ring of log-mel frames [13, bands]
  std::vector<float> frames_;  // ring of normalised frames [stack, 4, bands]
  std::uint64_t pushed_ = 0;   // log-mel frames, repeated ones included
  std::uint64_t done_ = 0;     // normalised frames
  std::uint64_t inputs_ = 0;   // inputs emitted
  std::vector<float> inputs_ready_;
  std::vector<float> bands_ready_;
};

}  // namespace tetraphone
