#include "wav.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "../common/words.h"

namespace tetraphone {
namespace {

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

float Sample(const WavForm& form, const std::uint8_t* bytes) {
  if (form.coding == Coding::kALaw) return static_cast<float>(ALaw(*bytes)) / 32768.0f;
  if (form.coding == Coding::kMuLaw) return static_cast<float>(MuLaw(*bytes)) / 32768.0f;
  if (form.coding == Coding::kFloat && form.width == 4) return As<float>(bytes);
  if (form.coding == Coding::kFloat) {
    const double value = As<double>(bytes);
    return std::abs(value) <= std::numeric_limits<float>::max() ? static_cast<float>(value) : INFINITY;
  }
  std::uint32_t value = 0;  // the sample in the upper bytes
  for (std::size_t i = 0; i < form.width; ++i) value = value >> 8 | std::uint32_t{bytes[i]} << 24;
  if (form.width == 1) value ^= 0x80000000u;  // 8 bits are unsigned
  return static_cast<float>(static_cast<std::int32_t>(value)) / 2147483648.0f;
}

}  // namespace

Result<SampleReader> SampleReader::Wav(ReadBytes read, std::string name, int channel) {
  Result<WavFile> file = WavFile::Open(std::move(read), name);
  if (!file) return file.error();
  return Make(std::move(*file), std::move(name), channel);
}

Result<SampleReader> SampleReader::Raw(ReadBytes read, std::string name, int rate, int channel) {
  Result<WavFile> file = WavFile::Raw(std::move(read), {Coding::kPcm, rate, 1, 2}, name);
  if (!file) return file.error();
  return Make(std::move(*file), std::move(name), channel);
}

Result<SampleReader> SampleReader::Make(WavFile file, std::string name, int channel) {
  const int channels = static_cast<int>(file.form().channels);
  if (channel >= channels) {
    return Error{ErrorCode::kInvalidArgument,
                 name + " has no channel " + std::to_string(channel) + "; it has " +
                     (channels == 1 ? "channel 0 alone" : "channels 0 to " + std::to_string(channels - 1))};
  }
  return SampleReader(std::move(file), std::move(name), channel);
}

std::string SampleReader::Second() const { return Text(static_cast<double>(frames_) / rate_, "%.2f"); }

// Behind the samples of a container, with `left` bytes that are no whole frame: whether there are more.
Result<bool> SampleReader::GoOn(std::size_t left) {
  const WavForm before = file_.form();
  const std::uint64_t declared = file_.declared() / before.frame(), there = frames_ - begin_;
  if (there < declared) {
    Say("is cut short at second " + Second() + ": its header says " + std::to_string(declared) + " samples, " +
        std::to_string(there) + " are there");
    return false;
  }
  if (left > 0) {
    Say("is cut short at second " + Second() + ": it ends within a sample, after " + std::to_string(there));
    return false;
  }
  const Result<WavFile::Next> next = file_.Follow();
  if (!next) return next.error();
  if (*next == WavFile::Next::kEnd) return false;
  const WavForm& form = file_.form();
  const std::string from = "cannot be read from second " + Second() + " on: ";
  if (*next == WavFile::Next::kForeign) {
    Say(from + "what follows is not sound, nor a chunk that may stand there");
  } else if (form.rate != before.rate || form.channels != before.channels) {
    Say(from + "another recording follows, of " + std::to_string(form.rate) + " samples a second and " +
        std::to_string(form.channels) + " channels, not " + std::to_string(before.rate) + " and " +
        std::to_string(before.channels));
  } else {
    begin_ = frames_;
    pairing_ = {};
    return true;
  }
  return false;
}

Result<std::size_t> SampleReader::Read(float* samples, std::size_t most) {
  if (most == 0) return std::size_t{0};
  while (!over_) {
    const std::size_t frame = file_.form().frame();
    const Result<std::size_t> ready = file_.Ready(frame);
    if (!ready) return ready;
    if (*ready >= frame) return Decode(samples, std::min(*ready / frame, most));
    const Result<bool> more = GoOn(*ready);
    if (!more) return more.error();
    over_ = !*more;
  }
  return std::size_t{0};
}

std::string SampleReader::levels() const {
  const Failure failure = CheckLevels(levels_);
  return failure ? name_ + " " + failure->message : "";
}

Result<std::size_t> SampleReader::Decode(float* samples, std::size_t count) {
  const WavForm& form = file_.form();
  const bool pairs = form.coding == Coding::kPcm && form.width == 2;
  const bool plain = pairs && form.channels == 1;  // most are: the rest takes ten times as long
  const std::size_t heard = channel_ >= 0 ? 1 : form.channels;
  if (!plain) levels_.energies.resize(heard);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* bytes = file_.data() + i * form.frame();
    if (pairs && pairing_.Wrong(As<std::int16_t>(bytes))) {
      const std::uint64_t first = begin_ + pairing_.first();
      return Error{ErrorCode::kInvalidArgument,
                   name_ + " is noise from sample " + std::to_string(first) + " (" +
                       std::to_string(first * 1000 / static_cast<std::uint64_t>(rate_)) +
                       " ms) on: its bytes are paired wrongly, as after a copy as text or in another byte order; "
                       "copy or export it again"};
    }
    if (plain) {
      samples[i] = static_cast<float>(As<std::int16_t>(bytes)) / 32768.0f;
      continue;
    }
    double sum = 0;
    for (std::size_t channel = 0; channel < form.channels; ++channel) {
      const float sample = Sample(form, bytes + channel * form.width);
      if (!std::isfinite(sample)) {
        return Error{ErrorCode::kInvalidArgument,
                     name_ + ": sample " + std::to_string(frames_ + i) + " of channel " + std::to_string(channel) +
                         " (" + std::to_string((frames_ + i) * 1000 / static_cast<std::uint64_t>(rate_)) +
                         " ms) is not finite; export the recording again"};
      }
      if (channel_ >= 0 && static_cast<std::size_t>(channel_) != channel) continue;
      sum += sample;
      levels_.energies[channel_ >= 0 ? 0 : channel] += static_cast<double>(sample) * sample;
      levels_.peak = std::max(levels_.peak, std::fabs(static_cast<double>(sample)));
    }
    samples[i] = static_cast<float>(sum / static_cast<double>(heard));
    levels_.mean_energy += static_cast<double>(samples[i]) * samples[i];
    ++levels_.frames;
  }
  file_.Take(count * form.frame());
  frames_ += count;
  return count;
}

}  // namespace tetraphone
