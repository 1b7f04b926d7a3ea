#include "aligner_c.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "../aligner/aligner.h"
#include "errors.h"
#include "handles.h"

namespace {

using tetraphone::AlignedPhone;
using tetraphone::AlignedWord;
using tetraphone::Aligner;
using tetraphone::Alignment;
using tetraphone::AlignmentOptions;
using tetraphone::AlignmentStream;
using tetraphone::Checked;
using tetraphone::CheckSize;
using tetraphone::CopyText;
using tetraphone::ErrorCode;
using tetraphone::Fail;
using tetraphone::Failure;
using tetraphone::Handles;
using tetraphone::Heard;
using tetraphone::kNoHandle;
using tetraphone::Lexicon;
using tetraphone::Lock;
using tetraphone::Measures;
using tetraphone::Pronunciation;
using tetraphone::Recognizer;
using tetraphone::Result;
using tetraphone::SentenceScore;
using tetraphone::Stretch;
using tetraphone::With;
using tetraphone::WordScore;

struct OpenAlignment : tetraphone::OpenStream<AlignmentStream, AlignedPhone> {
  std::unique_ptr<const Alignment> all;      // once it was asked for
  std::unique_ptr<const Measures> measured;  // likewise
  std::unique_ptr<const Pronunciation> pronounced;
};

std::uint64_t HeapBytes();

Handles<const Aligner>& Aligners() {
  static auto* handles = [] {
    tetraphone::CountHeap(HeapBytes);
    return new Handles<const Aligner>;  // never destroyed: threads may outlive main
  }();
  return *handles;
}

Handles<OpenAlignment>& Alignments() {
  static auto* handles = new Handles<OpenAlignment>;
  return *handles;
}

// Of aligners and their streams.
std::uint64_t HeapBytes() {
  std::uint64_t bytes = HeapBytesOf(Alignments());
  for (const auto& aligner : Aligners().All()) bytes += aligner->heap_bytes();
  return bytes;
}

tetraphone_aligned_phone ToC(const AlignedPhone& phone) {
  return {phone.index, static_cast<std::int32_t>(phone.word), phone.start, phone.end, phone.fit};
}

tetraphone_aligned_word WordToC(const AlignedWord& word) {
  return {word.guessed, word.fits, static_cast<std::int32_t>(word.first), static_cast<std::int32_t>(word.phones),
          word.start,   word.end,  word.fit};
}

// Runs `call` on what a finished alignment found, which is kept.
template <typename Found, typename Call>
auto WithFound(tetraphone_handle alignment, std::unique_ptr<const Found> OpenAlignment::*kept,
               Result<Found> (AlignmentStream::*find)() const, Call call) {
  return With(Alignments(), alignment, [&](OpenAlignment& open) -> decltype(call(*(open.*kept))) {
    const Lock lock(open.mutex);
    if (open.*kept == nullptr) {
      Result<Found> found = (*open.stream.*find)();
      if (!found) return Fail(found.error());
      open.*kept = std::make_unique<const Found>(*std::move(found));
    }
    return call(*(open.*kept));
  });
}

template <typename Call>
auto WithAll(tetraphone_handle alignment, Call call) {
  return WithFound(alignment, &OpenAlignment::all, &AlignmentStream::Aligned, call);
}

template <typename Call>
auto WithScores(tetraphone_handle alignment, Call call) {
  return WithFound(alignment, &OpenAlignment::pronounced, &AlignmentStream::Pronounced, call);
}

std::int32_t PhoneIndex(std::size_t label) { return static_cast<std::int32_t>(label) - 1; }

template <typename T, typename Item, typename Convert>
std::int64_t Copied(const std::vector<T>& all, Item* items, std::size_t capacity, Convert convert) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(capacity, all.size()));
  std::transform(all.begin(), all.begin() + count, items, convert);
  return static_cast<std::int64_t>(all.size());
}

tetraphone_handle Opened(tetraphone_handle aligner, const tetraphone_stretch* stretches, std::size_t count,
                         const tetraphone_alignment_options* options) {
  tetraphone_handle handle = 0;
  With(Aligners(), aligner, [&](const Aligner& found) {
    if (Failure failure = CheckSize(*options, "tetraphone_alignment_options")) return Fail(*failure);
    AlignmentOptions how;
#define TETRAPHONE_CONVERT(kind, name, ...) how.name = static_cast<decltype(how.name)>(options->name);
    TETRAPHONE_ALIGNMENT_OPTIONS(TETRAPHONE_CONVERT)
#undef TETRAPHONE_CONVERT
    std::vector<Stretch> all;
    for (std::size_t i = 0; i < count; ++i) {
      if (stretches[i].text == nullptr) {
        return Fail({ErrorCode::kInvalidArgument, "a text is null; give what is said"});
      }
      all.push_back({std::string(stretches[i].text, stretches[i].size), stretches[i].start, stretches[i].end});
    }
    auto stream = found.NewStream(all, how);
    if (!stream) return Fail(stream.error());
    auto open = std::make_shared<OpenAlignment>();
    open->stream = *stream;
    handle = Alignments().Add(std::move(open));
    return 0;
  });
  return handle;
}

}  // namespace

