// Phones in another alphabet than the model's.

#pragma once

#include <cstddef>
#include <string>

#include "../common/result.h"

namespace tetraphone {

// The ARPABET of the CMU dictionary, without stress, and the International Phonetic Alphabet's symbol for General
// American. AH stands for the strut and the schwa, ER with and without stress: they are written as if stressed.
struct PhoneRow {
  const char* arpabet;
  const char* ipa;
};

// The index-th; null behind the last.
const PhoneRow* PhoneAt(std::size_t index);

// "arpabet": phones as the model has them; "ipa". Null behind the last.
const char* AlphabetAt(std::size_t index);
Failure CheckAlphabet(const std::string& alphabet);

// The phone in that alphabet, which must be one. A phone that is not in the table is an error for "ipa".
Result<std::string> PhoneIn(const std::string& alphabet, const std::string& phone);

}  // namespace tetraphone
