#include "alphabet.h"

#include <algorithm>
#include <iterator>

namespace tetraphone {
namespace {

constexpr PhoneRow kPhones[] = {
    {"AA", "ɑ"},  {"AE", "æ"},  {"AH", "ʌ"},  {"AO", "ɔ"}, {"AW", "aʊ"}, {"AY", "aɪ"}, {"B", "b"},  {"CH", "tʃ"},
    {"D", "d"},   {"DH", "ð"},  {"EH", "ɛ"},  {"ER", "ɝ"}, {"EY", "eɪ"}, {"F", "f"},   {"G", "ɡ"},  {"HH", "h"},
    {"IH", "ɪ"},  {"IY", "i"},  {"JH", "dʒ"}, {"K", "k"},  {"L", "l"},   {"M", "m"},   {"N", "n"},  {"NG", "ŋ"},
    {"OW", "oʊ"}, {"OY", "ɔɪ"}, {"P", "p"},   {"R", "ɹ"},  {"S", "s"},   {"SH", "ʃ"},  {"T", "t"},  {"TH", "θ"},
    {"UH", "ʊ"},  {"UW", "u"},  {"V", "v"},   {"W", "w"},  {"Y", "j"},   {"Z", "z"},   {"ZH", "ʒ"},
};

constexpr const char* kAlphabets[] = {"arpabet", "ipa"};

}  // namespace

const PhoneRow* PhoneAt(std::size_t index) { return index < std::size(kPhones) ? &kPhones[index] : nullptr; }

const char* AlphabetAt(std::size_t index) { return index < std::size(kAlphabets) ? kAlphabets[index] : nullptr; }

Failure CheckAlphabet(const std::string& alphabet) {
  if (std::find(std::begin(kAlphabets), std::end(kAlphabets), alphabet) != std::end(kAlphabets)) return std::nullopt;
  return Error{ErrorCode::kInvalidArgument, "there is no alphabet " + alphabet + "; give arpabet or ipa"};
}

Result<std::string> PhoneIn(const std::string& alphabet, const std::string& phone) {
  if (alphabet == kAlphabets[0]) return phone;
  for (const PhoneRow& row : kPhones) {
    if (phone == row.arpabet) return std::string(row.ipa);
  }
  return Error{ErrorCode::kInvalidArgument, "the phone " + phone + " is not in the ARPABET, so its IPA is not known; " +
                                                "take the alphabet arpabet, which leaves phones as the model has them"};
}

}  // namespace tetraphone
