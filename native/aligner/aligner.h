// Where each word and phone of a known text is: text and samples in, phones with times out. For C: capi/aligner_c.h.
//
//   auto aligner = tetraphone::Aligner::Make(*recognizer, lexicon, "");
//   auto stream = aligner->NewStream("the ship sails", {});
//   while (file.Read(samples)) {
//     if (auto failure = (*stream)->Accept(samples.data(), samples.size(), 16000)) return Complain(failure->message);
//     for (const tetraphone::AlignedPhone& phone : *(*stream)->Poll()) Show(phone);
//   }
//   if (auto failure = (*stream)->Finish()) return Complain(failure->message);
//   for (const tetraphone::AlignedWord& word : (*stream)->Aligned()->words) Show(word);
//
// As in recognizer.h nothing throws, any thread may call, and no bit depends on how samples are cut into calls.

#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "../common/fields.h"
#include "../common/result.h"
#include "../lexicon/lexicon.h"
#include "../lexicon/vocabulary.h"
#include "../pronunciation/measures.h"
#include "../pronunciation/scorer.h"
#include "../recognizer/recognizer.h"
#include "alignment.h"

namespace tetraphone {

// See fields.h.
struct AlignmentOptions {
  TETRAPHONE_ALIGNMENT_OPTIONS(TETRAPHONE_MEMBER)
};

// A part of a recording, and what is said there.
struct Stretch {
  std::string text;
  double start = 0;  // seconds
  double end = std::numeric_limits<double>::infinity();
};

struct Window;  // graph.h

class AlignmentStream {
 public:
  ~AlignmentStream();

  // As those of Stream.
  Failure Accept(const float* samples, std::size_t frames, int rate, int channels = 1);
  // The sound ends. Fails where there is no sound or no speech, or where it ends before the text does.
  Failure Finish();
  Failure Reset();
  void Close();
  double Seconds() const;
  std::size_t HeapBytes() const;
  Result<std::vector<float>> TakeBands();
  Result<std::vector<float>> TakeScores();

  // The words of the text, before anything is heard.
  const std::vector<SpokenWord>& Words() const;
  // Stretches that cannot be aligned, and why; their words are left out.
  const std::vector<std::string>& Faults() const;
  // Phones that nothing to come can change, each given once, in order.
  Result<std::vector<AlignedPhone>> Poll();
  // Phones that would follow if the text were said so far; they may change.
  Result<std::vector<AlignedPhone>> Provisional() const;
  // All of the text, once the stream is finished; an error before.
  Result<Alignment> Aligned() const;
  // Once the stream is finished, of one that scores (AlignmentOptions::pronounce): what is measured of its phones; how
  // they and their words were said, an error where the text does not fit; and how likely the sound is if the text is
  // said, natural, to compare texts.
  Result<Measures> Measured() const;
  Result<Pronunciation> Pronounced() const;
  Result<double> LogLikelihood() const;

 private:
  friend class Aligner;
  struct State;
  explicit AlignmentStream(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

class Aligner {
 public:
  // Fails on a model that cannot align, and on a dictionary with faults. `lexicon` may be none; `dictionary` is the
  // name of a user's own (lexicon/dictionary.h), empty: none.
  static Result<Aligner> Make(const Recognizer& recognizer, std::shared_ptr<const Lexicon> lexicon,
                              const std::string& dictionary);

  // For a text in UTF-8, or for phones (AlignmentOptions::phones): see lexicon/vocabulary.h.
  Result<std::shared_ptr<AlignmentStream>> NewStream(const std::string& text, const AlignmentOptions& options) const;
  // For texts that are said each within its stretch, one behind another. Those that cannot be said are faults, unless
  // all of them are.
  Result<std::shared_ptr<AlignmentStream>> NewStream(const std::vector<Stretch>& stretches,
                                                     const AlignmentOptions& options) const;

  const ModelInfo& info() const { return model_->info(); }
  std::size_t heap_bytes() const { return sizeof *this + vocabulary_->heap_bytes(); }

 private:
  Aligner(std::shared_ptr<const Model> model, std::shared_ptr<const Vocabulary> vocabulary)
      : model_(std::move(model)), vocabulary_(std::move(vocabulary)) {}
  Result<std::vector<SpokenWord>> Read(const Stretch& stretch, const Window& window, bool phones) const;

  std::shared_ptr<const Model> model_;
  std::shared_ptr<const Vocabulary> vocabulary_;
};

}  // namespace tetraphone
