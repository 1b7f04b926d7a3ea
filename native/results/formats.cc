#include "formats.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>

#include "alphabet.h"
#include "decimal.h"
#include "escape.h"

namespace tetraphone {
namespace {

constexpr std::int64_t kMilli = kSecond / 1000;  // microseconds

std::string Seconds(double seconds) { return Shortest(Micros(seconds), kTimeDigits); }
std::string FixedSeconds(double seconds) { return Fixed(Micros(seconds), kTimeDigits); }
std::int64_t ScaledConfidence(double confidence) { return Scaled(confidence, 10000); }
// Behind `before`, where there is one.
std::string Confidence(const std::string& before, double confidence) {
  return confidence < 0 ? "" : before + Shortest(ScaledConfidence(confidence), kConfidenceDigits);
}

std::string Right(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

const std::vector<Interval>& FirstTier(const Recognition& recognition) {
  static const auto* const none = new std::vector<Interval>;
  return recognition.tiers.empty() ? *none : recognition.tiers.front().intervals;
}

// The recording's name as a file of results calls it: without folders and extension.
std::string Stem(const std::string& name) {
  const std::string base = name.substr(name.find_last_of("/\\") + 1);
  const std::size_t point = base.rfind('.');
  return point == std::string::npos || point == 0 ? base : base.substr(0, point);
}

// --- formats that list intervals as they are

std::string Text(const Recognition& recognition, bool) {
  std::string lines;
  for (const Interval& interval : FirstTier(recognition)) lines += TextLine(interval);
  return lines;
}

std::string JsonInterval(const std::string& label, const Interval& interval) {
  return label + ": " + JsonText(interval.label) + ", \"start\": " + Seconds(interval.start) + ", \"end\": " +
         Seconds(interval.end) + Confidence(", \"confidence\": ", interval.confidence);
}

// Each word with the phones that start before its end and belong to no word before it.
std::string JsonWords(const std::vector<Interval>& words, const std::vector<Interval>& phones) {
  std::string json = "[";
  auto phone = phones.begin();
  for (const Interval& word : words) {
    json += (json.back() == '}' ? ", {" : "{") + JsonInterval("\"text\"", word) + ", \"phones\": [";
    for (; phone != phones.end() && phone->start < word.end; ++phone) {
      json += (json.back() == '}' ? ", {" : "{") + JsonInterval("\"phone\"", *phone) + "}";
    }
    json += "]}";
  }
  return json + "]";
}

std::string Json(const Recognition& recognition, bool) {
  std::string json =
      "{\"recording\": " + JsonText(recognition.name) + ", \"duration\": " + Seconds(recognition.duration);
  const std::vector<Tier>& tiers = recognition.tiers;
  const bool nested = tiers.size() > 1 && tiers[0].name == "words" && tiers[1].name == "phones";
  if (nested) json += ", \"words\": " + JsonWords(tiers[0].intervals, tiers[1].intervals);
  for (std::size_t i = nested ? 2 : 0; i < tiers.size(); ++i) {
    json += ", " + JsonText(tiers[i].name) + ": [";
    const std::string label = JsonText(tiers[i].name.substr(0, tiers[i].name.size() - 1));  // of one
    for (const Interval& interval : tiers[i].intervals) {
      json += (json.back() == '}' ? ", {" : "{") + JsonInterval(label, interval) + "}";
    }
    json += "]";
  }
  json += ", \"problems\": [";
  for (const std::string& problem : recognition.problems) json += (json.back() == '"' ? ", " : "") + JsonText(problem);
  return json + "]}\n";
}

std::string Csv(const Recognition& recognition, bool first) {
  std::string lines = first ? "recording,tier,start,end,label,confidence\n" : "";
  const std::string name = CsvText(recognition.name);
  for (const Tier& tier : recognition.tiers) {
    for (const Interval& interval : tier.intervals) {
      lines += name + "," + CsvText(tier.name) + "," + FixedSeconds(interval.start) + "," + FixedSeconds(interval.end) +
               "," + CsvText(interval.label) + "," + Confidence("", interval.confidence) + "\n";
    }
  }
  return lines;
}

// NIST's time-marked conversation, of one channel, called 1 as Kaldi calls it.
std::string Ctm(const Recognition& recognition, bool) {
  std::string lines;
  const std::string name = CtmText(Stem(recognition.name));
  for (const Interval& interval : FirstTier(recognition)) {
    const std::int64_t start = Micros(interval.start);
    lines += name + " 1 " + Fixed(start, kTimeDigits) + " " + Fixed(Micros(interval.end) - start, kTimeDigits) + " " +
             CtmText(interval.label);
    if (interval.confidence >= 0) lines += " " + Fixed(ScaledConfidence(interval.confidence), kConfidenceDigits);
    lines += "\n";
  }
  return lines;
}

std::string Audacity(const Recognition& recognition, bool) {
  std::string labels;
  for (const Interval& interval : FirstTier(recognition)) {
    labels +=
        FixedSeconds(interval.start) + "\t" + FixedSeconds(interval.end) + "\t" + PlainText(interval.label) + "\n";
  }
  return labels;
}

// --- formats whose intervals neither overlap nor are empty

struct Placed {
  std::int64_t start;  // in the format's unit
  std::int64_t end;
  const std::string* label;
};

std::int64_t InUnits(double seconds, std::int64_t unit) { return (Micros(seconds) + unit / 2) / unit; }

// An interval begins, at the earliest, where the one before it ends; one that has no length then is left out.
std::vector<Placed> Place(const std::vector<Interval>& intervals, std::int64_t unit) {
  std::vector<Placed> placed;
  std::int64_t last = 0;
  for (const Interval& interval : intervals) {
    const std::int64_t start = std::max(InUnits(interval.start, unit), last), end = InUnits(interval.end, unit);
    if (end <= start) continue;
    placed.push_back({start, end, &interval.label});
    last = end;
  }
  return placed;
}

// Where the recording, and the last interval, end.
std::int64_t End(const Recognition& recognition) {
  std::int64_t end = std::max(Micros(recognition.duration), kMilli);
  for (const Tier& tier : recognition.tiers) {
    for (const Interval& interval : tier.intervals) end = std::max(end, Micros(interval.end));
  }
  return end;
}

std::string GridText(const std::string& text) {
  std::string doubled;
  for (const char c : PlainText(text)) doubled += c == '"' ? std::string("\"\"") : std::string(1, c);
  return '"' + doubled + '"';
}

// Praat's long text; gaps are intervals without text.
std::string TextGrid(const Recognition& recognition, bool) {
  const std::int64_t end = End(recognition);
  const std::string range = "xmin = 0.0\n", xmax = "xmax = " + Shortest(end, kTimeDigits) + "\n";
  std::string grid = "File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n" + range + xmax;
  grid += recognition.tiers.empty()
              ? "tiers? <absent>\n"
              : "tiers? <exists>\nsize = " + std::to_string(recognition.tiers.size()) + "\nitem []:\n";
  std::size_t number = 0;
  for (const Tier& tier : recognition.tiers) {
    std::string intervals;
    std::size_t count = 0;
    std::int64_t last = 0;
    const auto add = [&](std::int64_t to, const std::string& label) {
      if (to <= last) return;
      const std::string indent(12, ' ');
      intervals += "        intervals [" + std::to_string(++count) + "]:\n" + indent +
                   "xmin = " + Shortest(last, kTimeDigits) + "\n" + indent + "xmax = " + Shortest(to, kTimeDigits) +
                   "\n" + indent + "text = " + GridText(label) + "\n";
      last = to;
    };
    for (const Placed& placed : Place(tier.intervals, 1)) {
      add(placed.start, "");
      add(placed.end, *placed.label);
    }
    add(end, "");
    grid += "    item [" + std::to_string(++number) +
            "]:\n        class = \"IntervalTier\"\n        name = " + GridText(tier.name) + "\n        " + range +
            "        " + xmax + "        intervals: size = " + std::to_string(count) + "\n" + intervals;
  }
  return grid;
}

std::string SubtitleTime(std::int64_t milliseconds) {
  const auto two = [](std::int64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  std::string time = two(milliseconds / 3600000) + ":" + two(milliseconds / 60000 % 60) + ":";
  const std::string seconds = Fixed(milliseconds % 60000, 3);
  time += (seconds.size() < 6 ? "0" : "") + seconds;
  return time.replace(time.size() - 4, 1, ",");
}

std::string Srt(const Recognition& recognition, bool) {
  std::string cues;
  std::size_t number = 0;
  for (const Placed& placed : Place(FirstTier(recognition), kMilli)) {
    cues += std::to_string(++number) + "\n" + SubtitleTime(placed.start) + " --> " + SubtitleTime(placed.end) + "\n" +
            PlainText(*placed.label) + "\n\n";
  }
  return cues;
}

#if defined(_WIN32)
constexpr bool kBackslashes = true;  // between the folders of any path
#else
constexpr bool kBackslashes = false;
#endif

// Of ELAN's header: where the sound is, for a recording that is a file. A relative name is one from the .eaf's folder.
std::string MediaDescriptor(const std::string& name) {
  if (name.empty() || name == "-" || name == "microphone" || name == "samples") return "";
  const std::string stem = Stem(name), base = name.substr(name.find_last_of("/\\") + 1);
  const bool drive = name.size() > 2 && name[1] == ':' && (name[2] == '\\' || name[2] == '/');
  const bool share = name.rfind("\\\\", 0) == 0;
  std::string path = name;
  if (drive || share || kBackslashes) std::replace(path.begin(), path.end(), '\\', '/');
  std::string suffix = base.substr(stem.size());
  for (char& c : suffix) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  const bool absolute = drive || share || name[0] == '/';
  const std::string relative = (path.rfind("../", 0) == 0 ? "" : "./") + UrlPath(absolute ? base : path);
  const std::string url = drive   ? "file:///" + path.substr(0, 2) + UrlPath(path.substr(2))
                          : share ? "file:" + UrlPath(path)
                                  : absolute ? "file://" + UrlPath(path) : relative;
  return "        <MEDIA_DESCRIPTOR MEDIA_URL=\"" + url + "\" MIME_TYPE=\"" +
         (suffix == ".wav" ? "audio/x-wav" : "audio/*") + "\" RELATIVE_MEDIA_URL=\"" + relative + "\"/>\n";
}

// ELAN's annotations, format 3.0: milliseconds; gaps have none. The date, which the schema wants, is always the same,
// so that equal results are equal files.
std::string Eaf(const Recognition& recognition, bool) {
  std::vector<std::pair<std::int64_t, std::string>> slots;
  std::string tiers;
  std::size_t number = 0;
  for (const Tier& tier : recognition.tiers) {
    tiers += "    <TIER LINGUISTIC_TYPE_REF=\"default-lt\" TIER_ID=\"" + XmlText(tier.name) + "\">\n";
    for (const Placed& placed : Place(tier.intervals, kMilli)) {
      const std::string id = std::to_string(++number), from = "ts" + std::to_string(slots.size() + 1),
                        to = "ts" + std::to_string(slots.size() + 2);
      slots.emplace_back(placed.start, from);
      slots.emplace_back(placed.end, to);
      tiers += "        <ANNOTATION>\n            <ALIGNABLE_ANNOTATION ANNOTATION_ID=\"a" + id +
               "\" TIME_SLOT_REF1=\"" + from + "\" TIME_SLOT_REF2=\"" + to + "\">\n                <ANNOTATION_VALUE>" +
               XmlText(*placed.label) +
               "</ANNOTATION_VALUE>\n            </ALIGNABLE_ANNOTATION>\n        </ANNOTATION>\n";
    }
    tiers += "    </TIER>\n";
  }
  const auto earlier = [](const auto& one, const auto& other) { return one.first < other.first; };
  std::stable_sort(slots.begin(), slots.end(), earlier);
  std::string order;
  for (const auto& [time, id] : slots) {
    order += "        <TIME_SLOT TIME_SLOT_ID=\"" + id + "\" TIME_VALUE=\"" + std::to_string(time) + "\"/>\n";
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<ANNOTATION_DOCUMENT AUTHOR=\"\" DATE=\"2000-01-01T00:00:00+00:00\" FORMAT=\"3.0\" VERSION=\"3.0\" "
         "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
         "xsi:noNamespaceSchemaLocation=\"http://www.mpi.nl/tools/elan/EAFv3.0.xsd\">\n"
         "    <HEADER MEDIA_FILE=\"\" TIME_UNITS=\"milliseconds\">\n" +
         MediaDescriptor(recognition.name) + "        <PROPERTY NAME=\"lastUsedAnnotationId\">" +
         std::to_string(number) + "</PROPERTY>\n    </HEADER>\n    <TIME_ORDER>\n" + order + "    </TIME_ORDER>\n" +
         tiers +
         "    <LINGUISTIC_TYPE GRAPHIC_REFERENCES=\"false\" LINGUISTIC_TYPE_ID=\"default-lt\" "
         "TIME_ALIGNABLE=\"true\"/>\n"
         "</ANNOTATION_DOCUMENT>\n";
}

constexpr ResultFormat kFormats[] = {
    {"text", ".txt", true, "a line a phone: start, end, phone, confidence", Text},
    {"json", ".json", true, "an object a recording, on a line", Json},
    {"jsonl", ".jsonl", true, "the same, for a file of many recordings", Json},
    {"csv", ".csv", true, "a table with a header", Csv},
    {"ctm", ".ctm", true, "NIST's time-marked conversation, as sclite and Kaldi read it", Ctm},
    {"textgrid", ".TextGrid", false, "Praat's TextGrid", TextGrid},
    {"eaf", ".eaf", false, "ELAN's annotations", Eaf},
    {"audacity", ".labels.txt", false, "Audacity's labels", Audacity},
    {"srt", ".srt", false, "subtitles", Srt},
};

Failure Check(const Recognition& recognition) {
  const auto refusal = [](const std::string& what) { return Error{ErrorCode::kInvalidArgument, what}; };
  const auto is_time = [](double time) { return time >= 0 && time <= kMostSeconds; };
  if (!is_time(recognition.duration)) {
    return refusal("the duration of " + recognition.name + " is not a number of seconds from 0 to 1e9; give one");
  }
  for (const Tier& tier : recognition.tiers) {
    if (tier.name.empty()) return refusal("a tier without a name; give one, such as phones");
    double last = 0;
    for (const Interval& interval : tier.intervals) {
      const std::string which =
          "interval " + std::to_string(&interval - tier.intervals.data() + 1) + " of " + tier.name;
      if (!is_time(interval.start) || !is_time(interval.end) || interval.end < interval.start) {
        return refusal(which + " lacks a start and, not before it, an end from 0 to 1e9 seconds; give them");
      }
      const bool known = interval.confidence >= 0 && interval.confidence <= 1;
      if (!known && interval.confidence != kNoConfidence) {
        return refusal(which + " has a confidence that is not from 0 to 1; give one");
      }
      if (interval.start < last) return refusal(which + " starts before the one before it; give them in order");
      last = interval.start;
    }
  }
  return std::nullopt;
}

}  // namespace

const ResultFormat* ResultFormatAt(std::size_t index) {
  return index < std::size(kFormats) ? &kFormats[index] : nullptr;
}

Result<const ResultFormat*> FindResultFormat(const std::string& name) {
  std::string names;
  for (const ResultFormat& format : kFormats) {
    if (name == format.name) return &format;
    names += (names.empty() ? "" : &format == std::end(kFormats) - 1 ? " or " : ", ") + std::string(format.name);
  }
  return Error{ErrorCode::kInvalidArgument, "there is no format " + name + "; give " + names};
}

Result<std::string> FormatResult(const Recognition& recognition, const ResultFormat& format,
                                 const std::string& alphabet, bool first) {
  if (Failure failure = Check(recognition)) return *failure;
  if (Failure failure = CheckAlphabet(alphabet)) return *failure;
  if (alphabet == AlphabetAt(0)) return format.write(recognition, first);
  Recognition written = recognition;
  for (Tier& tier : written.tiers) {
    if (tier.name != "phones") continue;
    for (Interval& interval : tier.intervals) {
      Result<std::string> label = PhoneIn(alphabet, interval.label);
      if (!label) return label.error();
      interval.label = *label;
    }
  }
  return format.write(written, first);
}

std::string TextLine(const Interval& interval) {
  // As Python prints with two digits what was rounded before.
  const auto two = [](std::int64_t count, double scale) {
    return Fixed(Scaled(static_cast<double>(count) / scale, 100), 2);
  };
  const std::string line = Right(two(Micros(interval.start), kSecond), 8) + " " +
                           Right(two(Micros(interval.end), kSecond), 8) + "  " + interval.label;
  if (interval.confidence < 0) return line + "\n";
  return line + std::string(3 - std::min<std::size_t>(Columns(interval.label), 3), ' ') + " " +
         two(ScaledConfidence(interval.confidence), 10000) + "\n";
}

}  // namespace tetraphone
