// The command line of tetraphone-recognize, and how the command speaks.

#pragma once

#include <string>
#include <vector>

#include "../recognizer/recognizer.h"
#include "../results/formats.h"

namespace tetraphone {

// Exit statuses.
constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// Of those in fields.h, and: `raw` is the rate of samples on standard input, 0 for none.
struct CommandOptions {
  std::string model;
  std::string output;  // a folder; empty: standard output
  std::string alphabet;
  std::string grammar;
  const ResultFormat* format = ResultFormatAt(0);
  int raw = 0;
  bool overwrite = false;
  bool microphone = false;
  bool quiet = false;
  StreamOptions stream;
  int channel = -1;  // which the readers of recordings take, not the stream
  std::vector<std::string> recordings;
};

// Ends the process where the usage is wrong, or a text was asked for.
CommandOptions Parse(int count, char** arguments);

void Say(const std::string& message);
// Says it; kFailed.
int Fail(const std::string& message);
[[noreturn]] void WrongUsage(const std::string& what);

}  // namespace tetraphone
