#include "decoder.h"

#include <cmath>
#include <utility>

#include "../common/limits.h"
#include "../common/words.h"
#include "grammar.h"
#include "search.h"

namespace tetraphone {
namespace {

Error Refusal(const std::string& what) { return Error{ErrorCode::kInvalidArgument, what}; }

}  // namespace

Failure CheckOptions(const DecoderOptions& options) {
  if (options.beam < 0 || options.beam > kMostBeam) {
    return Refusal("a beam of " + std::to_string(options.beam) + "; give 1 to " + std::to_string(kMostBeam) +
                   ", or 0 for the best path");
  }
  const std::string weight = std::to_string(static_cast<int>(kMostWeight));
  if (!(options.grammar_scale >= 0.0 && options.grammar_scale <= kMostWeight)) {
    return Refusal("a grammar scale of " + Text(options.grammar_scale) + "; give 0 to " + weight);
  }
  if (!(std::fabs(options.phone_bonus) <= kMostWeight)) {
    return Refusal("a phone bonus of " + Text(options.phone_bonus) + "; give -" + weight + " to " + weight);
  }
  if (options.context < 0 || options.context > kMostContext) {
    return Refusal("a context of " + std::to_string(options.context) + " phones; give 0 to " +
                   std::to_string(kMostContext));
  }
  if (options.beam == 0) {
    if (options.grammar) return Refusal("a grammar without a beam; give a beam too, such as 8");
    if (options.phone_bonus != 0.0) return Refusal("a phone bonus without a beam; give a beam too, such as 8");
  }
  return std::nullopt;
}

Result<Decoder> Decoder::Make(std::size_t phones, const DecoderOptions& options) {
  if (phones == 0 || phones > kMostPhones) {
    return Refusal("a decoder of " + std::to_string(phones) + " phones; give 1 to " + std::to_string(kMostPhones));
  }
  if (Failure failure = CheckOptions(options)) return *failure;
  if (options.beam == 0) return Decoder(NewBestPath(phones));
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
