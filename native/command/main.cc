// tetraphone-recognize: phones of WAV files, of raw samples from a pipe, or of the microphone.

#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../common/limits.h"
#include "../common/words.h"
#include "../decoder/grammar.h"
#include "../recognizer/recognizer.h"
#include "../recordings/wav.h"
#include "../results/formats.h"
#include "capture.h"
#include "live.h"

namespace {

using namespace tetraphone;

constexpr char kUsage[] =
    R"(Usage: tetraphone-recognize [OPTIONS] RECORDING...
       tetraphone-recognize [OPTIONS] --raw RATE < SAMPLES
       tetraphone-recognize [OPTIONS] --microphone

Prints the phones of each recording with start and end in seconds and confidence from 0 to 1.
A RECORDING is a WAV file of any rate and kind; - is standard input.

  -m, --model FILE         a file of `tetraphone export`; default: the variable TETRAPHONE_MODEL
  -f, --format FORMAT      text, json, jsonl, csv, ctm; of one recording textgrid, eaf, audacity, srt
      --json               the same as --format json
      --raw RATE           standard input is 16-bit little-endian samples of one channel at RATE Hz
      --channel N          hear this channel of a recording, counted from 0; default: the mean of all
      --microphone         listen until Ctrl-C, with the phones as they come
%s  -h, --help               this text
      --version            the version

Exit status: 0; 1 with a sentence on standard error that says what is wrong; 2 for a wrong usage.
)";

struct Options {
  std::string model;
  const ResultFormat* format = ResultFormatAt(0);  // text
  int raw_rate = 0;
  int channel = -1;
  bool microphone = false;
  StreamOptions stream;
  std::string grammar;
  std::vector<std::string> recordings;
};

constexpr std::size_t kPiece = 1600;      // samples
constexpr std::size_t kMostShown = 1000;  // phones of the live line

void Say(const std::string& message) { (void)WriteBytes(STDERR_FILENO, "tetraphone-recognize: " + message + "\n"); }

int Fail(const std::string& message) {
  Say(message);
  return 1;
}

Failure Print(const std::string& text) { return WriteBytes(STDOUT_FILENO, text); }

[[noreturn]] void PrintAndExit(const std::string& text) {
  const Failure failure = Print(text);
  std::exit(failure ? Fail(failure->message) : 0);
}

[[noreturn]] void WrongUsage(const std::string& what) {
  Say(what + "; --help shows the usage");
  std::exit(2);
}

// A number of decimal digits, within limits.
template <typename T>
T Number(const std::string& name, const std::string& text, T least, T greatest) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  const auto [stop, error] = std::from_chars(text.data() + plus, end, value);
  if (error == std::errc() && stop == end && value >= least && value <= greatest) return value;
  WrongUsage("--" + name + " is \"" + text + "\"; give a " + (std::is_integral_v<T> ? "whole " : "") + "number from " +
             Text(least) + " to " + Text(greatest));
}

// A file's name, which may not be empty.
std::string Path(const std::string& name, const std::string& text) {
  if (text.empty()) WrongUsage(name + " is empty (\"\"); give the name of a file");
  return text;
}