TETRAPHONE_C_ABI tetraphone_handle tetraphone_aligner_open(tetraphone_handle recognizer, uint64_t lexicon,
                                                           const char* dictionary) {
  tetraphone_handle handle = 0;
  With(tetraphone::Recognizers(), recognizer, [&](const Recognizer& found) {
    const std::shared_ptr<const Lexicon> words = lexicon == 0 ? nullptr : tetraphone::Lexicons().Find(lexicon);
    if (lexicon != 0 && words == nullptr) return Fail(kNoHandle);
    Result<Aligner> aligner = Aligner::Make(found, words, dictionary == nullptr ? "" : dictionary);
    if (!aligner) return Fail(aligner.error());
    handle = Aligners().Add(std::make_shared<const Aligner>(*std::move(aligner)));
    return 0;
  });
  return handle;
}

TETRAPHONE_C_ABI int tetraphone_aligner_close(tetraphone_handle aligner) {
  return Aligners().Remove(aligner) == nullptr ? Fail(kNoHandle) : 0;
}

TETRAPHONE_C_ABI int tetraphone_alignment_option_at(size_t index, tetraphone_field* field) {
#define TETRAPHONE_ROW(kind, name, initial, least, greatest, needs_beam, flag, help) \
  {#name, #kind, flag, help, initial, least, greatest, needs_beam},
  using namespace tetraphone;  // the limits
  static constexpr tetraphone_field kFields[] = {TETRAPHONE_ALIGNMENT_OPTIONS(TETRAPHONE_ROW)};
#undef TETRAPHONE_ROW
  return FieldAt(kFields, index, field);
}

TETRAPHONE_C_ABI int tetraphone_default_alignment_options(tetraphone_alignment_options* options) {
  return Checked([&]() -> Failure {
    if (Failure failure = CheckSize(*options, "tetraphone_alignment_options")) return failure;
#define TETRAPHONE_DEFAULT(kind, name, initial, ...) options->name = initial;
    TETRAPHONE_ALIGNMENT_OPTIONS(TETRAPHONE_DEFAULT)
#undef TETRAPHONE_DEFAULT
    return std::nullopt;
  });
}

TETRAPHONE_C_ABI tetraphone_handle tetraphone_alignment_open(tetraphone_handle aligner, const char* text, size_t size,
                                                             const tetraphone_alignment_options* options) {
  const tetraphone_stretch all{text, size, 0, std::numeric_limits<double>::infinity()};
  return Opened(aligner, &all, 1, options);
}

TETRAPHONE_C_ABI tetraphone_handle tetraphone_alignment_open_stretches(tetraphone_handle aligner,
                                                                       const tetraphone_stretch* stretches,
                                                                       size_t count,
                                                                       const tetraphone_alignment_options* options) {
  return Opened(aligner, stretches, count, options);
}

TETRAPHONE_C_ABI int tetraphone_alignment_accept(tetraphone_handle alignment, const float* samples, size_t frames,
                                                 int32_t rate, int32_t channels) {
  return AcceptSound(Alignments(), alignment, samples, frames, rate, channels);
}

TETRAPHONE_C_ABI int tetraphone_alignment_finish(tetraphone_handle alignment) {
  return FinishSound(Alignments(), alignment);
}

TETRAPHONE_C_ABI int tetraphone_alignment_reset(tetraphone_handle alignment) {
  return With(Alignments(), alignment, [&](OpenAlignment& open) {
    const Lock lock(open.mutex);
    open.all.reset();
    open.measured.reset();
    open.pronounced.reset();
    return open.Reset();
  });
}

TETRAPHONE_C_ABI int tetraphone_alignment_close(tetraphone_handle alignment) {
  return CloseStream(Alignments(), alignment);
}

TETRAPHONE_C_ABI int tetraphone_alignment_seconds(tetraphone_handle alignment, double* seconds) {
  return SecondsOf(Alignments(), alignment, seconds);
}

TETRAPHONE_C_ABI int64_t tetraphone_alignment_words(tetraphone_handle alignment) {
  return With(Alignments(), alignment,
              [](OpenAlignment& open) { return static_cast<std::int64_t>(open.stream->Words().size()); });
}

TETRAPHONE_C_ABI int64_t tetraphone_alignment_word(tetraphone_handle alignment, size_t index, char* text,
                                                   size_t capacity) {
  return With(Alignments(), alignment, [&](OpenAlignment& open) -> std::int64_t {
    const auto& words = open.stream->Words();
    if (index < words.size()) return CopyText(words[index].text, text, capacity);
    return Fail({ErrorCode::kInvalidArgument, "the text has " + std::to_string(words.size()) + " words, and none at " +
                                                  std::to_string(index) + "; count from 0"});
  });
}

TETRAPHONE_C_ABI int64_t tetraphone_alignment_fault(tetraphone_handle alignment, size_t index, char* text,
                                                    size_t capacity) {
  return With(Alignments(), alignment, [&](OpenAlignment& open) -> std::int64_t {
    const auto& faults = open.stream->Faults();
    return index < faults.size() ? CopyText(faults[index], text, capacity) : 0;
  });
}

TETRAPHONE_C_ABI int64_t tetraphone_alignment_poll(tetraphone_handle alignment, tetraphone_aligned_phone* phones,
                                                   size_t capacity) {
  return PollPhones(Alignments(), alignment, phones, capacity, ToC);
}

TETRAPHONE_C_ABI int64_t tetraphone_alignment_provisional(tetraphone_handle alignment, tetraphone_aligned_phone* phones,
                                                          size_t capacity) {
  return ProvisionalPhones(Alignments(), alignment, phones, capacity, ToC);
}

TETRAPHONE_C_ABI int64_t tetraphone_alignment_bands(tetraphone_handle alignment, float* bands, size_t capacity) {
  return TakeBands(Alignments(), alignment, bands, capacity);
}

TETRAPHONE_C_ABI int64_t tetraphone_alignment_scores(tetraphone_handle alignment, float* scores, size_t capacity) {
  return TakeScores(Alignments(), alignment, scores, capacity);
}

TETRAPHONE_C_ABI int64_t tetraphone_alignment_all_words(tetraphone_handle alignment, tetraphone_aligned_word* words,
                                                        size_t capacity) {
  return WithAll(alignment, [&](const Alignment& all) { return Copied(all.words, words, capacity, WordToC); });
}

TETRAPHONE_C_ABI int64_t tetraphone_alignment_all_phones(tetraphone_handle alignment, tetraphone_aligned_phone* phones,
                                                         size_t capacity) {
  return WithAll(alignment, [&](const Alignment& all) { return Copied(all.phones, phones, capacity, ToC); });
}

TETRAPHONE_C_ABI int64_t tetraphone_alignment_measures(tetraphone_handle alignment, float* measures, size_t capacity) {
  return WithFound(alignment, &OpenAlignment::measured, &AlignmentStream::Measured, [&](const Measures& found) {
    return Copied(found.rows, measures, capacity, tetraphone::Same);
  });
}

TETRAPHONE_C_ABI int64_t tetraphone_alignment_phone_scores(tetraphone_handle alignment, tetraphone_phone_score* scores,
                                                           size_t capacity) {
  return WithScores(alignment, [&](const Pronunciation& found) {
    const std::vector<double>& own = found.scores.phones;
    for (std::size_t i = 0; i < std::min(capacity, found.heard.size()); ++i) {
      const Heard& heard = found.heard[i];
      scores[i] = {PhoneIndex(heard.label), PhoneIndex(heard.added), i < own.size() ? own[i] : 0.0, heard.probability,
                   heard.added_probability};
    }
    return static_cast<std::int64_t>(found.heard.size());
  });
}

TETRAPHONE_C_ABI int64_t tetraphone_alignment_word_scores(tetraphone_handle alignment, tetraphone_word_score* scores,
                                                          size_t capacity) {
  return WithScores(alignment, [&](const Pronunciation& found) {
    return Copied(found.scores.words, scores, capacity, [](const WordScore& word) -> tetraphone_word_score {
      return {word.accuracy, word.stress, word.total};
    });
  });
}

TETRAPHONE_C_ABI int tetraphone_alignment_sentence_score(tetraphone_handle alignment,
                                                         tetraphone_sentence_score* score) {
  return WithScores(alignment, [&](const Pronunciation& found) {
    const SentenceScore& sentence = found.scores.sentence;
    *score = {found.trained, sentence.accuracy, sentence.fluency, sentence.completeness, sentence.total};
    return 0;
  });
}

TETRAPHONE_C_ABI int tetraphone_alignment_log_likelihood(tetraphone_handle alignment, double* log_likelihood) {
  return With(Alignments(), alignment, [&](OpenAlignment& open) {
    const Result<double> found = open.stream->LogLikelihood();
    if (!found) return Fail(found.error());
    *log_likelihood = *found;
    return 0;
  });
}

TETRAPHONE_C_ABI int tetraphone_alignment_fit(tetraphone_handle alignment, double* fit, int32_t* fits) {
  return WithAll(alignment, [&](const Alignment& all) {
    *fit = all.fit;
    *fits = all.fits;
    return 0;
  });
}

TETRAPHONE_C_ABI int64_t tetraphone_alignment_problem(tetraphone_handle alignment, size_t index, char* text,
                                                      size_t capacity) {
  return WithAll(alignment, [&](const Alignment& all) -> std::int64_t {
    return index < all.problems.size() ? CopyText(all.problems[index], text, capacity) : 0;
  });
}
