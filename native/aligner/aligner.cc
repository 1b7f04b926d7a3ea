#include "aligner.h"

#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "../common/words.h"
#include "../lexicon/text.h"
#include "../recognizer/sound_stream.h"
#include "course.h"
#include "head.h"

namespace tetraphone {
namespace {

// Sub-frames likelier to be of a phone than silent; of fewer, nobody spoke. Six of silence are, at its two ends, where
// rows of zeros stand for what was before and comes behind.
constexpr std::int64_t kLeastSpeech = 10;
// And what they say of which phone is said when, nats a sub-frame (SpeechMeter), more where they are few. White, pink
// and brown noise, hum and tones, of 1 to 10 s and -70 to -12 dB, came to 0.2 at most by the heads that ship, but for
// one of 0.24; each of 300 recordings to 0.37 at least, also at -40 dB or with white noise 5 dB below them, and to 0.27
// with noise as loud. A text of fewer kinds of phones, such as a vowel that is held, need not say as much.
constexpr double kLeastInformation = 0.22;
constexpr double kMoreOfFew = 2.0;
constexpr std::size_t kLeastKinds = 3;

template <typename T>
Result<T> Flat(Result<Result<T>> found) {
  return found ? *std::move(found) : Result<T>(found.error());
}

Error Unaligned(const std::string& what) { return {ErrorCode::kInvalidArgument, what}; }

std::string InSeconds(double seconds) { return Text(seconds, "%.2f") + " s"; }

// "from 1.20 to 2.30 s".
std::string Place(const Stretch& stretch) {
  return "from " + (std::isinf(stretch.end) ? InSeconds(stretch.start) + " on"
                                            : Text(stretch.start, "%.2f") + " to " + InSeconds(stretch.end));
}

double SubFrame(const ModelInfo& info) { return info.frame_shift / static_cast<double>(kSubFrames); }

}  // namespace

struct AlignmentStream::State final : SoundStream {
  State(std::shared_ptr<const Model> of, std::unique_ptr<Network> network, AlignmentHead reads,
        std::shared_ptr<const AlignmentGraph> graph, std::vector<Stretch> within, std::vector<std::string> left_out,
        const AlignmentOptions& options)
      : SoundStream(std::move(of), std::move(network),
                    {options.channel, options.keep_bands, options.keep_scores, true}),
        scores_phones(options.pronounce),
        plain(options.plain),
        head(std::move(reads)),
        search(std::move(graph), model()->info().phones.size() + 1),
        timeline(model()->info()),
        stretches(std::move(within)),
        faults(std::move(left_out)) {}

  Failure Take(const float* x, const float* frame, const float* hidden, std::size_t frames) override {
    if (scores_phones) scores.insert(scores.end(), frame, frame + frames * outputs());
    return head.Accept(x, hidden, frames, [this](const float* part) { TakePart(part); });
  }

  void TakePart(const float* part) {
    if (scores_phones) parts.insert(parts.end(), part, part + outputs());
    search.Accept(part);
  }

  Failure End() override {
    if (Failure failure = head.Finish([this](const float* part) { TakePart(part); })) return failure;
    if (search.frames() == 0) return Unaligned("there is no sound; give a recording in which the text is said");
    if (search.frames() < graph().least_frames()) {
      const double least = static_cast<double>(graph().least_frames()) * SubFrame(model()->info());
      return Unaligned("the text takes " + InSeconds(least) + " at least, and the sound has " + InSeconds(seconds()) +
                       "; give the text of this sound alone");
    }
    if (!Spoken()) {
      return Unaligned("there is no speech in the sound; give a recording in which the text is said");
    }
    const bool complete = search.Finish();
    Keep();
    if (!complete && graph().end() != kNoEnd) {
      return Unaligned("a text is said " + Place(stretches.back()) + ", and the sound has " + InSeconds(seconds()) +
                       "; give the stretches of this sound");
    }
    if (!complete) {
      const std::size_t last = course.segments.empty() ? 0 : course.segments.back().unit;
      const auto word = static_cast<std::size_t>(graph().units()[last].word);
      return Unaligned("the text is not what is said, or goes on where the sound ends, at " +
                       Shown(graph().words()[word].text) + ", word " + std::to_string(word + 1) + " of " +
                       std::to_string(graph().words().size()) + "; give the text of this sound alone");
    }
    timeline.Finish(seconds());
    done = true;
    return std::nullopt;
  }

