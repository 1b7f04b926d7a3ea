#include "lexicon_c.h"

#include <memory>
#include <string>
#include <utility>

#include "../lexicon/lexicon.h"
#include "errors.h"
#include "handles.h"

namespace {

using tetraphone::CopyText;
using tetraphone::Error;
using tetraphone::ErrorCode;
using tetraphone::Fail;
using tetraphone::Handles;
using tetraphone::kNoHandle;
using tetraphone::kNoMemory;
using tetraphone::Lexicon;
using tetraphone::Lexicons;
using tetraphone::Result;
using tetraphone::With;

const Error kNoWord{ErrorCode::kInvalidArgument, "the word is null; give one"};

}  // namespace

Handles<const Lexicon>& tetraphone::Lexicons() {
  static auto* handles = new Handles<const Lexicon>;  // never destroyed: threads may outlive main
  return *handles;
}

TETRAPHONE_C_ABI uint64_t tetraphone_lexicon_load(const char* path) {
  if (path == nullptr) return Fail({ErrorCode::kInvalidArgument, "the lexicon's path is null; give one"}), 0;
  try {
    Result<Lexicon> lexicon = Lexicon::Load(path);
    if (!lexicon) return Fail(lexicon.error()), 0;
    return Lexicons().Add(std::make_shared<const Lexicon>(*std::move(lexicon)));
  } catch (const std::bad_alloc&) {
    return Fail(kNoMemory), 0;
  }
}

TETRAPHONE_C_ABI int tetraphone_lexicon_close(uint64_t lexicon) {
  return Lexicons().Remove(lexicon) == nullptr ? Fail(kNoHandle) : 0;
}

TETRAPHONE_C_ABI int64_t tetraphone_lexicon_words(uint64_t lexicon) {
  return With(Lexicons(), lexicon, [](const Lexicon& found) { return static_cast<std::int64_t>(found.words()); });
}

TETRAPHONE_C_ABI int64_t tetraphone_lexicon_find(uint64_t lexicon, const char* word, char* lines, size_t capacity) {
  return With(Lexicons(), lexicon, [=](const Lexicon& found) -> std::int64_t {
    if (word == nullptr) return Fail(kNoWord);
    std::string text;
    for (const std::string& spoken : found.Find(word)) text += (text.empty() ? "" : "\n") + spoken;
    return CopyText(text, lines, capacity);
  });
}

TETRAPHONE_C_ABI int64_t tetraphone_lexicon_guess(uint64_t lexicon, const char* word, char* line, size_t capacity) {
  return With(Lexicons(), lexicon, [=](const Lexicon& found) -> std::int64_t {
    return word == nullptr ? Fail(kNoWord) : CopyText(found.Guess(word), line, capacity);
  });
}
