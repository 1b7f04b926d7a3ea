// What the results of recognition depend on besides the recordings.

#pragma once

#include <string>

#include "../common/result.h"
#include "recognizer.h"

namespace tetraphone {

// One line of JSON: a number that changes with what a version makes of recordings, digests of the model's file and of
// the grammar's, if its name is not empty, the decoder's options, the channel and the alphabet. Results of equal
// settings are equal. Both commands keep it in a folder of results (README.md, "Folders of results").
constexpr char kSettingsFile[] = "tetraphone.json";
Result<std::string> SettingsText(const std::string& model, const std::string& grammar, const StreamOptions& options,
                                 const std::string& alphabet);

}  // namespace tetraphone
