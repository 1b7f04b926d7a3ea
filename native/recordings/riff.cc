#include "riff.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "../common/limits.h"

namespace tetraphone {
namespace {

constexpr std::uint32_t kUnknownFrom = 0x7FFF0000;  // ffmpeg's 0xffffffff, 0x80000000, sox's 0x7ffff000
constexpr std::uint64_t kNone = ~std::uint64_t{0};
constexpr std::size_t kContainerBytes = 12;  // "RIFF", a size, "WAVE"
constexpr std::string_view kContainers[] = {"RIFF", "RF64", "BW64", "RIFX"};
// Chunks that may follow the samples, also cut off.
constexpr std::string_view kKnown[] = {
    "LIST", "list", "INFO", "id3 ", "iD3 ", "Id3 ", "ID3 ", "iXML", "axml", "bext", "chna", "cue ", "plst",
    "smpl", "inst", "acid", "fact", "PEAK", "JUNK", "junk", "PAD ", "pad ", "FLLR", "_PMX", "afsp", "NAME",
    "AUTH", "ANNO", "MARK", "COMT", "APPL", "INST", "FVER", "(c) ", "umid", "cart", "levl", "strc", "slnt",
    "DISP", "SAUR", "minf", "elm1", "regn"};
constexpr std::uint8_t kGuidTail[] = {0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71};

bool Is(const std::uint8_t* bytes, std::string_view name) { return std::memcmp(bytes, name.data(), name.size()) == 0; }

template <typename Names>
bool IsOneOf(const std::uint8_t* bytes, const Names& names) {
  return std::any_of(std::begin(names), std::end(names), [&](std::string_view name) { return Is(bytes, name); });
}

bool IsName(const std::uint8_t* bytes) {
  return std::all_of(bytes, bytes + 4, [](std::uint8_t c) { return c >= ' ' && c <= '~'; });
}

// Whether a container may begin with these bytes, at most kContainerBytes.
bool MayBegin(const std::uint8_t* bytes, std::size_t count) {
  const bool named = std::any_of(std::begin(kContainers), std::end(kContainers), [&](std::string_view name) {
    return std::memcmp(bytes, name.data(), std::min(count, name.size())) == 0;
  });
  return named && (count <= 8 || std::memcmp(bytes + 8, "WAVE", count - 8) == 0);
}

Error Fault(const std::string& name, const std::string& what) {
  return Error{ErrorCode::kUnreadable, "cannot read the recording " + name + ": " + what};
}

Failure CheckForm(std::int64_t rate, std::size_t channels, const std::string& name) {
  const Failure failure = CheckSound(rate, static_cast<std::int64_t>(channels));
  return failure ? Failure(Fault(name, failure->message)) : std::nullopt;
}

}  // namespace

Result<WavFile> WavFile::Open(ReadBytes read, const std::string& name) {
  Result<ByteQueue> bytes = ByteQueue::Make(std::move(read));
  if (!bytes) return bytes.error();
  WavFile file(std::move(*bytes));
  file.SkipTags();
  const Failure failure = file.ReadHeader(name);
  if (file.bytes_.failure()) return *file.bytes_.failure();
  if (failure) return *failure;
  return Result<WavFile>(std::move(file));
}

Result<WavFile> WavFile::Raw(ReadBytes read, const WavForm& form, const std::string& name) {
  if (Failure failure = CheckForm(form.rate, form.channels, name)) return *failure;
  Result<ByteQueue> bytes = ByteQueue::Make(std::move(read));
  if (!bytes) return bytes.error();
  WavFile file(std::move(*bytes));
  file.form_ = form;
  file.raw_ = file.unknown_ = true;
  return Result<WavFile>(std::move(file));
}

bool WavFile::AtContainer() const {
  return bytes_.size() >= kContainerBytes && MayBegin(bytes_.data(), kContainerBytes);
}

// Looks for the beginning of a container; what may be one, once more bytes are there, is not clear.
std::size_t WavFile::Clear() {
  if (raw_) clear_ = bytes_.size();
  for (; !met_ && clear_ < bytes_.size(); ++clear_) {
    const std::uint8_t* from = bytes_.data() + clear_;
    if (*from != 'R' && *from != 'B') continue;
    const std::size_t count = std::min(bytes_.size() - clear_, kContainerBytes);
    if (!MayBegin(from, count)) continue;
    met_ = count == kContainerBytes;
    break;
  }
  return clear_;
}

Result<std::size_t> WavFile::Ready(std::size_t least) {
  std::uint64_t there = Clear();
  while (there < least && !met_ && (unknown_ || there < remaining_) && bytes_.More()) there = Clear();
  if (there < least && !met_) {
    if (bytes_.failure()) return *bytes_.failure();
    there = bytes_.size();  // what might have become a container is none
  }
  return static_cast<std::size_t>(unknown_ ? there : std::min(there, remaining_));
}

void WavFile::Take(std::size_t count) {
  bytes_.Drop(count);
  clear_ -= std::min(clear_, count);
  if (!unknown_) remaining_ -= count;
}

// Passes over tags of other formats: ID3v2, ID3v1, APEv2.
void WavFile::SkipTags() {
  for (;;) {
    (void)bytes_.Need(32);
    const std::uint8_t* head = bytes_.data();
    const std::size_t size = bytes_.size();
    std::uint64_t tag = 0;
    const bool sized = size >= 10 && (head[6] | head[7] | head[8] | head[9]) < 128;
    if (sized && Is(head, "ID3") && head[3] >= 2 && head[3] <= 4) {
      for (std::size_t i = 6; i < 10; ++i) tag = tag << 7 | head[i];
      tag += 10 + ((head[5] & 0x10) != 0 ? 10 : 0);
    } else if (size >= 3 && Is(head, "TAG")) {
      tag = 128;
    } else if (size >= 32 && Is(head, "APETAGEX")) {
      tag = 32 + std::uint64_t{As<std::uint32_t>(head + 12)};
    }
    if (tag == 0) return;
    bytes_.Skip(tag);
  }
}

// Behind a chunk: one of odd size has a byte more, as a rule.
void WavFile::SkipPadding(std::uint64_t size) {
  if (size % 2 == 0 || !bytes_.Need(1)) return;
  const bool named = bytes_.Need(4) && IsOneOf(bytes_.data(), kKnown);
  (void)bytes_.Need(kContainerBytes);
  if (!named && !AtContainer()) bytes_.Drop(1);
}

// Passes over the chunks and tags behind the samples; kSound before another container.
WavFile::Next WavFile::SkipChunks() {
  for (std::uint64_t size = size_;;) {
    SkipPadding(size);
    SkipTags();
    (void)bytes_.Need(kContainerBytes);
    if (AtContainer()) return Next::kSound;
    if (bytes_.size() > 0 && bytes_.data()[0] == 0) {  // zeros up to the end
      while (bytes_.Need(1) && bytes_.data()[0] == 0) bytes_.Drop(1);
      return bytes_.size() == 0 ? Next::kEnd : Next::kForeign;
    }
    if (bytes_.size() == 0) return Next::kEnd;
    if (bytes_.size() < 8 || !IsName(bytes_.data()) || Is(bytes_.data(), "data")) return Next::kForeign;
    const bool known = IsOneOf(bytes_.data(), kKnown);
    size = As<std::uint32_t>(bytes_.data() + 4);
    bytes_.Drop(8);
    if (bytes_.Skip(size) < size) return known ? Next::kEnd : Next::kForeign;
  }
}

Result<WavFile::Next> WavFile::Follow() {
  Next next = unknown_ ? (met_ ? Next::kSound : Next::kEnd) : SkipChunks();
  if (next == Next::kSound && ReadHeader("")) next = Next::kForeign;
  if (bytes_.failure()) return *bytes_.failure();
  return next;
}

Failure WavFile::ReadHeader(const std::string& name) {
  const std::uint64_t begin = bytes_.position();
  const bool whole = bytes_.Need(kContainerBytes);
  if (bytes_.size() == 0) return Fault(name, "it is empty; record or copy it again");
  const bool large = whole && (Is(bytes_.data(), "RF64") || Is(bytes_.data(), "BW64"));
  if (whole && Is(bytes_.data(), "RIFX")) {
    return Fault(name, "it is big-endian (RIFX); convert it to an ordinary WAV file");
  }
  if (!AtContainer()) {
    (void)bytes_.Need(kMagicBytes);
    const Failure foreign = CheckDecoded(bytes_.data(), bytes_.size());
    if (foreign) return Fault(name, foreign->message);
    return Fault(name, "it is no WAV file; convert it, or give it to `tetraphone recognize`, which reads more formats");
  }
  std::uint64_t riff_size = As<std::uint32_t>(bytes_.data() + 4);
  std::uint64_t large_size = kNone;  // of the samples, from the chunk ds64
  bool formed = false;
  bool unknown = !large && riff_size >= kUnknownFrom;
  bytes_.Drop(kContainerBytes);
  while (bytes_.Need(8)) {
    const bool data = Is(bytes_.data(), "data");
    const bool format = Is(bytes_.data(), "fmt ");
    const bool sizes = large && Is(bytes_.data(), "ds64");
    const std::uint64_t size = As<std::uint32_t>(bytes_.data() + 4);
    bytes_.Drop(8);
    if (data) {
      if (!formed) return Fault(name, "its data chunk comes before a fmt chunk; export it again");
      StartSamples(size, large_size, unknown ? 0 : begin + riff_size + 8);
      return bytes_.failure();
    }
    const std::size_t kept = std::min<std::uint64_t>(size, 40);
    if (!bytes_.Need(kept)) break;
    if (sizes && kept >= 16) {
      riff_size = As<std::uint64_t>(bytes_.data());
      large_size = As<std::uint64_t>(bytes_.data() + 8);
      unknown = riff_size == kNone;
    }
    if (format) {
      if (Failure failure = ReadFormat(bytes_.data(), kept, name)) return failure;
      formed = true;
    }
    const std::uint64_t rest = size + (size & 1);
    if (bytes_.Skip(rest) < rest) break;
  }
  return Fault(name, "it ends before a data chunk; record or copy it again");
}

Failure WavFile::ReadFormat(const std::uint8_t* chunk, std::size_t size, const std::string& name) {
  if (size < 16) {
    return Fault(name, "its fmt chunk has " + std::to_string(size) + " bytes, not 16 or more; export it again");
  }
  unsigned coding = As<std::uint16_t>(chunk);
  const unsigned bits = As<std::uint16_t>(chunk + 14);
  const unsigned align = As<std::uint16_t>(chunk + 12);
  if (coding == 0xFFFE && size >= 40 && std::memcmp(chunk + 26, kGuidTail, sizeof kGuidTail) == 0) {
    coding = As<std::uint16_t>(chunk + 24);
  }
  form_.channels = As<std::uint16_t>(chunk + 2);
  form_.width = (bits + 7) / 8;
  if (form_.channels == 0) return Fault(name, "its header says 0 channels; export it again");
  if (coding == 1 && form_.width >= 1 && form_.width <= 4) {
    form_.coding = Coding::kPcm;
  } else if (coding == 3 && (bits == 32 || bits == 64)) {
    form_.coding = Coding::kFloat;
  } else if ((coding == 6 || coding == 7) && bits == 8) {
    form_.coding = coding == 6 ? Coding::kALaw : Coding::kMuLaw;
  } else {
    return Fault(name, "its samples are of format " + std::to_string(coding) + " with " + std::to_string(bits) +
                           " bits; export it as 16-bit PCM");
  }
  if (align != form_.frame()) {
    return Fault(name, "its header says " + std::to_string(align) + " bytes a frame, but " +
                           std::to_string(form_.channels) + " channels of " + std::to_string(bits) +
                           " bits; export it again");
  }
  const std::int64_t rate = As<std::uint32_t>(chunk + 4);
  form_.rate = static_cast<int>(std::min<std::int64_t>(rate, kMostRate + 1));
  return CheckForm(rate, form_.channels, name);
}

// Behind the head of the data chunk; `riff_end` is 0 where it is not known.
void WavFile::StartSamples(std::uint64_t size, std::uint64_t large_size, std::uint64_t riff_end) {
  clear_ = 0;
  met_ = false;
  const bool wide = size == 0xFFFFFFFF && large_size != kNone;
  size_ = remaining_ = wide ? large_size : size;
  unknown_ = !wide && size >= kUnknownFrom;
  if (size_ != 0) return;
  // Its writer never came back to fill the size in; unless another chunk follows, then there are no samples indeed.
  bool ends = bytes_.Need(kContainerBytes) && AtContainer();
  if (!ends && bytes_.Need(8)) {
    const std::uint64_t end = bytes_.position() + 8 + As<std::uint32_t>(bytes_.data() + 4);
    ends = IsOneOf(bytes_.data(), kKnown) || (IsName(bytes_.data()) && end <= riff_end);
  }
  unknown_ = !ends;
}

}  // namespace tetraphone
