#include "aligner.h"

#include <utility>

#include "../common/words.h"
#include "../lexicon/text.h"
#include "../recognizer/sound_stream.h"
#include "head.h"
#include "search.h"
#include "timeline.h"

namespace tetraphone {
namespace {

// Sub-frames likelier to be of a phone than silent; of fewer, nobody spoke. Six of silence are, at its two ends, where
// rows of zeros stand for what was before and comes behind.
constexpr std::int64_t kLeastSpeech = 10;

Error Unaligned(const std::string& what) { return {ErrorCode::kInvalidArgument, what}; }

}  // namespace

struct AlignmentStream::State final : SoundStream {
  State(std::shared_ptr<const Model> of, std::unique_ptr<Network> network, AlignmentHead reads,
        std::shared_ptr<const AlignmentGraph> graph, const AlignmentOptions& options)
      : SoundStream(std::move(of), std::move(network),
                    {options.channel, options.keep_bands, options.keep_scores, true}),
        head(std::move(reads)),
        search(std::move(graph), model()->info().phones.size() + 1),
        timeline(model()->info()) {}

  Failure Take(const float* x, const float*, const float* hidden, std::size_t frames) override {
    return head.Accept(x, hidden, frames, [this](const float* scores) { search.Accept(scores); });
  }

  Failure End() override {
    if (Failure failure = head.Finish([this](const float* scores) { search.Accept(scores); })) return failure;
    if (search.frames() == 0) return Unaligned("there is no sound; give a recording in which the text is said");
    if (search.frames() < graph().least_frames()) {
      const double shift = model()->info().frame_shift / static_cast<double>(kSubFrames);
      return Unaligned("the text takes " + Text(static_cast<double>(graph().least_frames()) * shift, "%.2f") +
                     " s at least, and the sound has " + Text(seconds(), "%.2f") +
                     " s; give the text of this sound alone");
    }
    if (search.speech_frames() < kLeastSpeech) {
      return Unaligned("there is no speech in the sound; give a recording in which the text is said");
    }
    const bool complete = search.Finish();
    Keep();
    if (!complete) {
      const auto word = static_cast<std::size_t>(segments.empty() ? 0 : graph().units()[segments.back().unit].word);
      return Unaligned("the text is not what is said, or goes on where the sound ends, at " +
                       Shown(graph().words()[word].text) + ", word " + std::to_string(word + 1) + " of " +
                       std::to_string(graph().words().size()) + "; give the text of this sound alone");
    }
    timeline.Finish(seconds());
    done = true;
    return std::nullopt;
  }

  void Clear() override {
    head.Reset();
    search.Reset();
    timeline.Reset();
    segments.clear();
    score = 0;
    given = 0;
    done = false;
  }

  std::size_t OwnHeapBytes() const override {
    return sizeof(AlignmentStream) + sizeof *this - sizeof search + head.heap_bytes() + search.heap_bytes() +
           graph().heap_bytes() + tetraphone::HeapBytes(segments, timeline.spans());
  }

  // Takes what became final.
  void Keep() {
    for (const Segment& segment : search.Take()) {
      score += segment.score;
      if (graph().units()[segment.unit].phone == AlignmentGraph::kSilence) continue;
      segments.push_back(segment);
      timeline.Add(segment.from, segment.to);
    }
  }

  std::vector<AlignedPhone> Poll() {
    if (!done) Keep();
    const std::size_t end = done ? segments.size() : timeline.Settled(seconds());
    std::vector<AlignedPhone> phones;
    for (; given < end; ++given) phones.push_back(PhoneAt(given));
    return phones;
  }

  std::vector<AlignedPhone> Provisional() const {
    std::vector<AlignedPhone> phones;
    if (done) return phones;
    for (std::size_t i = given; i < segments.size(); ++i) phones.push_back(PhoneAt(i));
    Timeline rest = timeline.Rest();
    for (const Segment& segment : search.Provisional()) {
      if (graph().units()[segment.unit].phone == AlignmentGraph::kSilence) continue;
      rest.Add(segment.from, segment.to);
      phones.push_back(Placed(segment, rest.spans().back(), graph(), model()->info()));
    }
    return phones;
  }

  AlignedPhone PhoneAt(std::size_t index) const {
    return Placed(segments[index], timeline.spans()[index], graph(), model()->info());
  }

  Result<Alignment> All() const {
    if (!done) return Unaligned("the stream is not finished; finish it first");
    return AlignmentOf(segments, timeline.spans(), score, search.frames(), graph(), model()->info());
  }

  const AlignmentGraph& graph() const { return search.graph(); }

  AlignmentHead head;
  AlignmentSearch search;
  Timeline timeline;
  std::vector<Segment> segments;  // of phones, final ones
  double score = 0;               // of all that is final
  std::size_t given = 0;          // of them by Poll
  bool done = false;              // all of the text was found
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

Result<std::vector<AlignedPhone>> AlignmentStream::Poll() {
  return state_->Locked([&] { return state_->Poll(); });
}

Result<std::vector<AlignedPhone>> AlignmentStream::Provisional() const {
  return state_->Locked([&] { return state_->Provisional(); });
}

Result<Alignment> AlignmentStream::Aligned() const {
  Result<Result<Alignment>> found = state_->Locked([&] { return state_->All(); });
  return found ? *std::move(found) : Result<Alignment>(found.error());
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
  return Guarded([&]() -> Result<std::shared_ptr<AlignmentStream>> {
#define TETRAPHONE_CHECK(kind, name, ...) \
  if (Failure failure = CheckOption(#name, options.name)) return *failure;
    TETRAPHONE_SOUND_OPTIONS(TETRAPHONE_CHECK)
#undef TETRAPHONE_CHECK
    auto words = options.phones ? vocabulary_->ReadPhones(text) : vocabulary_->Read(text);
    if (!words) return words.error();
    auto network = Network::Make(model_);
    if (!network) return network.error();
    Result<AlignmentHead> head = AlignmentHead::Make(model_);
    if (!head) return head.error();
    auto graph = std::make_shared<const AlignmentGraph>(*std::move(words), GraphOptions{});
    auto state = std::make_unique<AlignmentStream::State>(model_, *std::move(network), *std::move(head),
                                                          std::move(graph), options);
    return std::shared_ptr<AlignmentStream>(new AlignmentStream(std::move(state)));
  });
}

}  // namespace tetraphone
