// tetraphone-recognize: phones of WAV files and folders of them, of raw samples from a pipe, or of the microphone.

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../decoder/grammar.h"
#include "../recognizer/recognizer.h"
#include "../recognizer/settings.h"
#include "../recordings/wav.h"
#include "../results/alphabet.h"
#include "../system/process.h"
#include "capture.h"
#include "files.h"
#include "live.h"
#include "options.h"
#include "results_folder.h"

namespace {

using namespace tetraphone;

constexpr std::size_t kPiece = 1600;      // samples
constexpr std::size_t kMostShown = 1000;  // phones of the live line

Failure Print(const std::string& text) { return WriteBytes(STDOUT_FILENO, text); }

// Recognises one recording after another.
class Session {
 public:
  Session(const CommandOptions& options, std::vector<std::string> labels, std::shared_ptr<Stream> stream)
      : options_(options), labels_(std::move(labels)), stream_(std::move(stream)) {}

  // Where results are written; by default standard output.
  void Into(ResultsFolder* folder) { folder_ = folder; }
  // The line that is on the terminal while recordings are recognised.
  void Beside(LiveLine* progress) { progress_ = progress; }
  // `titled`: whether its name stands above the lines of text.
  Failure Recognize(const Job& job, bool titled);
  Failure Listen(int rate);
  // Whether results cannot be written, so that no further one is worth its while.
  bool stuck() const { return stuck_; }

 private:
  // Whether phones are printed as they come.
  bool at_once() const { return options_.format == ResultFormatAt(0) && folder_ == nullptr; }
  void Begin(const Job& job);
  Failure Accept(const float* samples, std::size_t count, int rate, LiveLine* line);
  Failure Keep(const std::vector<Phone>& phones);
  Failure Finish();
  Failure Write(const std::string& text);

