#include "vocabulary.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "../common/words.h"
#include "text.h"

namespace tetraphone {
namespace {

constexpr std::size_t kMostWords = std::size_t{1} << 20;

// As a lexicon has words.
std::string Small(std::string word) {
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return word;
}

// The word as it stands, and without the apostrophes behind, before and around it, if it has some.
std::vector<std::string> Forms(const std::string& word) {
  const std::size_t first = word.find_first_not_of('\''), end = word.find_last_not_of('\'') + 1;
  std::vector<std::string> forms{word};
  for (const std::string& form : {word.substr(0, end), word.substr(first), word.substr(first, end - first)}) {
    if (form != forms.back()) forms.push_back(form);
  }
  return forms;
}

Error Refusal(const std::string& what) { return {ErrorCode::kInvalidArgument, what}; }

Error TooMany() {
  return Refusal("the text has more than " + std::to_string(kMostWords) + " words; align it in parts");
}

}  // namespace

Result<std::shared_ptr<const Vocabulary>> Vocabulary::Make(const std::vector<std::string>& phones,
                                                           std::shared_ptr<const Lexicon> lexicon,
                                                           const std::string& dictionary) {
  std::shared_ptr<Vocabulary> vocabulary(new Vocabulary(phones));
  vocabulary->lexicon_ = std::move(lexicon);
  if (!dictionary.empty()) {
    Result<Dictionary> read = Dictionary::Read(dictionary, vocabulary->names_);
    if (!read) return read.error();
    vocabulary->dictionary_ = *std::move(read);
  }
  return std::shared_ptr<const Vocabulary>(std::move(vocabulary));
}

// None where neither has the word.
Result<std::vector<PhoneSequence>> Vocabulary::Known(const std::string& word) const {
  if (dictionary_) {
    if (const auto* found = dictionary_->Find(word)) return *found;
  }
  std::vector<PhoneSequence> pronunciations;
  if (lexicon_ == nullptr) return pronunciations;
  for (const std::string& spoken : lexicon_->Find(Small(word))) {
    Result<PhoneSequence> sequence = names_.Read(spoken);
    if (!sequence) return sequence.error();
    const bool known = std::find(pronunciations.begin(), pronunciations.end(), *sequence) != pronunciations.end();
    if (!known && !sequence->empty()) pronunciations.push_back(*std::move(sequence));
  }
  return pronunciations;
}

Result<SpokenWord> Vocabulary::Spoken(const std::string& word) const {
  const std::vector<std::string> forms = Forms(word);
  for (const bool accents : {true, false}) {
    for (const std::string& form : forms) {
      Result<std::vector<PhoneSequence>> known = Known(accents ? form : WithoutAccents(form));
      if (!known) return known.error();
      if (!known->empty()) return SpokenWord{form, *std::move(known), false};
    }
  }
  const std::string& bare = forms.back();
  const std::string lacks = "the dictionary lacks " + Shown(bare);
  if (lexicon_ == nullptr) return Refusal(lacks + "; add it with its phones");
  const std::string plain = WithoutAccents(bare), guess = lexicon_->Guess(Small(plain));
  if (guess.empty()) {
    return Refusal(lacks + ", and its spelling does not say how it sounds; write it in the letters A to Z, or give a "
                           "dictionary that has it");
  }
  if (plain.find_first_of("AEIOUY") == std::string::npos) {
    return Refusal(lacks + ", and it has no vowel; write it as it is said, or give a dictionary that has it");
  }
  Result<PhoneSequence> sequence = names_.Read(guess);
  if (!sequence) return sequence.error();
  return SpokenWord{bare, {*std::move(sequence)}, true};
}

// A word with hyphens that neither has is several.
Result<std::vector<SpokenWord>> Vocabulary::Parts(const std::string& word) const {
  std::vector<SpokenWord> parts;
  Result<std::vector<PhoneSequence>> known = Known(word);
  if (!known) return known.error();
  if (!known->empty()) return std::vector<SpokenWord>{{word, *std::move(known), false}};
  for (std::size_t first = 0; first < word.size();) {
    const std::size_t end = std::min(word.find('-', first), word.size());
    const std::string part = word.substr(first, end - first);
    first = end + 1;
    if (part.find_first_not_of('\'') == std::string::npos) continue;
    Result<SpokenWord> spoken = Spoken(part);
    if (!spoken) return spoken.error();
    parts.push_back(*std::move(spoken));
  }
  return parts;
}

Result<std::vector<SpokenWord>> Vocabulary::Read(std::string_view text) const {
  Result<std::vector<std::string>> words = SplitText(text);
  if (!words) return words.error();
  if (words->size() > kMostWords) return TooMany();
  std::vector<SpokenWord> spoken;
  std::unordered_map<std::string, std::vector<SpokenWord>> known;  // a look-up takes a while, and words come again
  for (const std::string& word : *words) {
    std::vector<SpokenWord>& parts = known[word];
    if (parts.empty()) {
      Result<std::vector<SpokenWord>> found = Parts(word);
      if (!found) return found.error();
      parts = *std::move(found);
    }
    spoken.insert(spoken.end(), parts.begin(), parts.end());
  }
  return spoken;
}

Result<std::vector<SpokenWord>> Vocabulary::ReadPhones(std::string_view text) const {
  std::vector<SpokenWord> spoken;
  for (std::size_t first = 0; first <= text.size();) {
    const std::size_t end = std::min(text.find('|', first), text.size());
    Result<PhoneSequence> sequence = names_.Read(text.substr(first, end - first));
    if (!sequence) return sequence.error();
    if (spoken.size() == kMostWords) return TooMany();
    SpokenWord word;
    for (const std::string& name : Words(std::string(text.substr(first, end - first)))) {
      word.text += (word.text.empty() ? "" : " ") + name;
    }
    word.pronunciations.push_back(*std::move(sequence));
    if (!word.text.empty()) spoken.push_back(std::move(word));
    first = end + 1;
  }
  if (spoken.empty()) return Refusal("there is no phone; give those that are said, between blanks");
  return spoken;
}

std::size_t Vocabulary::heap_bytes() const { return dictionary_ ? dictionary_->heap_bytes() : 0; }

}  // namespace tetraphone
