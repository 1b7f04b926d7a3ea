#include "decoder.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

#include "../common/limits.h"
#include "../common/words.h"
#include "grammar.h"
#include "search.h"

namespace tetraphone {
namespace {

Error Refusal(const std::string& what) { return Error{ErrorCode::kInvalidArgument, what}; }

// An option's name in a sentence.
std::string Spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

}  // namespace

Failure CheckOption(const std::string& name, double value) {
  const OptionRow* const row = std::find_if(std::begin(kOptionRows), std::end(kOptionRows),
                                            [&](const OptionRow& one) { return one.name == name; });
  if (row == std::end(kOptionRows)) return Refusal("there is no option " + name);
  const bool whole = row->kind != OptionKind::kReal;
  const bool within = value >= row->least && value <= row->greatest;
  if (within && (!whole || value == std::trunc(value))) return std::nullopt;
  const std::string range = within ? "a whole number" : Text(row->least) + " to " + Text(row->greatest);
  return Refusal("a " + Spaced(name) + " of " + Text(value) + "; give " + range);
}

Failure CheckOptions(const DecoderOptions& options) {
  Failure failure;
  const auto check = [&](const char* name, auto value, auto initial, bool needs_beam) {
    if (failure) return;
    if constexpr (std::is_arithmetic_v<decltype(value)>) failure = CheckOption(name, value);
    if (!failure && needs_beam && options.beam == 0 && value != initial) {
      failure = Refusal("a " + Spaced(name) + " without a beam; give a beam too, such as 8");
    }
  };
  const DecoderOptions defaults;
#define TETRAPHONE_CHECK(kind, name, initial, least, greatest, needs_beam, ...) \
  check(#name, options.name, defaults.name, needs_beam);
  TETRAPHONE_DECODER_OPTIONS(TETRAPHONE_CHECK)
#undef TETRAPHONE_CHECK
  return failure;
}

Result<Decoder> Decoder::Make(std::size_t phones, const DecoderOptions& options) {
  if (phones == 0 || phones > kMostPhones) {
    return Refusal("a decoder of " + std::to_string(phones) + " phones; give 1 to " + std::to_string(kMostPhones));
  }
  if (Failure failure = CheckOptions(options)) return *failure;
  if (options.beam == 0) return Decoder(NewBestPath(phones, options));
  if (options.grammar && options.grammar->phones != phones) {
    return Refusal("a grammar of " + std::to_string(options.grammar->phones) + " phones for a model of " +
                   std::to_string(phones) + "; read it with the model's phones");
  }
  return Decoder(NewBeam(phones, options));
}

Decoder::Decoder(std::unique_ptr<Search> search) : search_(std::move(search)) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&& other) noexcept = default;
Decoder& Decoder::operator=(Decoder&& other) noexcept = default;

void Decoder::Accept(const float* scores) { search_->Accept(scores); }
void Decoder::Finish() { search_->Finish(); }
void Decoder::Reset() { search_->Reset(); }
std::vector<Token> Decoder::Take() { return search_->Take(); }
std::vector<Token> Decoder::Provisional() const { return search_->Provisional(); }
std::int64_t Decoder::frames() const { return search_->frames(); }
std::size_t Decoder::heap_bytes() const { return search_->heap_bytes(); }
std::int64_t Decoder::TrailingSilence() const { return search_->TrailingSilence(); }

}  // namespace tetraphone