  const CommandOptions& options_;
  const std::vector<std::string> labels_;  // of each of the model's phones, in the alphabet
  const std::shared_ptr<Stream> stream_;
  Recognition recognition_;
  ResultsFolder* folder_ = nullptr;
  LiveLine* progress_ = nullptr;
  Job job_;
  bool printed_ = false;  // a result, to standard output
  bool stuck_ = false;
  std::vector<std::string> shown_;  // on the live line
};

void Session::Begin(const Job& job) {
  (void)stream_->Reset();
  recognition_ = {job.recording, 0, {{"phones", {}}}};
  job_ = job;
  if (folder_ != nullptr) folder_->Begin(job);
}

Failure Session::Write(const std::string& text) {
  Failure failure = folder_ == nullptr ? Print(text) : folder_->Write(job_, text);
  stuck_ = failure.has_value() && folder_ == nullptr;  // standard output will not take the next one either
  return failure;
}

// Phones that are final by now: printed at once as text, else kept for the end.
Failure Session::Keep(const std::vector<Phone>& phones) {
  std::vector<Interval>& kept = recognition_.tiers.front().intervals;
  for (const Phone& phone : phones) {
    kept.push_back({labels_[static_cast<std::size_t>(phone.index)], phone.start, phone.end, phone.confidence});
  }
  if (!at_once()) return std::nullopt;
  std::string lines;
  for (const Interval& phone : kept) lines += TextLine(phone);
  kept.clear();
  return Write(lines);
}

Failure Session::Accept(const float* samples, std::size_t count, int rate, LiveLine* line) {
  if (Failure failure = stream_->Accept(samples, count, rate)) return failure;
  const auto phones = stream_->Poll();
  if (!phones) return phones.error();
  if (line == nullptr) return Keep(*phones);
  const auto open = stream_->Provisional();
  if (!open) return open.error();
  if (at_once() && !phones->empty()) line->Clear();
  if (Failure failure = Keep(*phones)) return failure;
  if (stream_->Paused() || shown_.size() > kMostShown) shown_.clear();
  for (const Phone& phone : *phones) shown_.push_back(labels_[static_cast<std::size_t>(phone.index)]);
  std::vector<std::string> shown = shown_;
  for (const Phone& phone : *open) shown.push_back(labels_[static_cast<std::size_t>(phone.index)]);
  line->Show(Level(samples, count), shown);
  return std::nullopt;
}

Failure Session::Finish() {
  if (Failure failure = stream_->Finish()) return failure;
  const auto phones = stream_->Poll();
  if (!phones) return phones.error();
  if (Failure failure = Keep(*phones)) return failure;
  if (at_once()) return std::nullopt;
  recognition_.duration = stream_->Seconds();
  if (folder_ != nullptr && options_.format->name == std::string("eaf")) {
    recognition_.name = PathFrom(PathOf(job_.result).parent_path().u8string(), job_.recording);
  }
  const Result<std::string> text =
      FormatResult(recognition_, *options_.format, AlphabetAt(0), folder_ != nullptr || !printed_);
  if (!text) return text.error();
  printed_ = true;
  return Write(*text);
}

Failure Session::Recognize(const Job& job, bool titled) {
  const std::string& name = job.recording;
  auto bytes = OpenBytes(name);
  if (!bytes) return bytes.error();
  auto reader = options_.raw != 0 ? SampleReader::Raw(std::move(*bytes), name, options_.raw, options_.channel)
                                  : SampleReader::Wav(std::move(*bytes), name, options_.channel);
  if (!reader) return reader.error();
  Begin(job);
  if (at_once() && titled) {
    if (Failure failure = Write("recording: " + name + "\n")) return failure;
  }
  float samples[kPiece];
  while (true) {
    const auto read = reader->Read(samples, kPiece);
    if (!read) return read.error();
    if (*read == 0) break;
    if (Failure failure = Accept(samples, *read, reader->rate(), nullptr)) return failure;
  }
  for (const std::string& problem : {reader->fault(), reader->levels()}) {
    if (problem.empty()) continue;
    if (progress_ != nullptr) progress_->Clear();
    Say(problem);
    recognition_.problems.push_back(problem);
  }
  return Finish();
}

Failure Session::Listen(int rate) {
  auto capture = Capture::Start(rate);
  if (!capture) return capture.error();
  if (!options_.quiet) (void)WriteBytes(STDERR_FILENO, "listening; Ctrl-C ends\n");
  Begin({"microphone", ""});
  LiveLine line(STDERR_FILENO, options_.quiet);
  float samples[kPiece];
  while (true) {
    const auto read = capture->Read(samples, kPiece);
    if (!read) return read.error();
    if (*read == 0) break;
    if (Failure failure = Accept(samples, *read, rate, &line)) return failure;
  }
  line.Clear();
  return Finish();
}

// Of the options.
Result<std::string> Settings(const CommandOptions& options) {
  StreamOptions how = options.stream;
  how.channel = options.channel;
  return SettingsText(options.model, options.grammar, how, options.alphabet);
}

int RecognizeAll(const CommandOptions& options, Session* session) {
  if (options.raw != 0) {
    const Failure failure = session->Recognize({"-", ""}, false);
    return failure ? Fail(failure->message) : 0;
  }
  Jobs listed = ListJobs(options.recordings, options.output, options.format->suffix);
  std::vector<Job>& jobs = listed.jobs;
  std::unique_ptr<ResultsFolder> folder;
  if (!options.output.empty()) {
    if (const Failure failure = KeepApart(options.output + "/" + kSettingsFile, &jobs)) WrongUsage(failure->message);
    const auto settings = Settings(options);
    if (!settings) return Fail(settings.error().message);
    auto opened = ResultsFolder::Open(options.output, *settings, options.overwrite, &jobs);
    if (!opened) return Fail(opened.error().message);
    folder = *std::move(opened);
    session->Into(folder.get());
  } else if (jobs.size() > 1 && !options.format->joins) {
    WrongUsage("this format holds one recording; give them one by one, or --output DIR");
  } else if (options.format->name == std::string("ctm")) {
    if (const Failure failure = KeepNamesApart(jobs)) WrongUsage(failure->message);
  }
  for (const std::string& note : listed.notes) {
    if (!options.quiet) Say(note);
  }
  int status = 0;
  for (const std::string& fault : listed.faults) status = Fail(fault);
  LiveLine line(STDERR_FILENO, options.quiet || options.output.empty());
  session->Beside(&line);
  std::size_t number = 0;
  for (const Job& job : jobs) {  // one that cannot be read does not keep the others from it
    line.Show(std::to_string(++number) + " of " + std::to_string(jobs.size()) + ": " + job.recording);
    const Failure failure = session->Recognize(job, jobs.size() > 1);
    if (!failure) continue;
    line.Clear();
    status = Fail(failure->message);
    if (session->stuck()) break;
  }
  return status;
}

// The model's phones in the alphabet.
Result<std::vector<std::string>> Labels(const std::vector<std::string>& phones, const std::string& alphabet) {
  std::vector<std::string> labels;
  for (const std::string& phone : phones) {
    Result<std::string> label = PhoneIn(alphabet, phone);
    if (!label) return label.error();
    labels.push_back(*label);
  }
  return labels;
}

int Run(CommandOptions options) {
  auto recognizer = Recognizer::Load(options.model);
  if (!recognizer) return Fail(recognizer.error().message);
  const std::vector<std::string>& phones = recognizer->info().phones;
  if (!options.grammar.empty()) {
    auto grammar = ReadGrammar(options.grammar, phones);
    if (!grammar) return Fail(grammar.error().message);
    options.stream.decoder.grammar = *grammar;
  }
  auto labels = Labels(phones, options.alphabet);
  if (!labels) return Fail(labels.error().message);
  auto stream = recognizer->NewStream(options.stream);
  if (!stream) return Fail(stream.error().message);
  Session session(options, std::move(*labels), *stream);
  if (!options.microphone) return RecognizeAll(options, &session);
  const Failure failure = session.Listen(recognizer->info().features.sample_rate);
  return failure ? Fail(failure->message) : 0;
}

}  // namespace

int main(int count, char** arguments) {
  PrepareProcess();
  try {
    std::vector<std::string> words = Arguments(count, arguments);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return Run(Parse(static_cast<int>(words.size()), pointers.data()));
  } catch (const std::bad_alloc&) {
    return Fail("out of memory");
  }
}
