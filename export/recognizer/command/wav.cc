#include "wav.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "../resampler.h"

namespace tetraphone {
namespace {

constexpr std::size_t kBufferBytes = 65536;  // more than a frame, whose size is 16 bits of the header
constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
constexpr std::uint32_t kUnknown32 = 0xFFFFFFFF;
constexpr std::uint64_t kSpan = 512;  // blocks, of which chance may make kMostWrong
constexpr int kMostWrong = 1;
constexpr std::uint8_t kGuidTail[] = {0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71};

// WAV files and all processors that we build for are little-endian.
template <typename T>
T As(const std::uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

bool Is(const std::uint8_t* bytes, const char* name) { return std::memcmp(bytes, name, 4) == 0; }

// ITU-T G.711, on the scale of 16-bit samples.
int ALaw(unsigned code) {
  code ^= 0x55;
  const unsigned exponent = (code >> 4) & 7;
  const unsigned step = (code & 15) * 16 + 8;
  const int magnitude = static_cast<int>(exponent == 0 ? step : (step + 256) << (exponent - 1));
  return code & 0x80 ? magnitude : -magnitude;
}

int MuLaw(unsigned code) {
  code = ~code;
  const int magnitude = static_cast<int>(((code & 15) * 8 + 132) << ((code >> 4) & 7)) - 132;
  return code & 0x80 ? -magnitude : magnitude;
}

}  // namespace

bool Pairing::BlocksAreWrong() {
  const std::uint64_t block = samples_ / kBlock - 1;
  if (block % kSpan == 0) wrong_ = 0;
  if (BlockIsWrong() && ++wrong_ == 1) first_ = block * kBlock;
  return wrong_ > kMostWrong;
}

// Chance makes 221 values of the high bytes, 85 apart; where the low ones are smooth instead, they are the high ones of
// sound.
bool Pairing::BlockIsWrong() const {
  constexpr int kSteps = kBlock - 1;
  auto high = [this](std::size_t i) { return block_[i] >> 8; };
  auto low = [this](std::size_t i) { return static_cast<std::int8_t>(block_[i] & 0xFF); };
  int rough = 0;
  int smooth = 0;
  for (std::size_t i = 1; i < kBlock; ++i) {
    rough += std::abs(high(i) - high(i - 1));
    smooth += std::abs(low(i) - low(i - 1));
  }
  if (rough <= 70 * kSteps || rough >= 100 * kSteps || smooth == 0 || smooth >= 20 * kSteps) return false;
  std::bitset<256> values;
  for (std::size_t i = 0; i < kBlock; ++i) values.set(static_cast<std::uint8_t>(high(i)));
  return values.count() >= 160;
}

Result<ReadBytes> OpenBytes(const std::string& path) {
  const int descriptor = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  auto fault = [path] {
    const std::string what = std::generic_category().message(errno);
    return Error{ErrorCode::kUnreadable, "cannot read the recording " + path + ": " + what + "; give a readable file"};
  };
  if (descriptor < 0) return fault();
  const std::shared_ptr<const int> file(new int(descriptor), [](const int* number) {
    if (*number != STDIN_FILENO) close(*number);
    delete number;
  });
  return ReadBytes([file, fault](std::uint8_t* to, std::size_t size) -> Result<std::size_t> {
    ssize_t count;
    do {
      count = read(*file, to, size);
    } while (count < 0 && errno == EINTR);
    if (count < 0) return fault();
    return static_cast<std::size_t>(count);
  });
}

Result<SampleReader> SampleReader::Wav(ReadBytes read, std::string name) {
  SampleReader reader(std::move(read), std::move(name));
  if (Failure failure = reader.ReadHeader()) return *failure;
  return Result<SampleReader>(std::move(reader));
}

Result<SampleReader> SampleReader::Raw(ReadBytes read, std::string name, int rate) {
  SampleReader reader(std::move(read), std::move(name));
  reader.channels_ = 1;
  reader.width_ = 2;
  reader.declared_ = reader.remaining_ = kUnknown;
  if (Failure failure = reader.Prepare(rate)) return *failure;
  return Result<SampleReader>(std::move(reader));
}

Error SampleReader::Fault(const std::string& what) const {
  return Error{ErrorCode::kUnreadable, "cannot read the recording " + name_ + ": " + what};
}

// Reads `size` bytes; gives fewer at the end or when reading fails.
std::size_t SampleReader::Fill(std::uint8_t* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const Result<std::size_t> count = read_(to + done, size - done);
    if (!count) unreadable_ = count.error();
    if (!count || *count == 0) break;
    done += std::min(*count, size - done);
  }
  position_ += done;
  return done;
}

Failure SampleReader::Prepare(std::int64_t rate) {
  if (rate < Resampler::kLeastRate || rate > Resampler::kMostRate) {
    return Fault(std::to_string(rate) + " samples a second; give " + std::to_string(Resampler::kLeastRate) + " to " +
                 std::to_string(Resampler::kMostRate));
  }
  rate_ = static_cast<int>(rate);
  buffer_.reset(new (std::nothrow) std::uint8_t[kBufferBytes]());
  if (!buffer_) return Error{ErrorCode::kOutOfMemory, "no memory for " + name_ + "; close other programs"};
  return {};
}

Failure SampleReader::ReadHeader() {
  std::uint8_t head[4096] = {};
  const std::size_t count = Fill(head, 12);
  const bool large = Is(head, "RF64") || Is(head, "BW64");
  if (unreadable_) return unreadable_;
  if (count == 0) return Fault("it is empty; record or copy it again");
  if (Is(head, "RIFX")) return Fault("it is big-endian (RIFX); convert it to an ordinary WAV file");
  if (!(large || Is(head, "RIFF")) || !Is(head + 8, "WAVE")) {
    return Fault("it is no WAV file; convert it, or give it to `tetraphone recognize`, which reads more formats");
  }
  std::uint64_t riff_size = As<std::uint32_t>(head + 4);
  std::uint64_t large_size = kUnknown;  // of the samples, from the chunk ds64
  while (Fill(head, 8) == 8) {
    const std::uint64_t size = As<std::uint32_t>(head + 4);
    if (Is(head, "data")) return StartSamples(large && size == kUnknown32 ? large_size : size, riff_size);
    const bool format = Is(head, "fmt ");
    const bool sizes = large && Is(head, "ds64");
    std::uint64_t rest = size + (size & 1);
    const std::size_t wanted = std::min<std::uint64_t>(rest, sizeof head);
    const std::size_t kept = Fill(head, wanted);
    if (kept < wanted) break;
    if (sizes && kept >= 16) {
      riff_size = As<std::uint64_t>(head);
      large_size = As<std::uint64_t>(head + 8);
    }
    if (format) {
      if (Failure failure = ReadFormat(head, std::min<std::uint64_t>(kept, size))) return failure;
    }
    for (std::size_t done = kept; done > 0 && rest > done;) {  // the rest of the chunk is passed over
      rest -= done;
      done = Fill(head, std::min<std::uint64_t>(rest, sizeof head));
    }
  }
  return unreadable_ ? unreadable_ : Fault("it ends before a data chunk; record or copy it again");
}

Failure SampleReader::ReadFormat(const std::uint8_t* chunk, std::size_t size) {
  if (size < 16) return Fault("its fmt chunk has " + std::to_string(size) + " bytes, not 16 or more; export it again");
  unsigned coding = As<std::uint16_t>(chunk);
  const unsigned bits = As<std::uint16_t>(chunk + 14);
  const unsigned align = As<std::uint16_t>(chunk + 12);
  if (coding == 0xFFFE && size >= 40 && std::memcmp(chunk + 26, kGuidTail, sizeof kGuidTail) == 0) {
    coding = As<std::uint16_t>(chunk + 24);
  }
  channels_ = As<std::uint16_t>(chunk + 2);
  width_ = (bits + 7) / 8;
  if (channels_ == 0) return Fault("its header says 0 channels; export it again");
  if (coding == 1 && width_ >= 1 && width_ <= 4) {
    coding_ = Coding::kPcm;
  } else if (coding == 3 && (bits == 32 || bits == 64)) {
    coding_ = Coding::kFloat;
  } else if ((coding == 6 || coding == 7) && bits == 8) {
    coding_ = coding == 6 ? Coding::kALaw : Coding::kMuLaw;
  } else {
    return Fault("its samples are of format " + std::to_string(coding) + " with " + std::to_string(bits) +
                 " bits; export it as 16-bit PCM");
  }
  if (align != frame_bytes()) {
    return Fault("its header says " + std::to_string(align) + " bytes a frame, but " + std::to_string(channels_) +
                 " channels of " + std::to_string(bits) + " bits; export it again");
  }
  return Prepare(As<std::uint32_t>(chunk + 4));
}

// Behind the head of the data chunk.
Failure SampleReader::StartSamples(std::uint64_t size, std::uint64_t riff_size) {
  if (!buffer_) return Fault("its data chunk comes before a fmt chunk; export it again");
  declared_ = remaining_ = size == 0 || size == kUnknown32 ? kUnknown : size;
  if (size != 0) return {};
  // Its writer never came back to fill the size in; unless another chunk follows, then there are no samples indeed.
  held_ = Fill(buffer_.get(), 8);
  if (unreadable_) return unreadable_;
  const std::uint8_t* name = buffer_.get();
  const bool letters = std::all_of(name, name + 4, [](std::uint8_t c) { return c >= ' ' && c <= '~'; });
  const bool fits = riff_size < kUnknown32 && position_ + As<std::uint32_t>(name + 4) <= riff_size + 8;
  if (held_ == 8 && letters && fits) held_ = remaining_ = declared_ = 0;
  return {};
}

float SampleReader::Sample(const std::uint8_t* bytes) const {
  if (coding_ == Coding::kALaw) return static_cast<float>(ALaw(*bytes)) / 32768.0f;
  if (coding_ == Coding::kMuLaw) return static_cast<float>(MuLaw(*bytes)) / 32768.0f;
  if (coding_ == Coding::kFloat && width_ == 4) return As<float>(bytes);
  if (coding_ == Coding::kFloat) {
    const double value = As<double>(bytes);
    return std::abs(value) <= std::numeric_limits<float>::max() ? static_cast<float>(value) : INFINITY;
  }
  std::uint32_t value = 0;  // the sample in the upper bytes
  for (std::size_t i = 0; i < width_; ++i) value = value >> 8 | std::uint32_t{bytes[i]} << 24;
  if (width_ == 1) value ^= 0x80000000u;  // 8 bits are unsigned
  return static_cast<float>(static_cast<std::int32_t>(value)) / 2147483648.0f;
}

Result<std::size_t> SampleReader::Read(float* samples, std::size_t most) {
  const std::size_t frame = frame_bytes();
  most = std::min(most, kBufferBytes / frame);
  while (held_ < frame && most > 0 && remaining_ > 0) {
    const std::size_t wanted = std::min<std::uint64_t>(remaining_, most * frame - held_);
    Result<std::size_t> count = read_(buffer_.get() + held_, wanted);
    if (!count) return count;
    if (*count == 0) {
      if (remaining_ != kUnknown) {
        truncated_ = name_ + " is cut short: its header tells of " + std::to_string(declared_ / frame) + " samples, " +
                     std::to_string(frames_) + " are there";
      } else if (held_ > 0) {
        truncated_ = name_ + " is cut short: it ends within a sample, after " + std::to_string(frames_);
      }
      remaining_ = 0;
      break;
    }
    held_ += std::min(*count, wanted);
    if (remaining_ != kUnknown) remaining_ -= std::min(*count, wanted);
  }
  const std::size_t count = std::min(held_ / frame, most);
  const bool pairs = coding_ == Coding::kPcm && width_ == 2;
  const bool plain = pairs && channels_ == 1;  // most are: the rest takes ten times as long
  for (std::size_t i = 0; i < count; ++i) {
    if (pairs && pairing_.Wrong(As<std::int16_t>(buffer_.get() + i * frame))) {
      return Error{ErrorCode::kInvalidArgument,
                   name_ + " is noise from sample " + std::to_string(pairing_.first()) + " (" +
                       std::to_string(pairing_.first() * 1000 / rate_) +
                       " ms) on: its bytes are paired wrongly, as after a copy as text or in another byte order; "
                       "copy or export it again"};
    }
    if (plain) {
      samples[i] = static_cast<float>(As<std::int16_t>(buffer_.get() + 2 * i)) / 32768.0f;
      continue;
    }
    double sum = 0;
    for (std::size_t channel = 0; channel < channels_; ++channel) {
      const float sample = Sample(buffer_.get() + i * frame + channel * width_);
      if (!std::isfinite(sample)) {
        return Error{ErrorCode::kInvalidArgument, name_ + ": sample " + std::to_string(frames_ + i) + " of channel " +
                                                      std::to_string(channel + 1) + " (" +
                                                      std::to_string((frames_ + i) * 1000 / rate_) +
                                                      " ms) is not finite; export the recording again"};
      }
      sum += sample;
    }
    samples[i] = static_cast<float>(sum / static_cast<double>(channels_));
  }
  held_ -= count * frame;
  std::memmove(buffer_.get(), buffer_.get() + count * frame, held_);
  frames_ += count;
  return count;
}

}  // namespace tetraphone
