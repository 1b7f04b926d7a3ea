#include "limits.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string_view>
#include <utility>

#include "../kernels/layers.h"
#include "utf8.h"
#include "words.h"

namespace tetraphone {
namespace {

Error Refusal(const std::string& what) { return Error{ErrorCode::kInvalidArgument, what}; }

bool IsBlank(unsigned char c) { return c <= ' ' || c == 0x7F; }

// Code points beyond ASCII that show nothing, first and last: Unicode's control characters, White_Space and
// Default_Ignorable_Code_Point, and the marks of interlinear annotation.
constexpr std::pair<std::uint32_t, std::uint32_t> kInvisible[] = {
    {0x80, 0xA0},       {0xAD, 0xAD},       {0x34F, 0x34F},     {0x61C, 0x61C},     {0x115F, 0x1160},
    {0x1680, 0x1680},   {0x17B4, 0x17B5},   {0x180B, 0x180F},   {0x2000, 0x200F},   {0x2028, 0x202F},
    {0x205F, 0x206F},   {0x3000, 0x3000},   {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB},   {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

// What of a symbol cannot be seen, or is no text; nothing for most.
std::string Unseen(const std::string& symbol) {
  for (std::size_t i = 0; i < symbol.size();) {
    std::uint32_t point = 0;
    const std::size_t length = DecodeUtf8(symbol.data() + i, symbol.size() - i, point);
    if (length == 0) return "is not text in UTF-8; write it so";
    for (const auto& [first, last] : kInvisible) {
      if (point < first || point > last) continue;
      char name[16];
      std::snprintf(name, sizeof name, "U+%04X", point);
      return std::string("holds the invisible character ") + name + "; take it out";
    }
    i += length;
  }
  return "";
}

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

// The kinds of layers that a network may have, the last of the list first: "a, b or c".
std::string NetworkKinds() {
  std::vector<std::string> names;
  for (const LayerKind& kind : kLayerKinds) {
    if (kind.layer_name[0] != '\0') names.emplace_back(kind.layer_name);
  }
  std::string text = names.back();
  for (std::size_t i = names.size() - 1; i-- > 0;) text += (i == 0 ? " or " : ", ") + names[i];
  return text;
}

struct Magic {
  std::size_t at;
  std::string_view bytes;
  const char* format;
};

constexpr Magic kForeign[] = {
    {4, "ftyp3g", "3GPP (3gp)"},
    {4, "ftypqt", "QuickTime (mov)"},
    {4, "ftyp", "MPEG-4 (m4a, mp4)"},
    {0, "\x1A\x45\xDF\xA3", "Matroska (mka, mkv, webm)"},
    {0, "\x30\x26\xB2\x75\x8E\x66\xCF\x11", "Windows Media (wma, asf)"},
    {0, "#!AMR", "AMR"},
    {0, "\xFF\xF0", "AAC"},  // ADTS: MPEG-4 or MPEG-2, with a checksum or without
    {0, "\xFF\xF1", "AAC"},
    {0, "\xFF\xF8", "AAC"},
    {0, "\xFF\xF9", "AAC"},
    {0, "ADIF", "AAC"},
    {28, "Speex   ", "Speex"},
    {28, "\x7F" "FLAC", "FLAC in Ogg"},
    {0, "\x0B\x77", "AC-3"},
    {8, "AVI ", "AVI"},
    {0, "FLV\1", "Flash Video (flv)"},
    {0, "wvpk", "WavPack (wv)"},
    {0, "MAC ", "Monkey's Audio (ape)"},
    {0, "TTA1", "True Audio (tta)"},
};

constexpr bool EnoughMagicBytes() {
  for (const Magic& magic : kForeign) {
    if (magic.at + magic.bytes.size() > kMagicBytes) return false;
  }
  return true;
}
static_assert(EnoughMagicBytes());

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
    if (const std::string unseen = Unseen(phone); !unseen.empty()) {
      return Refusal("the phone " + Quoted(phone) + ' ' + unseen);
    }
    if (!seen.insert(phone).second) return Refusal("the phone " + Quoted(phone) + " stands twice; name it once");
  }
  return std::nullopt;
}

Failure CheckNetwork(const NetworkSizes& network) {
  const LayerKind* kind = FindLayer(network.kind);
  if (kind == nullptr || network.direction != "uni") {
    return Refusal("the recogniser cannot run a " + network.kind + " of direction " + network.direction + "; train a " +
                   NetworkKinds() + " of direction uni");
  }
  if (Failure failure = CheckSize("the number of inputs", network.inputs, kMostWidth, 4)) return failure;
  if (Failure failure = CheckSize("hidden", network.hidden, kMostWidth, 4)) return failure;
  if (Failure failure = CheckSize("layers", network.layers, kMostLayers)) return failure;
  if (Failure failure = CheckSize("the number of scores", network.outputs, kMostWidth)) return failure;
  const std::int64_t widest = network.layers == 1 ? network.inputs : std::max(network.inputs, network.hidden);
  if (PackedBytes({kind->kind, Format::kFloat32, widest, network.hidden}) == 0 ||
      PackedBytes({Kind::kLinear, Format::kFloat32, network.hidden, network.outputs}) == 0) {
    return Refusal("hidden is " + std::to_string(network.hidden) + "; a layer would take more than 2 GiB: give less");
  }
  return std::nullopt;
}

Failure CheckSound(std::int64_t rate, std::int64_t channels) {
  const auto range = [](std::int64_t value, const char* of, int least, int most) {
    return Refusal(std::to_string(value) + " " + of + "; give " + std::to_string(least) + " to " +
                   std::to_string(most));
  };
  if (rate < kLeastRate || rate > kMostRate) {
    return range(rate, "samples a second", kLeastRate, kMostRate);
  }
  if (channels < 1 || channels > kMostChannels) return range(channels, "channels", 1, kMostChannels);
  return std::nullopt;
}

Failure CheckLevels(const SoundLevels& levels) {
  if (levels.peak > kGreatestPeak) {
    return Refusal("has samples up to " + Text(std::round(levels.peak)) +
                   "; export it with floats in [-1, 1], such as int16 samples over 32768");
  }
  double energy = 0;
  for (const double each : levels.energies) energy += each;
  const double channels = static_cast<double>(levels.energies.size());
  const bool heard = energy > kSilent * channels * static_cast<double>(levels.frames);
  if (heard && levels.mean_energy * channels < kCancelled * energy / channels) {
    const double most = *std::max_element(levels.energies.begin(), levels.energies.end());
    const auto loud = std::find_if(levels.energies.begin(), levels.energies.end(),
                                   [most](double each) { return each >= most / 2; });  // roundings choose none
    const std::string number = std::to_string(loud - levels.energies.begin());
    return Refusal("has channels that cancel out (opposite phase): their mean is all but silent; choose one, by "
                   "--channel " + number + " (in a manifest, \"channel\": " + number + ")");
  }
  return std::nullopt;
}

Failure CheckDecoded(const std::uint8_t* begin, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(begin), size);
  for (const auto& [at, magic, format] : kForeign) {
    if (size < at || bytes.compare(at, magic.size(), magic) != 0) continue;
    return Refusal("it is " + std::string(format) + ", which is not decoded here; convert it, as by "
                   "`ffmpeg -i INPUT output.wav`");
  }
  return std::nullopt;
}

}  // namespace tetraphone
