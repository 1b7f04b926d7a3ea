// CTC decoding, frame by frame: the best path, or a beam search over prefixes with an optional phone grammar. The same
// bits on every processor.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../common/fields.h"
#include "../common/limits.h"
#include "../common/result.h"

namespace tetraphone {

// A phone that was found. Its frames are those, in a row, that the best alignment gives it: without a beam, those at
// which its score is the greatest (of equal scores the lowest index counts).
struct Token {
  int phone;             // index into the model's phone symbols
  std::int64_t first;    // network frames since the stream's start
  std::int64_t last;     // inclusive
  double posterior;      // its mean posterior over those frames, 0 to 1
};

// A weighted finite-state acceptor over phones, in OpenFst's text form: a line "source target phone [cost]" for an arc,
// "state [cost]" for a final state; the first line's state is the start; costs are negative natural logarithms. It need
// not be deterministic; it has no epsilon. A phone bigram is one: a state for each phone (corpora/bigram.py writes it).
class Grammar;

Result<std::shared_ptr<const Grammar>> ReadGrammar(const std::string& path, const std::vector<std::string>& phones);

// Members of options, from the lists of fields.h.
#define TETRAPHONE_MEMBER_Whole(name, initial) int name = initial;
#define TETRAPHONE_MEMBER_Real(name, initial) double name = initial;
#define TETRAPHONE_MEMBER_Switch(name, initial) bool name = initial;
#define TETRAPHONE_MEMBER_File(name, initial) std::shared_ptr<const Grammar> name;
#define TETRAPHONE_MEMBER(kind, name, initial, ...) TETRAPHONE_MEMBER_##kind(name, initial)

struct DecoderOptions {
  TETRAPHONE_DECODER_OPTIONS(TETRAPHONE_MEMBER)
};

enum class OptionKind { kWhole, kReal, kSwitch, kFile };

struct OptionRow {
  const char* name;
  OptionKind kind;
  double initial;
  double least;
  double greatest;
  bool needs_beam;
  const char* flag;
  const char* help;
};

constexpr OptionRow kOptionRows[] = {
#define TETRAPHONE_ROW(kind, name, ...) {#name, OptionKind::k##kind, __VA_ARGS__},
    TETRAPHONE_STREAM_OPTIONS(TETRAPHONE_ROW)
#undef TETRAPHONE_ROW
};

// Who sets options by a row (command/options.cc, capi/recognizer_c.cc) knows one file and gives no flag to a switch.
constexpr bool CanBeSet() {
  for (const OptionRow& row : kOptionRows) {
    if (row.kind == OptionKind::kFile && std::string_view(row.name) != "grammar") return false;
    if (row.kind == OptionKind::kSwitch && *row.flag != 0) return false;
  }
  return true;
}
static_assert(CanBeSet(), "teach those two another file, or a switch as a flag, then change this");

// Whether an option, not a file, may be this number.
Failure CheckOption(const std::string& name, double value);
// Whether a decoder can have such options, but for the number of the grammar's phones.
Failure CheckOptions(const DecoderOptions& options);

class Search;  // search.h

class Decoder {
 public:
  static Result<Decoder> Make(std::size_t phones, const DecoderOptions& options);
  ~Decoder();
  Decoder(Decoder&& other) noexcept;
  Decoder& operator=(Decoder&& other) noexcept;

  // One network frame's unnormalised scores, [phones + 1], the blank first, all finite. Does nothing after Finish().
  void Accept(const float* scores);
  // The stream ends: what was provisional becomes final. With a grammar, the best prefix that ends in one of its final
  // states wins; if there is none, the best prefix.
  void Finish();
  void Reset();

  // Tokens that no later frame can change, each given once. The best path's are final once their run ended. A beam's
  // are final once all prefixes kept share them, frames included, or 50 frames after their end: the best prefix decides
  // then and those of other phones are dropped, so that memory is bounded. When Take() is called changes nothing.
  std::vector<Token> Take();
  // What would follow them if the stream ended now.
  std::vector<Token> Provisional() const;

  std::int64_t frames() const;
  // Without the grammar; see heap_bytes.h.
  std::size_t heap_bytes() const;
  // Frames since the last that belongs to a phone, provisional ones included; all frames if there was none.
  std::int64_t TrailingSilence() const;

 private:
  explicit Decoder(std::unique_ptr<Search> search);

  std::unique_ptr<Search> search_;
};

}  // namespace tetraphone
