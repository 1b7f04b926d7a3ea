#include "limits.h"

#include <algorithm>
#include <set>
#include <utility>

#include "../kernels/layers.h"

namespace tetraphone {
namespace {

Error Refusal(const std::string& what) { return Error{ErrorCode::kInvalidArgument, what}; }

bool IsBlank(unsigned char c) { return c <= ' ' || c == 0x7F; }

std::string Quoted(const std::string& symbol) {
  std::string shown = symbol.substr(0, 2 * kLongestPhone);
  std::replace_if(shown.begin(), shown.end(), [](char c) { return IsBlank(c) && c != ' '; }, '?');
  return '"' + shown + '"';
}

Failure CheckSize(const std::string& name, std::int64_t value, std::size_t most, std::int64_t step = 1) {
  if (value >= 1 && value <= static_cast<std::int64_t>(most) && value % step == 0) return std::nullopt;
  return Refusal(name + " is " + std::to_string(value) + "; give " + (step == 1 ? "" : "a multiple of 4 from ") +
                 std::to_string(step) + " to " + std::to_string(most));
}

}  // namespace

Failure CheckPhones(const std::vector<std::string>& phones) {
  if (phones.size() > kMostPhones) {
    return Refusal(std::to_string(phones.size()) + " phones; a phone set has at most " + std::to_string(kMostPhones));
  }
  std::set<std::string> seen;
  for (const std::string& phone : phones) {
    const bool blank = std::any_of(phone.begin(), phone.end(), IsBlank);
    if (phone.empty() || phone.size() > kLongestPhone || blank) {
      return Refusal("the phone " + Quoted(phone) + " has " + std::to_string(phone.size()) + " bytes" +
                     (blank ? ", blanks among them" : "") + "; a symbol is 1 to " + std::to_string(kLongestPhone) +
                     " bytes long, without blanks");
    }
    if (!seen.insert(phone).second) return Refusal("the phone " + Quoted(phone) + " stands twice; name it once");
  }
  return std::nullopt;
}

Failure CheckNetwork(const NetworkSizes& network) {
  constexpr std::pair<const char*, Kind> kKinds[] = {{"qlstm", Kind::kLstm}, {"qrnn", Kind::kRnn}};
  const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const auto& known) { return network.kind == known.first; });
  if (kind == std::end(kKinds) || network.direction != "uni") {
    return Refusal("the recogniser cannot run a " + network.kind + " of direction " + network.direction +
                   "; train a qlstm or qrnn of direction uni");
  }
  if (Failure failure = CheckSize("the number of inputs", network.inputs, kMostWidth, 4)) return failure;
  if (Failure failure = CheckSize("hidden", network.hidden, kMostWidth, 4)) return failure;
  if (Failure failure = CheckSize("layers", network.layers, kMostLayers)) return failure;
  if (Failure failure = CheckSize("the number of scores", network.outputs, kMostWidth)) return failure;
  const std::int64_t widest = network.layers == 1 ? network.inputs : std::max(network.inputs, network.hidden);
  if (PackedBytes({kind->second, Format::kFloat32, widest, network.hidden}) == 0 ||
      PackedBytes({Kind::kLinear, Format::kFloat32, network.hidden, network.outputs}) == 0) {
    return Refusal("hidden is " + std::to_string(network.hidden) + "; a layer would take more than 2 GiB: give less");
  }
  return std::nullopt;
}

}  // namespace tetraphone
