// A pronouncing dictionary in a quarter of a megabyte, and a guess for the words that it lacks.
//
// Spelling says most of a pronunciation. So a tree (context_tree.h) says how likely each letter's sound is where it
// stands, and the dictionary holds, by entropy coding (asymmetric numeral systems: Duda, arXiv 1311.2540), what that
// tree leaves open. The tree alone guesses the sounds of other words. Made by `tetraphone corpus lexicon`.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../common/result.h"
#include "context_tree.h"

namespace tetraphone {

class Lexicon {
 public:
  // Fails on content that is no lexicon, of another version, or damaged; `name` is for errors.
  static Result<Lexicon> Read(std::vector<std::uint8_t> content, const std::string& name);
  static Result<Lexicon> Load(const std::string& path);

  // The pronunciations of a word in small letters (' or U+2019 in "don't"), the usual one first, as phones with stress
  // between blanks ("W AO1 T ER0"); none where the lexicon lacks the word.
  std::vector<std::string> Find(std::string_view word) const;

  // What the spelling of a word says, in the same form; empty where a letter is unknown or nothing would be heard.
  std::string Guess(std::string_view word) const;

  std::size_t words() const { return words_; }
  std::size_t HeapBytes() const;

 private:
  using Place = std::uint16_t;             // of a letter in letters_, from 1; 0: none
  using Spelling = std::vector<Place>;
  using Sounds = std::vector<std::uint16_t>;  // one for each letter, in sounds_

  // Phones that a letter may stand for, none or several.
  struct Sound {
    std::string phones;
    std::uint16_t vowels = 0;
    std::uint16_t stress = 0;  // the greatest of its vowels': 0 no vowel, 1 none, 2 secondary, 3 primary
  };
  struct Coded;    // symbols of a block
  struct Entries;  // of a block, one after another

  Lexicon() = default;
  bool ReadTables(Bytes* bytes);

  Spelling Spell(std::string_view word) const;
  std::vector<std::uint16_t> SoundContext(const Spelling& word, const Sounds& sounds, bool other) const;
  std::string Spoken(const Sounds& sounds) const;

  std::vector<std::uint8_t> content_;
  std::string letters_;  // in order
  std::array<Place, 256> places_{};
  std::vector<bool> vowel_letters_;  // by place
  std::vector<Sound> sounds_;
  std::vector<ContextTree> trees_;
  std::size_t words_ = 0;
  std::size_t words_a_block_ = 1;
  std::vector<Bytes> blocks_;
};

}  // namespace tetraphone
