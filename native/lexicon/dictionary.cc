#include "dictionary.h"

#include <algorithm>
#include <utility>

#include "../common/heap_bytes.h"
#include "../common/words.h"
#include "../system/lines.h"
#include "text.h"

namespace tetraphone {
namespace {

// The file is not trusted: these bound its memory, with its size.
constexpr std::size_t kLongestLine = 1000;
constexpr std::size_t kMostPronunciations = 16;  // of a word
constexpr std::size_t kMostListed = 100;         // phones

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "0.99" or "1": a probability that MFA writes.
bool IsProbability(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const bool fraction = point == text.size() || point + 1 == text.size() || IsDigits(text.substr(point + 1));
  return fraction && IsDigits(text.substr(0, point));
}

// Without the "(2)" of another pronunciation.
std::string_view Bare(std::string_view word) {
  const std::size_t open = word.rfind('(');
  const bool numbered = open != std::string_view::npos && open > 0 && word.back() == ')' &&
                        IsDigits(word.substr(open + 1, word.size() - open - 2));
  return numbered ? word.substr(0, open) : word;
}

}  // namespace

PhoneNames::PhoneNames(const std::vector<std::string>& phones) {
  for (std::size_t i = 0; i < phones.size(); ++i) {
    indices_.emplace(phones[i], static_cast<int>(i));
    if (i < kMostListed) known_ += " " + phones[i];
  }
  if (phones.size() > kMostListed) known_ += " …";
}

int PhoneNames::Find(std::string_view name) const {
  std::string form(name);
  for (const bool upper : {false, true}) {
    if (upper) form = UpperCase(name);
    for (const bool bare : {false, true}) {
      if (bare && (form.size() < 2 || form.back() < '0' || form.back() > '2')) continue;
      if (bare) form.pop_back();
      const auto found = indices_.find(form);
      if (found != indices_.end()) return found->second;
    }
  }
  return -1;
}

Error PhoneNames::Lacking(const std::string& name) const {
  return {ErrorCode::kInvalidArgument, "the model has no phone " + Shown(name) + "; it has" + known_};
}

Result<PhoneSequence> PhoneNames::Read(std::string_view names) const {
  PhoneSequence sequence;
  for (const std::string& name : Words(std::string(names))) {
    sequence.push_back(Find(name));
    if (sequence.back() < 0) return Lacking(name);
  }
  return sequence;
}

Result<Dictionary> Dictionary::Read(const std::string& path, const PhoneNames& phones) {
  Dictionary dictionary;
  std::size_t number = 0;
  const auto fault = [&](const std::string& what) {
    return Error{ErrorCode::kInvalidArgument, path + ", line " + std::to_string(number) + ": " + what};
  };
  const auto take = [&](std::string line, bool cut) -> Failure {
    ++number;
    if (cut) {
      return fault("longer than " + std::to_string(kLongestLine) + " characters; write a word and its phones a line");
    }
    if (line.rfind(";;;", 0) == 0) return std::nullopt;
    if (!IsUtf8(line)) return fault("not in UTF-8; save the dictionary in UTF-8");
    const std::vector<std::string> fields = Words(line.substr(0, line.find(" #")));
    if (fields.empty()) return std::nullopt;
    const std::string shown = Shown(fields[0]);
    std::size_t first = 1;
    while (first < fields.size() && phones.Find(fields[first]) < 0 && IsProbability(fields[first])) ++first;
    PhoneSequence sequence;
    for (std::size_t i = first; i < fields.size(); ++i) {
      sequence.push_back(phones.Find(fields[i]));
      if (sequence.back() < 0) return fault(shown + ": " + phones.Lacking(fields[i]).message);
    }
    if (sequence.empty()) return fault(shown + " has no phones; give it some");
    std::vector<PhoneSequence>& known = dictionary.words_[UpperCase(Bare(fields[0]))];
    if (std::find(known.begin(), known.end(), sequence) != known.end()) return std::nullopt;
    if (known.size() == kMostPronunciations) {
      return fault(shown + " has more than " + std::to_string(kMostPronunciations) +
                   " pronunciations; leave the rarest out");
    }
    known.push_back(std::move(sequence));
    return std::nullopt;
  };
  const Error unreadable{ErrorCode::kUnreadable,
                         "cannot read the dictionary " + path + "; give a plain file that you may read"};
  if (Failure failure = EachLine(path, kLongestLine, unreadable, take)) return *failure;
  if (dictionary.words_.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "the dictionary " + path + " holds no word; write a word and its phones a line"};
  }
  return dictionary;
}

const std::vector<PhoneSequence>* Dictionary::Find(const std::string& word) const {
  const auto found = words_.find(word);
  return found == words_.end() ? nullptr : &found->second;
}

std::size_t Dictionary::heap_bytes() const {
  std::size_t bytes = words_.bucket_count() * sizeof(void*);
  for (const auto& [word, pronunciations] : words_) {
    bytes += sizeof word + sizeof pronunciations + 2 * sizeof(void*) + NestedHeapBytes(pronunciations);
  }
  return bytes;
}

}  // namespace tetraphone
