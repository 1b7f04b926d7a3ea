// What the words of a text sound like: by a user's own dictionary, then a lexicon, then a guess by their spelling.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../common/result.h"
#include "dictionary.h"
#include "lexicon.h"

namespace tetraphone {

struct SpokenWord {
  std::string text;                           // in capital letters
  std::vector<PhoneSequence> pronunciations;  // the usual one first; at least one, none of them empty
  bool guessed = false;                       // by its spelling
};

class Vocabulary {
 public:
  // For a phone set. `lexicon` may be none; `dictionary` is a file's name (dictionary.h), empty: none.
  static Result<std::shared_ptr<const Vocabulary>> Make(const std::vector<std::string>& phones,
                                                        std::shared_ptr<const Lexicon> lexicon,
                                                        const std::string& dictionary);

  // The words of a text in UTF-8 (text.h), with all pronunciations that are known of them. Fails on a word that nothing
  // is known of.
  Result<std::vector<SpokenWord>> Read(std::string_view text) const;
  // Phones between blanks, as if they were words that are parted by "|".
  Result<std::vector<SpokenWord>> ReadPhones(std::string_view text) const;
  // Without the lexicon.
  std::size_t heap_bytes() const;

 private:
  explicit Vocabulary(const std::vector<std::string>& phones) : names_(phones) {}

  Result<std::vector<PhoneSequence>> Known(const std::string& word) const;
  Result<std::vector<SpokenWord>> Parts(const std::string& word) const;
  Result<SpokenWord> Spoken(const std::string& word) const;

  PhoneNames names_;
  std::optional<Dictionary> dictionary_;
  std::shared_ptr<const Lexicon> lexicon_;
};

}  // namespace tetraphone