  // Whether there is speech in the sound.
  bool Spoken() const {
    const SpeechMeter& speech = search.speech();
    if (speech.frames() < kLeastSpeech) return false;
    std::set<int> kinds;
    for (const SpokenWord& word : graph().words()) {
      for (const PhoneSequence& phones : word.pronunciations) kinds.insert(phones.begin(), phones.end());
    }
    return kinds.size() < kLeastKinds ||
           speech.information() >= kLeastInformation + kMoreOfFew / static_cast<double>(speech.frames());
  }

  void Clear() override {
    head.Reset();
    search.Reset();
    timeline.Reset();
    course = {};
    scores.clear();
    parts.clear();
    given = 0;
    done = false;
  }

  std::size_t OwnHeapBytes() const override {
    return sizeof(AlignmentStream) + sizeof *this - sizeof search + head.heap_bytes() + search.heap_bytes() +
           graph().heap_bytes() + tetraphone::HeapBytes(course.segments, course.unknown, course.apart) +
           tetraphone::HeapBytes(timeline.spans(), stretches, scores, parts);
  }

  // Takes what became final.
  void Keep() {
    for (const Segment& segment : search.Take()) {
      const AlignmentGraph::Unit& unit = graph().units()[segment.unit];
      course.score += segment.score;
      if (unit.phone >= 0) {
        course.segments.push_back(segment);
        timeline.Add(segment.from, segment.to, Within(unit));
      } else if (unit.phone == AlignmentGraph::kFiller) {
        course.apart.push_back(course.segments.size());
        if (graph().Between(static_cast<std::size_t>(unit.word))) continue;
        course.unknown.push_back({timeline.At(segment.from), timeline.At(segment.to)});
      }
    }
  }

  // Where the word of a phone is said.
  Span Within(const AlignmentGraph::Unit& unit) const {
    const Stretch& stretch = stretches[graph().WindowOf(static_cast<std::size_t>(unit.word))];
    return {stretch.start, stretch.end};
  }

  std::vector<AlignedPhone> Poll() {
    if (!done) Keep();
    const std::size_t end = done ? course.segments.size() : timeline.Settled(seconds());
    std::vector<AlignedPhone> phones;
    for (; given < end; ++given) phones.push_back(PhoneAt(given));
    return phones;
  }

  std::vector<AlignedPhone> Provisional() const {
    std::vector<AlignedPhone> phones;
    if (done) return phones;
    for (std::size_t i = given; i < course.segments.size(); ++i) phones.push_back(PhoneAt(i));
    Timeline rest = timeline.Rest();
    for (const Segment& segment : search.Provisional()) {
      const AlignmentGraph::Unit& unit = graph().units()[segment.unit];
      if (unit.phone < 0) continue;
      rest.Add(segment.from, segment.to, Within(unit));
      phones.push_back(Placed(segment, rest.spans().back(), graph(), model()->info()));
    }
    return phones;
  }

  AlignedPhone PhoneAt(std::size_t index) const {
    return Placed(course.segments[index], timeline.spans()[index], graph(), model()->info());
  }

  Result<Alignment> All() const {
    if (!done) return Unaligned("the stream is not finished; finish it first");
    Alignment alignment = AlignmentOf(course, timeline, search.frames(), graph(), model()->info());
    alignment.faults = faults;
    return alignment;
  }

  std::vector<FoundPhone> Found() const {
    std::vector<FoundPhone> phones;
    auto apart = course.apart.begin();
    for (std::size_t i = 0; i < course.segments.size(); ++i) {
      const Segment& segment = course.segments[i];
      const std::size_t word = WordOf(segment);
      while (apart != course.apart.end() && *apart < i) ++apart;
      const bool follows = apart != course.apart.end() && *apart == i;
      const bool moves = i > 0 && graph().WindowOf(word) != graph().WindowOf(phones.back().word);
      const auto label = static_cast<std::size_t>(graph().units()[segment.unit].phone) + 1;
      phones.push_back({label, word, segment.first, segment.end, segment.skipped, follows || moves});
    }
    return phones;
  }

