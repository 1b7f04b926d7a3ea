#include "results_c.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../recognizer/recognizer.h"
#include "../recognizer/settings.h"
#include "../results/alphabet.h"
#include "../results/formats.h"
#include "handles.h"

using tetraphone::Checked;
using tetraphone::Failure;
using tetraphone::Recognition;
using tetraphone::Result;
using tetraphone::Tier;

TETRAPHONE_C_ABI int tetraphone_result_format_at(size_t index, tetraphone_result_format* format) {
  const tetraphone::ResultFormat* found = tetraphone::ResultFormatAt(index);
  if (found == nullptr) return 0;
  *format = {found->name, found->suffix, found->help, found->joins};
  return 1;
}

TETRAPHONE_C_ABI const char* tetraphone_alphabet_at(size_t index) { return tetraphone::AlphabetAt(index); }

TETRAPHONE_C_ABI int tetraphone_alphabet_phone_at(size_t index, const char** arpabet, const char** ipa) {
  const tetraphone::PhoneRow* row = tetraphone::PhoneAt(index);
  if (row == nullptr) return 0;
  *arpabet = row->arpabet;
  *ipa = row->ipa;
  return 1;
}

namespace {

// Copies the text that `make` gives; its length, or an error's code.
template <typename Make>
int64_t Copied(char* text, size_t capacity, Make make) {
  int64_t size = 0;
  const int code = Checked([&]() -> Failure {
    const Result<std::string> made = make();
    if (!made) return made.error();
    size = tetraphone::CopyText(*made, text, capacity);
    return std::nullopt;
  });
  return code < 0 ? code : size;
}

const tetraphone::Error kNull{tetraphone::ErrorCode::kInvalidArgument,
                              "a result, an option or a name is null; give it"};

template <typename... Pointer>
bool AnyNull(const Pointer*... pointers) {
  return ((pointers == nullptr) || ...);
}

template <typename T>
void Assign(T from, T* to) {
  *to = from;
}
void Assign(const char*, std::shared_ptr<const tetraphone::Grammar>*) {}

}  // namespace

TETRAPHONE_C_ABI int64_t tetraphone_format_result(const tetraphone_result* result, const char* format,
                                                  const char* alphabet, int first, char* text, size_t capacity) {
  return Copied(text, capacity, [&]() -> Result<std::string> {
    if (AnyNull(result, format, alphabet)) return kNull;
    if (Failure failure = tetraphone::CheckSize(*result, "tetraphone_result")) return *failure;
    if (AnyNull(result->recording)) return kNull;
    const auto found = tetraphone::FindResultFormat(format);
    if (!found) return found.error();
    Recognition recognition{result->recording, result->duration, {}};
    for (size_t i = 0; i < result->tier_count; ++i) {
      const tetraphone_tier& given = result->tiers[i];
      if (AnyNull(given.name)) return kNull;
      Tier tier{given.name, {}};
      for (const tetraphone_interval* at = given.intervals; at != given.intervals + given.count; ++at) {
        if (AnyNull(at->label)) return kNull;
        tier.intervals.push_back({at->label, at->start, at->end, at->confidence});
      }
      recognition.tiers.push_back(std::move(tier));
    }
    for (size_t i = 0; i < result->problem_count; ++i) {
      if (AnyNull(result->problems[i])) return kNull;
      recognition.problems.emplace_back(result->problems[i]);
    }
    return tetraphone::FormatResult(recognition, **found, alphabet, first != 0);
  });
}

TETRAPHONE_C_ABI int64_t tetraphone_settings_text(const char* model, const tetraphone_stream_options* options,
                                                  const char* alphabet, char* text, size_t capacity) {
  return Copied(text, capacity, [&]() -> Result<std::string> {
    if (AnyNull(model, options, alphabet)) return kNull;
    if (Failure failure = tetraphone::CheckSize(*options, "tetraphone_stream_options")) return *failure;
    tetraphone::StreamOptions how;
#define TETRAPHONE_ASSIGN(kind, name, ...) Assign(options->name, &how.decoder.name);
    TETRAPHONE_DECODER_OPTIONS(TETRAPHONE_ASSIGN)
#undef TETRAPHONE_ASSIGN
    how.channel = options->channel;
    return tetraphone::SettingsText(model, options->grammar == nullptr ? "" : options->grammar, how, alphabet);
  });
}
