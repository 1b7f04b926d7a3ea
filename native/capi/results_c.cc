#include "results_c.h"

#include <cstring>
#include <string>
#include <vector>

#include "../results/alphabet.h"
#include "../results/formats.h"
#include "errors.h"

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

TETRAPHONE_C_ABI int64_t tetraphone_format_result(const tetraphone_result* result, const char* format,
                                                  const char* alphabet, int first, char* text, size_t capacity) {
  int64_t size = 0;
  const int code = Checked([&]() -> Failure {
    if (Failure failure = tetraphone::CheckSize(*result, "tetraphone_result")) return failure;
    const auto found = tetraphone::FindResultFormat(format);
    if (!found) return found.error();
    Recognition recognition{result->recording, result->duration, {}};
    for (size_t i = 0; i < result->tier_count; ++i) {
      const tetraphone_tier& given = result->tiers[i];
      Tier tier{given.name, {}};
      for (const tetraphone_interval* at = given.intervals; at != given.intervals + given.count; ++at) {
        tier.intervals.push_back({at->label, at->start, at->end, at->confidence});
      }
      recognition.tiers.push_back(std::move(tier));
    }
    for (size_t i = 0; i < result->problem_count; ++i) recognition.problems.emplace_back(result->problems[i]);
    const Result<std::string> written = tetraphone::FormatResult(recognition, **found, alphabet, first != 0);
    if (!written) return written.error();
    if (written->size() <= capacity) std::memcpy(text, written->data(), written->size());
    size = static_cast<int64_t>(written->size());
    return std::nullopt;
  });
  return code < 0 ? code : size;
}