  Failure Unscored() const {
    if (!done) return Unaligned("the stream is not finished; finish it first");
    if (!scores_phones) return Unaligned("the stream scores nothing; open it with the option pronounce");
    return std::nullopt;
  }

  Result<Measures> Measured() const {
    if (Failure failure = Unscored()) return *failure;
    const bool behind = !course.apart.empty() && course.apart.back() == course.segments.size();
    const std::size_t frames = scores.size() / outputs();
    return tetraphone::Measured(scores.data(), parts.data(), frames, outputs(), Found(), behind);
  }

  Result<double> LogLikelihood() const {
    if (Failure failure = Unscored()) return *failure;
    return tetraphone::LogLikelihood(scores.data(), scores.size() / outputs(), outputs(), Found());
  }

  Result<Pronunciation> Pronounced() const {
    if (Failure failure = Unscored()) return *failure;
    if (!All()->fits) {
      return Unaligned("the text does not fit the sound, so that no score would mean anything; give what is said "
                       "there");
    }
    const Result<Measures> measures = Measured();
    if (!measures) return measures.error();
    std::vector<std::size_t> words;
    for (const Segment& segment : course.segments) words.push_back(WordOf(segment));
    return Scorer(model(), plain).Score(*measures, words);
  }

  std::size_t WordOf(const Segment& segment) const {
    return static_cast<std::size_t>(graph().units()[segment.unit].word);
  }
  const AlignmentGraph& graph() const { return search.graph(); }
  std::size_t outputs() const { return model()->program().outputs; }

