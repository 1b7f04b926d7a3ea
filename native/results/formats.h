// What was recognised in a recording, as other programs read it: the one writer of results, for both commands, Python,
// Kotlin and the page. README.md says what each format does with gaps, overlaps and intervals without length.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "../common/result.h"

namespace tetraphone {

constexpr double kNoConfidence = -1;

struct Interval {
  std::string label;  // UTF-8
  double start;       // seconds
  double end;
  double confidence;  // the chance that it is right, 0 to 1; kNoConfidence: nothing is said of it
};

struct Tier {
  std::string name;  // a plural: "phones". Of the tier of that name the alphabet is chosen
  std::vector<Interval> intervals;
};

struct Recognition {
  std::string name;                        // the recording's, as the system has it; for `eaf`, from the file's folder
  double duration;                         // seconds
  // Formats of one tier take the first. Of tiers "words" and "phones", one behind the other, JSON has the phones within
  // the words that hold them.
  std::vector<Tier> tiers;
  std::vector<std::string> problems = {};  // why this is not all of the recording
};

struct ResultFormat {
  const char* name;    // of --format
  const char* suffix;  // of a file of it; no two formats have the same
  bool joins;          // whether results of several recordings make one file, one behind another
  const char* help;
  // `first`: whether nothing is before it in the file.
  std::string (*write)(const Recognition& recognition, bool first);
};

// The index-th; null behind the last.
const ResultFormat* ResultFormatAt(std::size_t index);
Result<const ResultFormat*> FindResultFormat(const std::string& name);

// Refuses times that are not numbers from 0 to kMostSeconds, or not in order.
Result<std::string> FormatResult(const Recognition& recognition, const ResultFormat& format,
                                 const std::string& alphabet = "arpabet", bool first = true);

// "    0.12     0.31  AA  0.97\n": start, end, label, confidence if there is one.
std::string TextLine(const Interval& interval);

}  // namespace tetraphone
