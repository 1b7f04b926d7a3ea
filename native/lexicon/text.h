// A text's words, as a dictionary may have them.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../common/result.h"

namespace tetraphone {

// Quoted, with what would break a line shown as '?', and cut if it is long: for errors.
std::string Shown(std::string_view text);

// In capital letters: ASCII's, Latin-1's, Greek and Cyrillic ones.
std::string UpperCase(std::string_view text);

// Without the accents of Latin-1's capital letters: "NAIVE" of "NAÏVE".
std::string WithoutAccents(std::string_view text);

bool IsUtf8(std::string_view text);

// The words of a text in UTF-8, in capital letters. They are parted by white space and punctuation; hyphens within a
// word stay, and apostrophes, which belong to a word or quote it, each as ASCII's. Fails on what is read aloud but not
// written as words (digits, "%"), on characters that are not read, and where no word is left.
Result<std::vector<std::string>> SplitText(std::string_view text);

}  // namespace tetraphone