  const bool scores_phones;
  const bool plain;
  AlignmentHead head;
  AlignmentSearch search;
  Timeline timeline;
  const std::vector<Stretch> stretches;  // one for each of the graph's windows
  const std::vector<std::string> faults;
  Course course;              // what is final
  std::vector<float> scores;  // the network's, and
  std::vector<float> parts;   // the head's, for what is measured
  std::size_t given = 0;      // of the course's phones by Poll
  bool done = false;          // all of the text was found
};

AlignmentStream::AlignmentStream(std::unique_ptr<State> state) : state_(std::move(state)) {}
AlignmentStream::~AlignmentStream() = default;

Failure AlignmentStream::Accept(const float* samples, std::size_t frames, int rate, int channels) {
  return state_->Accept(samples, frames, rate, channels);
}
Failure AlignmentStream::Finish() { return state_->Finish(); }
Failure AlignmentStream::Reset() { return state_->Reset(); }
void AlignmentStream::Close() { state_->Close(); }
double AlignmentStream::Seconds() const { return state_->Seconds(); }
std::size_t AlignmentStream::HeapBytes() const { return state_->HeapBytes(); }
Result<std::vector<float>> AlignmentStream::TakeBands() { return state_->TakeBands(); }
Result<std::vector<float>> AlignmentStream::TakeScores() { return state_->TakeScores(); }

const std::vector<SpokenWord>& AlignmentStream::Words() const { return state_->graph().words(); }
const std::vector<std::string>& AlignmentStream::Faults() const { return state_->faults; }

Result<std::vector<AlignedPhone>> AlignmentStream::Poll() {
  return state_->Locked([&] { return state_->Poll(); });
}

Result<std::vector<AlignedPhone>> AlignmentStream::Provisional() const {
  return state_->Locked([&] { return state_->Provisional(); });
}

Result<Alignment> AlignmentStream::Aligned() const {
  return Flat(state_->Locked([&] { return state_->All(); }));
}

Result<Measures> AlignmentStream::Measured() const {
  return Flat(state_->Locked([&] { return state_->Measured(); }));
}

Result<double> AlignmentStream::LogLikelihood() const {
  return Flat(state_->Locked([&] { return state_->LogLikelihood(); }));
}

Result<Pronunciation> AlignmentStream::Pronounced() const {
  return Flat(state_->Locked([&] { return state_->Pronounced(); }));
}

Result<Aligner> Aligner::Make(const Recognizer& recognizer, std::shared_ptr<const Lexicon> lexicon,
                              const std::string& dictionary) {
  return Guarded([&]() -> Result<Aligner> {
    const std::shared_ptr<const Model>& model = recognizer.shared_model();
    if (Result<AlignmentHead> head = AlignmentHead::Make(model); !head) return head.error();
    auto vocabulary = Vocabulary::Make(model->info().phones, std::move(lexicon), dictionary);
    if (!vocabulary) return vocabulary.error();
    return Aligner(model, *vocabulary);
  });
}

Result<std::shared_ptr<AlignmentStream>> Aligner::NewStream(const std::string& text,
                                                            const AlignmentOptions& options) const {
  return NewStream(std::vector<Stretch>{{text}}, options);
}

// The words of a stretch.
Result<std::vector<SpokenWord>> Aligner::Read(const Stretch& stretch, const Window& window, bool phones) const {
  auto words = phones ? vocabulary_->ReadPhones(stretch.text) : vocabulary_->Read(stretch.text);
  if (!words || window.end == kNoEnd) return words;
  std::int64_t least = 0;
  for (const SpokenWord& word : *words) least += AlignmentGraph::LeastPhones(word);
  if (least <= window.end - window.begin) return words;
  const double sub_frame = SubFrame(info());
  return Unaligned("the text takes " + InSeconds(static_cast<double>(least) * sub_frame) +
                   " at least, and it is to be said in " + InSeconds(stretch.end - stretch.start) +
                   "; give the stretch in which it is said");
}

Result<std::shared_ptr<AlignmentStream>> Aligner::NewStream(const std::vector<Stretch>& stretches,
                                                            const AlignmentOptions& options) const {
  return Guarded([&]() -> Result<std::shared_ptr<AlignmentStream>> {
#define TETRAPHONE_CHECK(kind, name, ...) \
  if (Failure failure = CheckOption(#name, options.name)) return *failure;
    TETRAPHONE_SOUND_OPTIONS(TETRAPHONE_CHECK)
#undef TETRAPHONE_CHECK
    const GraphOptions how;
    const Timeline timeline(info());
    std::vector<SpokenWord> words;
    std::vector<Window> windows;
    std::vector<Stretch> kept;
    std::vector<std::string> faults;
    double last = 0;
    for (const Stretch& stretch : stretches) {
      if (!(stretch.start >= last && stretch.end > stretch.start)) {
        return Unaligned("a text is said " + Place(stretch) + ", and one before it up to " + InSeconds(last) +
                         "; give stretches that have a length and follow one another");
      }
      last = stretch.end;
      Window window{words.size(), 0, timeline.Nearest(stretch.start),
                    std::isinf(stretch.end) ? kNoEnd : timeline.Nearest(stretch.end)};
      const std::int64_t before = windows.empty() ? 0 : windows.back().end;
      if (window.begin - before < how.least_silence) window.begin = before;
      auto read = Read(stretch, window, options.phones);
      if (!read) {
        faults.push_back(stretches.size() == 1 ? read.error().message : Place(stretch) + ": " + read.error().message);
        continue;
      }
      window.words = read->size();
      words.insert(words.end(), std::make_move_iterator(read->begin()), std::make_move_iterator(read->end()));
      windows.push_back(window);
      kept.push_back({"", stretch.start, stretch.end});
    }
    if (words.empty()) return Unaligned(faults.empty() ? "there is no text; give what is said" : faults.front());
    auto network = Network::Make(model_);
    if (!network) return network.error();
    Result<AlignmentHead> head = AlignmentHead::Make(model_);
    if (!head) return head.error();
    auto graph = std::make_shared<const AlignmentGraph>(std::move(words), how, std::move(windows));
    auto state =
        std::make_unique<AlignmentStream::State>(model_, *std::move(network), *std::move(head), std::move(graph),
                                                 std::move(kept), std::move(faults), options);
    return std::shared_ptr<AlignmentStream>(new AlignmentStream(std::move(state)));
  });
}

}  // namespace tetraphone
