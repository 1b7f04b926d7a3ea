#include "grammar.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "../common/words.h"
#include "../system/files.h"
#include "../system/lines.h"

namespace tetraphone {
namespace {

// The file is not trusted: these bound its memory.
constexpr std::size_t kLongestLine = 1000;
constexpr std::int32_t kMostStates = 1 << 20;
constexpr std::size_t kMostArcs = std::size_t{1} << 21;
constexpr double kMostCost = 1e6;

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return quoted + "'";
}

// All of `text`, whatever the locale.
std::optional<double> Number(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789+-.eE") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = ParseDouble(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

class Reader {
 public:
  Reader(const std::string& path, const std::vector<std::string>& phones) : path_(path) {
    for (std::size_t i = 0; i < phones.size(); ++i) {
      phones_.emplace(phones[i], static_cast<std::int32_t>(i));
      known_ += " " + phones[i];
    }
    grammar_.phones = phones.size();
  }

  Result<std::shared_ptr<const Grammar>> Read() {
    if (Failure failure = Lines()) return *failure;
    if (arcs_.empty()) {
      return Error{ErrorCode::kInvalidArgument, path_ + " has no arc; write lines 'source target phone cost'"};
    }
    Sort();
    if (Failure failure = EveryStateEnds()) return *failure;
    return std::shared_ptr<const Grammar>(std::make_shared<Grammar>(std::move(grammar_)));
  }

 private:
  struct Sourced {
    std::int32_t source;
    Grammar::Arc arc;
  };

  Error Fault(const std::string& what) const {
    return {ErrorCode::kInvalidArgument, path_ + ", line " + std::to_string(line_) + ": " + what};
  }

  Failure Lines() {
    const Error unreadable{ErrorCode::kUnreadable,
                           "cannot read the grammar " + path_ + "; give a plain file that you may read"};
    return EachLine(path_, kLongestLine, unreadable, [this](const std::string& line, bool cut) -> Failure {
      ++line_;
      if (!cut) return Line(line);
      return Fault("longer than " + std::to_string(kLongestLine) + " characters; one arc or final state a line");
    });
  }

  Failure Line(const std::string& line) {
    const std::vector<std::string> fields = Words(line);
    if (fields.empty()) return std::nullopt;
    return fields.size() <= 2 ? Final(fields) : Arc(fields);
  }

  Failure Final(const std::vector<std::string>& fields) {
    std::int32_t state = 0;
    double cost = 0.0;
    if (Failure failure = State(fields[0], &state)) return failure;
    if (Failure failure = Cost(fields, 1, &cost)) return failure;
    if (grammar_.finals[static_cast<std::size_t>(state)] != kNotFinal) {
      return Fault("state " + fields[0] + " is final already; remove one of the lines");
    }
    grammar_.finals[static_cast<std::size_t>(state)] = cost;
    return std::nullopt;
  }

  Failure Arc(const std::vector<std::string>& fields) {
    if (fields.size() > 4 || (fields.size() == 4 && phones_.count(fields[3]) != 0)) {
      return Fault("an arc of a transducer; give an acceptor, whose arcs are 'source target phone cost'");
    }
    if (arcs_.size() == kMostArcs) return Fault("more than " + std::to_string(kMostArcs) + " arcs; prune the grammar");
    Sourced sourced{0, {0, 0, 0.0}};
    if (Failure failure = State(fields[0], &sourced.source)) return failure;
    if (Failure failure = State(fields[1], &sourced.arc.target)) return failure;
    if (Failure failure = Phone(fields[2], &sourced.arc.phone)) return failure;
    if (Failure failure = Cost(fields, 3, &sourced.arc.cost)) return failure;
    arcs_.push_back(sourced);
    return std::nullopt;
  }

  Failure State(const std::string& text, std::int32_t* state) {
    if (text.find_first_not_of("0123456789") != std::string::npos) {
      return Fault("state " + Quoted(text) + " is no number; number the states from 0");
    }
    const std::size_t digits = std::min(text.find_first_not_of('0'), text.size() - 1);
    if (text.size() - digits > 7 || (*state = std::stoi(text.substr(digits))) >= kMostStates) {
      return Fault("state " + Quoted(text) + " is beyond " + std::to_string(kMostStates - 1) +
                   "; number the states from 0, without gaps");
    }
    if (named_.empty()) grammar_.start = *state;
    const auto at = static_cast<std::size_t>(*state);
    if (at >= named_.size()) {
      named_.resize(at + 1, 0);
      grammar_.finals.resize(at + 1, kNotFinal);
    }
    if (named_[at] == 0) named_[at] = line_;
    return std::nullopt;
  }

  Failure Phone(const std::string& text, std::int32_t* phone) const {
    const auto found = phones_.find(text);
    if (found != phones_.end()) {
      *phone = found->second;
      return std::nullopt;
    }
    if (text == "<eps>" || text == "<epsilon>") {
      return Fault("an arc without a phone, " + Quoted(text) + "; remove such arcs (fstrmepsilon)");
    }
    return Fault("the model has no phone " + Quoted(text) + "; it has" + known_);
  }

  Failure Cost(const std::vector<std::string>& fields, std::size_t at, double* cost) const {
    if (fields.size() <= at) return std::nullopt;
    const std::optional<double> value = Number(fields[at]);
    if (!value) {
      return Fault("cost " + Quoted(fields[at]) + " is no finite number; leave out what has no chance");
    }
    if (!(std::fabs(*value) <= kMostCost)) {
      return Fault("cost " + Quoted(fields[at]) + " is beyond 1e6; costs are negative natural logarithms");
    }
    *cost = *value;
    return std::nullopt;
  }

  void Sort() {
    const auto key = [](const Sourced& item) {
      return std::tuple(item.source, item.arc.phone, item.arc.target, item.arc.cost);
    };
    std::sort(arcs_.begin(), arcs_.end(), [&](const Sourced& a, const Sourced& b) { return key(a) < key(b); });
    grammar_.offsets.assign(named_.size() + 1, 0);
    for (const Sourced& item : arcs_) {
      grammar_.arcs.push_back(item.arc);
      ++grammar_.offsets[static_cast<std::size_t>(item.source) + 1];
    }
    for (std::size_t state = 0; state < named_.size(); ++state) grammar_.offsets[state + 1] += grammar_.offsets[state];
  }

  // From each state that is named, a final state can be reached.
  Failure EveryStateEnds() const {
    std::vector<std::vector<std::int32_t>> sources(named_.size());
    for (const Sourced& item : arcs_) sources[static_cast<std::size_t>(item.arc.target)].push_back(item.source);
    std::vector<bool> ends(named_.size(), false);
    std::vector<std::int32_t> open;
    const auto mark = [&](std::int32_t state) {
      if (ends[static_cast<std::size_t>(state)]) return;
      ends[static_cast<std::size_t>(state)] = true;
      open.push_back(state);
    };
    for (std::size_t state = 0; state < named_.size(); ++state) {
      if (grammar_.finals[state] != kNotFinal) mark(static_cast<std::int32_t>(state));
    }
    while (!open.empty()) {
      const std::int32_t target = open.back();
      open.pop_back();
      for (const std::int32_t source : sources[static_cast<std::size_t>(target)]) mark(source);
    }
    for (std::size_t state = 0; state < named_.size(); ++state) {
      if (named_[state] == 0 || ends[state]) continue;
      return Error{ErrorCode::kInvalidArgument,
                   path_ + ", line " + std::to_string(named_[state]) + ": no way from state " + std::to_string(state) +
                       " to a final state; add a line with a final state's number, or remove it (fstconnect)"};
    }
    return std::nullopt;
  }

  static constexpr double kNotFinal = std::numeric_limits<double>::infinity();

  const std::string path_;
  std::unordered_map<std::string, std::int32_t> phones_;
  std::string known_;  // their symbols
  Grammar grammar_;
  std::vector<Sourced> arcs_;
  std::vector<std::size_t> named_;  // the line that first names each state; 0: none
  std::size_t line_ = 0;
};

}  // namespace

Result<std::shared_ptr<const Grammar>> ReadGrammar(const std::string& path, const std::vector<std::string>& phones) {
  try {
    return Reader(path, phones).Read();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, "out of memory while reading the grammar " + path};
  }
}

}  // namespace tetraphone