std::string FlagOf(const OptionRow& row) {
  std::string flag = row.name;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

const ResultFormat* FormatOf(const std::string& name) {
  const auto format = FindResultFormat(name);
  if (!format) WrongUsage("--format: " + format.error().message);
  return *format;
}

constexpr int kWidth = 120;
constexpr int kIndent = 27;

// The usage of the options of fields.h, wrapped.
std::string StreamUsage() {
  std::string usage;
  for (const OptionRow& row : kOptionRows) {
    if (*row.flag == 0) continue;
    std::string help = row.help;
    if (row.kind != OptionKind::kFile) help += " Default: " + Text(row.initial) + ".";
    std::string line = "      --" + FlagOf(row) + " " + row.flag + " ";
    line.resize(std::max<std::size_t>(line.size(), kIndent), ' ');
    std::size_t column = line.size();
    for (const std::string& word : Words(help)) {
      if (column + word.size() > kWidth) {
        line.back() = '\n';
        line += std::string(kIndent, ' ');
        column = kIndent;
      }
      line += word + " ";
      column += word.size() + 1;
    }
    line.back() = '\n';
    usage += line;
  }
  return usage;
}

std::string Usage() {
  std::string usage = kUsage;
  return usage.replace(usage.find("%s"), 2, StreamUsage());
}

template <typename T>
void Set(const OptionRow& row, const char* text, Options*, T* field) {
  *field = Number(FlagOf(row), text, static_cast<T>(row.least), static_cast<T>(row.greatest));
}

void Set(const OptionRow& row, const char* text, Options* options, std::shared_ptr<const Grammar>*) {
  options->grammar = Path("--" + FlagOf(row), text);  // read once the model's phones are known
}

void Set(const OptionRow&, const char*, Options*, bool*) {}  // no switch is a flag

using Setter = void (*)(const OptionRow& row, const char* text, Options* options);

// How each of kOptionRows is taken from the command line.
constexpr Setter kSetters[] = {
#define TETRAPHONE_SETTER_OF(field) \
  [](const OptionRow& row, const char* text, Options* options) { Set(row, text, options, &options->stream.field); },
#define TETRAPHONE_SETTER(kind, name, ...) TETRAPHONE_SETTER_OF(decoder.name)
    TETRAPHONE_DECODER_OPTIONS(TETRAPHONE_SETTER)
#undef TETRAPHONE_SETTER
#define TETRAPHONE_SETTER(kind, name, ...) TETRAPHONE_SETTER_OF(name)
    TETRAPHONE_OTHER_OPTIONS(TETRAPHONE_SETTER)
#undef TETRAPHONE_SETTER
#undef TETRAPHONE_SETTER_OF
};

Options Parse(int count, char** arguments) {
  enum { kJsonFlag = 256, kRaw, kChannel, kMicrophone, kVersion, kStream };
  std::vector<option> flags = {{"model", required_argument, nullptr, 'm'},
                               {"format", required_argument, nullptr, 'f'},
                               {"json", no_argument, nullptr, kJsonFlag},
                               {"raw", required_argument, nullptr, kRaw},
                               {"channel", required_argument, nullptr, kChannel},
                               {"microphone", no_argument, nullptr, kMicrophone},
                               {"help", no_argument, nullptr, 'h'},
                               {"version", no_argument, nullptr, kVersion}};
  std::list<std::string> names;
  for (const OptionRow& row : kOptionRows) {
    if (*row.flag == 0) continue;
    names.push_back(FlagOf(row));
    flags.push_back({names.back().c_str(), required_argument, nullptr, kStream + static_cast<int>(&row - kOptionRows)});
  }
  flags.push_back({});
  Options options;
  if (const char* model = std::getenv("TETRAPHONE_MODEL")) options.model = model;
  for (int key; (key = getopt_long(count, arguments, "m:f:h", flags.data(), nullptr)) != -1;) {
    switch (key) {
      case 'm':
        options.model = Path("--model", optarg);
        break;
      case 'f':
        options.format = FormatOf(optarg);
        break;
      case kJsonFlag:
        options.format = FormatOf("json");
        break;
      case kRaw:
        options.raw_rate = Number("raw", optarg, kLeastRate, kMostRate);
        break;
      case kChannel:
        options.channel = Number("channel", optarg, 0, kMostChannels - 1);
        break;
      case kMicrophone:
        options.microphone = true;
        break;
      case 'h':
        PrintAndExit(Usage());
      case kVersion:
        PrintAndExit("tetraphone-recognize " TETRAPHONE_VERSION "\n");
      default:
        if (key >= kStream) {
          kSetters[key - kStream](kOptionRows[key - kStream], optarg, &options);
          break;
        }
        std::exit((std::fputs("--help shows the usage\n", stderr), 2));
    }
  }
  for (int i = optind; i < count; ++i) options.recordings.push_back(Path("the name of a recording", arguments[i]));
  const int sources = !options.recordings.empty() + (options.raw_rate != 0) + options.microphone;
  if (sources != 1) WrongUsage("give recordings, or --raw, or --microphone");
  if (options.microphone && options.channel > 0) WrongUsage("the microphone has channel 0 alone");
  if (!options.format->joins && options.recordings.size() > 1) {
    WrongUsage("this format holds one recording; give them one by one");
  }
  if (options.model.empty()) WrongUsage("no model; give --model FILE or set TETRAPHONE_MODEL");
  return options;
}

// Whether phones are printed as they come.
bool PrintsAtOnce(const Options& options) { return options.format == ResultFormatAt(0); }

Recognition Empty(const std::string& name) { return {name, 0, {{"phones", {}}}}; }

// Phones that are final by now: printed at once as text, else kept for the end.
Failure Keep(const Options& options, const std::vector<Phone>& phones, Recognition* recognition) {
  std::vector<Interval>& kept = recognition->tiers.front().intervals;
  for (const Phone& phone : phones) kept.push_back({phone.symbol, phone.start, phone.end, phone.confidence});
  if (!PrintsAtOnce(options)) return std::nullopt;
  std::string lines;
  for (const Interval& phone : kept) lines += TextLine(phone);
  kept.clear();
  return Print(lines);
}

Failure Take(const Options& options, Stream* stream, Recognition* recognition) {
  const auto phones = stream->Poll();
  return phones ? Keep(options, *phones, recognition) : phones.error();
}

Failure Finish(const Options& options, Stream* stream, Recognition* recognition) {
  if (Failure failure = stream->Finish()) return failure;
  if (Failure failure = Take(options, stream, recognition)) return failure;
  if (PrintsAtOnce(options)) return std::nullopt;
  recognition->duration = stream->Seconds();
  const bool first = options.recordings.empty() || recognition->name == options.recordings.front();
  const Result<std::string> text = FormatResult(*recognition, *options.format, "arpabet", first);
  return text ? Print(*text) : text.error();
}

Failure Recognize(const Options& options, Stream* stream, const std::string& name) {
  auto bytes = OpenBytes(name);
  if (!bytes) return bytes.error();
  const bool raw = options.raw_rate != 0;
  auto reader =
      raw ? SampleReader::Raw(std::move(*bytes), name, options.raw_rate, options.channel)
          : SampleReader::Wav(std::move(*bytes), name, options.channel);
  if (!reader) return reader.error();
  if (PrintsAtOnce(options) && options.recordings.size() > 1) {
    if (Failure failure = Print("recording: " + name + "\n")) return failure;
  }
  Recognition recognition = Empty(name);
  float samples[kPiece];
  while (true) {
    const auto read = reader->Read(samples, kPiece);
    if (!read) return read.error();
    if (*read == 0) break;
    if (Failure failure = stream->Accept(samples, *read, reader->rate())) return failure;
    if (Failure failure = Take(options, stream, &recognition)) return failure;
  }
  for (const std::string& problem : {reader->fault(), reader->levels()}) {
    if (problem.empty()) continue;
    Say(problem);
    recognition.problems.push_back(problem);
  }
  return Finish(options, stream, &recognition);
}

Failure Listen(const Options& options, Stream* stream, int rate) {
  auto capture = Capture::Start(rate);
  if (!capture) return capture.error();
  (void)WriteBytes(STDERR_FILENO, "listening; Ctrl-C ends\n");
  Recognition recognition = Empty("microphone");
  LiveLine line(STDERR_FILENO);
  std::vector<std::string> symbols;
  float samples[kPiece];
  while (true) {
    const auto read = capture->Read(samples, kPiece);
    if (!read) return read.error();
    if (*read == 0) break;
    if (Failure failure = stream->Accept(samples, *read, rate)) return failure;
    auto phones = stream->Poll();
    auto open = stream->Provisional();
    if (!phones || !open) return phones ? open.error() : phones.error();
    if (!phones->empty() && PrintsAtOnce(options)) line.Clear();
    if (Failure failure = Keep(options, *phones, &recognition)) return failure;
    if (stream->Paused() || symbols.size() > kMostShown) symbols.clear();
    for (const Phone& phone : *phones) symbols.push_back(phone.symbol);
    std::vector<std::string> shown = symbols;
    for (const Phone& phone : *open) shown.push_back(phone.symbol);
    line.Show(Level(samples, *read), shown);
  }
  line.Clear();
  return Finish(options, stream, &recognition);
}

int Run(Options options) {
  auto recognizer = Recognizer::Load(options.model);
  if (!recognizer) return Fail(recognizer.error().message);
  if (!options.grammar.empty()) {
    auto grammar = ReadGrammar(options.grammar, recognizer->info().phones);
    if (!grammar) return Fail(grammar.error().message);
    options.stream.decoder.grammar = *grammar;
  }
  auto stream = recognizer->NewStream(options.stream);
  if (!stream) return Fail(stream.error().message);
  if (options.microphone) {
    const Failure failure = Listen(options, stream->get(), recognizer->info().features.sample_rate);
    return failure ? Fail(failure->message) : 0;
  }
  if (options.raw_rate != 0) options.recordings = {"-"};
  int status = 0;
  for (const std::string& name : options.recordings) {  // one that cannot be read does not keep the others from it
    (void)(*stream)->Reset();
    if (const Failure failure = Recognize(options, stream->get(), name)) status = Fail(failure->message);
  }
  return status;
}

}  // namespace

int main(int count, char** arguments) {
  std::setlocale(LC_CTYPE, "");
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of writing, told in a sentence
  std::signal(SIGPIPE, SIG_DFL);  // a reader that left ends the process quietly, also where a parent ignores the signal
  try {
    return Run(Parse(count, arguments));
  } catch (const std::bad_alloc&) {
    return Fail("out of memory");
  }
}
