#include "options.h"

#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <list>
#include <memory>
#include <type_traits>

#include "../common/limits.h"
#include "../common/words.h"
#include "../decoder/grammar.h"
#include "../recordings/bytes.h"
#include "../results/alphabet.h"
#include "models.h"

namespace tetraphone {
namespace {

constexpr char kUsage[] =
    R"(Usage: tetraphone-recognize [OPTIONS] RECORDING...
       tetraphone-recognize [OPTIONS] --raw RATE < SAMPLES
       tetraphone-recognize [OPTIONS] --microphone

Prints the phones of each recording with start and end in seconds and confidence from 0 to 1.
A RECORDING is a WAV file of any rate and kind, or a folder: all files below it whose names end in .wav. - is standard
input.

)";

constexpr char kStatus[] = R"(
Exit status: 0; 1 with a sentence on standard error for each recording that failed, or for what else is wrong; 2 for a
wrong usage.
)";

constexpr int kWidth = 120;
constexpr std::size_t kIndent = 27;

[[noreturn]] void PrintAndExit(const std::string& text) {
  const Failure failure = WriteBytes(STDOUT_FILENO, text);
  std::exit(failure ? Fail(failure->message) : 0);
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

// The name of a file or a folder, which may not be empty.
std::string Path(const std::string& name, const std::string& text, const char* kind = "file") {
  if (text.empty()) WrongUsage(name + " is empty (\"\"); give the name of a " + kind);
  return text;
}

const ResultFormat* FormatOf(const std::string& name) {
  const auto format = FindResultFormat(name);
  if (!format) WrongUsage("--format: " + format.error().message);
  return *format;
}

// --- how each option is taken

void Take_model(const char* text, CommandOptions* options) { options->model = Path("--model", text); }
void Take_output(const char* text, CommandOptions* options) { options->output = Path("--output", text, "folder"); }
void Take_overwrite(const char*, CommandOptions* options) { options->overwrite = true; }
void Take_format(const char* text, CommandOptions* options) { options->format = FormatOf(text); }
void Take_json(const char*, CommandOptions* options) { options->format = FormatOf("json"); }
void Take_alphabet(const char* text, CommandOptions* options) {
  if (const Failure failure = CheckAlphabet(text)) WrongUsage("--alphabet: " + failure->message);
  options->alphabet = text;
}
void Take_channel(const char* text, CommandOptions* options) {
  options->channel = Number("channel", text, 0, kMostChannels - 1);
}
void Take_microphone(const char*, CommandOptions* options) { options->microphone = true; }
void Take_quiet(const char*, CommandOptions* options) { options->quiet = true; }
void Take_raw(const char* text, CommandOptions* options) { options->raw = Number("raw", text, kLeastRate, kMostRate); }
void Take_help(const char*, CommandOptions*);
void Take_version(const char*, CommandOptions*) { PrintAndExit("tetraphone-recognize " TETRAPHONE_VERSION "\n"); }

template <typename T>
void Set(const OptionRow& row, const std::string& name, const char* text, CommandOptions*, T* field) {
  *field = Number(name, text, static_cast<T>(row.least), static_cast<T>(row.greatest));
}
void Set(const OptionRow&, const std::string& name, const char* text, CommandOptions* options,
         std::shared_ptr<const Grammar>*) {
  options->grammar = Path("--" + name, text);  // read once the model's phones are known
}
void Set(const OptionRow&, const std::string&, const char*, CommandOptions*, bool*) {}  // no switch is a flag

std::string FlagOf(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

using StreamSetter = void (*)(const OptionRow& row, const char* text, CommandOptions* options);

// Of each of kOptionRows.
constexpr StreamSetter kStreamSetters[] = {
#define TETRAPHONE_SETTER_OF(field)                                     \
  [](const OptionRow& row, const char* text, CommandOptions* options) { \
    Set(row, FlagOf(row.name), text, options, &options->stream.field);  \
  },
#define TETRAPHONE_SETTER(kind, name, ...) TETRAPHONE_SETTER_OF(decoder.name)
    TETRAPHONE_DECODER_OPTIONS(TETRAPHONE_SETTER)
#undef TETRAPHONE_SETTER
#define TETRAPHONE_SETTER(kind, name, ...) TETRAPHONE_SETTER_OF(name)
        TETRAPHONE_OTHER_OPTIONS(TETRAPHONE_SETTER)
#undef TETRAPHONE_SETTER
#undef TETRAPHONE_SETTER_OF
};

struct Row {
  const char* name;
  const char* flag;  // what the usage calls its value; empty: it has none
  const char* help;
  void (*take)(const char* text, CommandOptions* options);
};

constexpr Row kRows[] = {
#define TETRAPHONE_ROW(kind, name, flag, help) {#name, flag, help, Take_##name},
    TETRAPHONE_COMMAND_OPTIONS(TETRAPHONE_ROW)
#undef TETRAPHONE_ROW
        {"raw", "RATE", "Standard input is 16-bit little-endian samples of one channel at RATE Hz.", Take_raw},
    {"help", "", "This text.", Take_help},
    {"version", "", "The version.", Take_version},
};

constexpr std::pair<char, const char*> kLetters[] = {
    {'m', "model"}, {'o', "output"}, {'f', "format"}, {'q', "quiet"}, {'h', "help"}};

char LetterOf(const std::string& name) {
  for (const auto& [letter, long_name] : kLetters) {
    if (name == long_name) return letter;
  }
  return 0;
}

// `head`, then `help` from column kIndent on, wrapped.
std::string Wrapped(const std::string& head, const std::string& help) {
  std::string line = head + " ";
  line.resize(std::max(line.size(), kIndent), ' ');
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
  return line;
}

std::string OptionHead(const std::string& name, const std::string& flag) {
  const char letter = LetterOf(name);
  return (letter == 0 ? "      --" : std::string("  -") + letter + ", --") + FlagOf(name) + (flag.empty() ? "" : " ") +
         flag;
}

std::string Usage() {
  std::string usage = kUsage;
  for (const Row& row : kRows) usage += Wrapped(OptionHead(row.name, row.flag), row.help);
  usage += "\nDecoding:\n";
  for (const OptionRow& row : kOptionRows) {
    if (*row.flag == 0) continue;
    const std::string initial = row.kind == OptionKind::kFile ? "" : " Default: " + Text(row.initial) + ".";
    usage += Wrapped(OptionHead(row.name, row.flag), row.help + initial);
  }
  usage += "\nFormats:\n";
  for (std::size_t i = 0; const ResultFormat* format = ResultFormatAt(i); ++i) {
    usage += Wrapped(std::string("  ") + format->name, format->help);
  }
  return usage + kStatus;
}

void Take_help(const char*, CommandOptions*) { PrintAndExit(Usage()); }

}  // namespace

void Say(const std::string& message) { (void)WriteBytes(STDERR_FILENO, "tetraphone-recognize: " + message + "\n"); }

int Fail(const std::string& message) {
  Say(message);
  return kFailed;
}

void WrongUsage(const std::string& what) {
  Say(what + "; --help shows the usage");
  std::exit(kWrongUsage);
}

CommandOptions Parse(int count, char** arguments) {
  constexpr int kFirst = 256;  // of the options' numbers
  std::list<std::string> names;
  std::vector<option> flags;
  const auto add = [&](const char* name, bool has_value) {
    names.push_back(FlagOf(name));
    const int number = kFirst + static_cast<int>(flags.size());
    flags.push_back({names.back().c_str(), has_value ? required_argument : no_argument, nullptr, number});
  };
  for (const Row& row : kRows) add(row.name, *row.flag != 0);
  std::vector<const OptionRow*> decoding;
  for (const OptionRow& row : kOptionRows) {
    if (*row.flag == 0) continue;
    add(row.name, true);
    decoding.push_back(&row);
  }
  flags.push_back({});
  std::string letters;
  const auto index_of = [&](const std::string& name) {
    const auto named = [&](const Row& row) { return name == row.name; };
    return static_cast<std::size_t>(std::find_if(std::begin(kRows), std::end(kRows), named) - std::begin(kRows));
  };
  for (const auto& [letter, name] : kLetters) {
    letters += letter;
    if (*kRows[index_of(name)].flag != 0) letters += ':';
  }
  CommandOptions options;
  options.alphabet = AlphabetAt(0);
  for (int key; (key = getopt_long(count, arguments, letters.c_str(), flags.data(), nullptr)) != -1;) {
    std::size_t index = static_cast<std::size_t>(key - kFirst);
    for (const auto& [letter, name] : kLetters) {
      if (key == letter) index = index_of(name);
    }
    if (key == '?') std::exit((std::fputs("--help shows the usage\n", stderr), kWrongUsage));
    if (index < std::size(kRows)) {
      kRows[index].take(optarg, &options);
    } else {
      const OptionRow& row = *decoding[index - std::size(kRows)];
      kStreamSetters[&row - kOptionRows](row, optarg, &options);
    }
  }
  for (int i = optind; i < count; ++i) options.recordings.push_back(Path("the name of a recording", arguments[i]));
  const int sources = !options.recordings.empty() + (options.raw != 0) + options.microphone;
  if (sources != 1) WrongUsage("give recordings, or --raw, or --microphone");
  if (options.microphone && options.channel > 0) WrongUsage("the microphone has channel 0 alone");
  if (options.overwrite && options.output.empty()) WrongUsage("--overwrite is for --output; give a folder");
  const bool pipe = std::find(options.recordings.begin(), options.recordings.end(), "-") != options.recordings.end();
  if (!options.output.empty() && (options.recordings.empty() || pipe)) {
    WrongUsage("--output names results after recordings; give files or folders");
  }
  StreamOptions together = options.stream;
  if (!options.grammar.empty()) together.decoder.grammar = std::make_shared<const Grammar>();
  if (const Failure failure = CheckOptions(together)) WrongUsage(failure->message);
  const Result<std::string> model = FindModel(options.model);
  if (!model) WrongUsage(model.error().message);
  options.model = *model;
  return options;
}

}  // namespace tetraphone
