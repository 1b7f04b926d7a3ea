// libFuzzer target: any text, with any dictionary of its own beside a lexicon, and any scores, with and without a beam;
// what is found is in order, and the same however often it is taken.
//
// The input: a byte with how the text is given and how its graph is made, then the text, a zero, the dictionary, a
// zero, and scores, a byte each.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "aligner/alignment.h"
#include "aligner/course.h"
#include "common/limits.h"

namespace {

using tetraphone::AlignmentGraph;
using tetraphone::AlignmentSearch;
using tetraphone::Segment;
using Words = std::vector<tetraphone::SpokenWord>;

const std::vector<std::string> kPhones = {"AA", "AE", "AH", "B", "IY", "K", "S", "T", "OW", "R"};
constexpr std::size_t kOutputs = 11;

void Require(bool holds, const char* what) {
  if (!holds) std::fprintf(stderr, "%s\n", what), std::abort();
}

const std::shared_ptr<const tetraphone::Lexicon>& Lexicon() {
  static const auto* loaded = [] {
    const char* path = std::getenv("TETRAPHONE_FUZZ_LEXICON");
    auto lexicon = tetraphone::Lexicon::Load(path == nullptr ? "models/english.lexicon" : path);
    if (!lexicon) std::fprintf(stderr, "%s\n", lexicon.error().message.c_str()), std::abort();
    return new std::shared_ptr<const tetraphone::Lexicon>(
        std::make_shared<const tetraphone::Lexicon>(*std::move(lexicon)));
  }();
  return *loaded;
}

const std::string& Written(const std::string& dictionary) {
  static const std::string path = "/tmp/align_fuzz-" + std::to_string(getpid()) + ".txt";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  Require(file != nullptr, "the dictionary cannot be written");
  std::fwrite(dictionary.data(), 1, dictionary.size(), file);
  std::fclose(file);
  return path;
}

void RequireSentence(const tetraphone::Error& error) {
  Require(!error.message.empty() && error.message.find('\n') == std::string::npos, "an error is no line");
  Require(error.message.find(';') != std::string::npos || error.message.find("; it has") != std::string::npos,
          "an error lacks a mend");
}

std::vector<Segment> Found(const std::shared_ptr<const AlignmentGraph>& graph, const std::vector<float>& scores,
                           std::size_t take_every, bool exact, bool* complete) {
  const tetraphone::SearchOptions options = exact ? tetraphone::SearchOptions{1e300, std::size_t{1} << 40}
                                                  : tetraphone::SearchOptions{50, 20};
  AlignmentSearch search(graph, kOutputs, options);
  std::vector<Segment> segments;
  const auto take = [&] {
    for (const Segment& segment : search.Take()) segments.push_back(segment);
  };
  for (std::size_t t = 0; t + kOutputs <= scores.size(); t += kOutputs) {
    search.Accept(scores.data() + t);
    if (take_every != 0 && t / kOutputs % take_every == 0) take();
    if (take_every == 3) (void)search.Provisional();
  }
  *complete = search.Finish();
  take();
  std::int64_t at = 0;
  for (const Segment& segment : segments) {
    Require(segment.first == at && segment.end > at && segment.score <= 1e-6, "segments do not follow one another");
    at = segment.end;
  }
  Require(segments.empty() || at == search.frames(), "the last segment does not end with the sound");
  return segments;
}

bool Same(const std::vector<Segment>& a, const std::vector<Segment>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Segment& x, const Segment& y) {
    return x.unit == y.unit && x.first == y.first && x.end == y.end && x.score == y.score;
  });
}

void Reported(const std::vector<Segment>& segments, std::int64_t frames, const AlignmentGraph& graph) {
  tetraphone::ModelInfo info;
  info.phones = kPhones;
  info.frame_shift = 0.03;
  tetraphone::Timeline timeline(info);
  tetraphone::Course course;
  for (const Segment& segment : segments) {
    course.score += segment.score;
    if (graph.units()[segment.unit].phone < 0) continue;
    course.segments.push_back(segment);
    timeline.Add(segment.from, segment.to);
  }
  const double seconds = static_cast<double>(frames) * 0.01 - 0.005;
  timeline.Finish(seconds);
  const auto all = tetraphone::AlignmentOf(course, timeline, frames, graph, info);
  Require(all.words.size() == graph.words().size() && all.phones.size() == course.segments.size(), "words are missing");
  double last = 0;
  for (const tetraphone::AlignedPhone& phone : all.phones) {
    Require(phone.start >= last - 1e-9 && phone.end > phone.start, "phones overlap or lack a length");
    last = phone.end;
  }
  Require(last <= seconds, "a phone ends behind the sound");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3 || size > 5000) return 0;
  const std::uint8_t how = data[0];
  const std::uint8_t* const end = data + size;
  const std::uint8_t* const text_end = std::find(data + 1, end, 0);
  const std::uint8_t* const dictionary = std::min(text_end + 1, end);
  const std::uint8_t* const dictionary_end = std::find(dictionary, end, 0);
  const std::string own(dictionary, dictionary_end);
  const auto vocabulary = tetraphone::Vocabulary::Make(kPhones, (how & 1) != 0 ? Lexicon() : nullptr,
                                                       own.empty() ? "" : Written(own));
  if (!vocabulary) return RequireSentence(vocabulary.error()), 0;
  const std::string text(data + 1, text_end);
  tetraphone::Result<Words> words = (how & 2) != 0 ? (*vocabulary)->ReadPhones(text) : (*vocabulary)->Read(text);
  if (!words) return RequireSentence(words.error()), 0;
  Require(!words->empty(), "no word and no error");
  const tetraphone::GraphOptions options{1 + how / 4 % 3,     1 + how / 16 % 4, how / 64 % 2 == 0,
                                         how / 128 * 5.0 + 1, 0.5,              1};
  const auto graph = std::make_shared<const AlignmentGraph>(*std::move(words), options);
  std::vector<float> scores;
  for (const std::uint8_t* at = std::min(dictionary_end + 1, end); at != end; ++at) {
    scores.push_back(static_cast<float>(*at) / 4 - 32);
  }
  const auto frames = static_cast<std::int64_t>(scores.size() / kOutputs);
  for (const bool exact : {true, false}) {
    bool complete = false, again = false;
    const std::vector<Segment> found = Found(graph, scores, 0, exact, &complete);
    for (const std::size_t every : {1u, 3u}) {
      Require(Same(Found(graph, scores, every, exact, &again), found) && again == complete, "taking changes segments");
    }
    Require(!exact || complete == (frames >= graph->least_frames() && frames > 0), "a text of this length is refused");
    if (complete) Reported(found, frames, *graph);
  }
  return 0;
}
