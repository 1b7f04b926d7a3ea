// A user's own pronouncing dictionary, and the phones of a model by their names.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../common/result.h"

namespace tetraphone {

using PhoneSequence = std::vector<int>;

// A phone set, whose vowels may be asked for with the digit of their stress.
class PhoneNames {
 public:
  explicit PhoneNames(const std::vector<std::string>& phones);

  // The index; −1 where there is none. "AH0" is AH in a set without stress, "ah" is AH in one without small letters.
  int Find(std::string_view name) const;
  // Of a sequence between blanks; fails on a name that the set lacks.
  Result<PhoneSequence> Read(std::string_view names) const;
  // "the model has no phone 'X'; it has AA AE …"
  Error Lacking(const std::string& name) const;

 private:
  std::unordered_map<std::string, int> indices_;
  std::string known_;
};

// Lines "WORD PHONE PHONE …", as the CMU dictionary and MFA write them: another pronunciation is a line with the same
// word, or WORD(2); probabilities behind the word are passed over, as are comments, behind ";;;" at the start of a line
// or behind " #".
class Dictionary {
 public:
  static Result<Dictionary> Read(const std::string& path, const PhoneNames& phones);

  // The pronunciations of a word in capital letters (text.h), each once, in the file's order; nullptr: it is not there.
  const std::vector<PhoneSequence>* Find(const std::string& word) const;
  std::size_t heap_bytes() const;

 private:
  std::unordered_map<std::string, std::vector<PhoneSequence>> words_;
};

}  // namespace tetraphone
