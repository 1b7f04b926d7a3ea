// WAV files byte by byte, and all that a reader makes of them: what the tests of the command's reading share.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "recordings/wav.h"

namespace tetraphone {

using Floats = std::vector<float>;
constexpr int kRate = 16000;

template <typename T>
std::string Bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

// A size of -1 stands for the right one, here and below.
std::string Chunk(const std::string& name, const std::string& content, std::int64_t size = -1);

std::string Riff(const std::string& chunks, std::int64_t size = -1);

// What a fmt chunk holds.
struct Form {
  int coding = 1, channels = 1, bits = 16, rate = kRate, align = -1;

  std::string Content() const {
    const int frame = align < 0 ? channels * ((bits + 7) / 8) : align;
    return Bytes<std::int16_t>(coding) + Bytes<std::int16_t>(channels) + Bytes<std::int32_t>(rate) +
           Bytes<std::int32_t>(rate * frame) + Bytes<std::int16_t>(frame) + Bytes<std::int16_t>(bits);
  }
  std::string Extensible(int valid_bits) const {
    Form form = *this;
    form.coding = -2;
    return form.Content() + Bytes<std::int16_t>(22) + Bytes<std::int16_t>(valid_bits) + Bytes<std::int32_t>(channels) +
           Bytes<std::int16_t>(coding) + std::string("\0\0\0\0\x10\0\x80\0\0\xAA\0\x38\x9B\x71", 14);
  }
};

// 40 samples of a tone, as 16 bits.
std::vector<std::int16_t> Tone();

// The tone, in samples of so many bytes.
std::string Pcm(int bytes = 2);

// The tone as it is read.
Floats Expected(double scale = 1 / 32768.0);

template <typename T>
std::string FloatPcm() {
  std::string pcm;
  for (const float sample : Expected()) pcm += Bytes(static_cast<T>(sample));
  return pcm;
}

// A file of 16 bits and one channel.
std::string Plain(const std::string& pcm = Pcm(), std::int64_t size = -1, std::int64_t riff_size = -1);

std::string Rf64(const std::string& name, std::uint64_t size, std::int64_t chunk_size = 0xFFFFFFFF);

// A file of silence.
std::string Joined(const Form& form, int samples, std::int64_t size = -1);

std::string HalfAFrameMore();

// Reads `content`, at most `piece` bytes at a time.
ReadBytes Pieces(const std::string& content, std::size_t piece);

struct Outcome {
  Floats samples;
  std::string error;
  std::string fault;
  std::string levels;
};

// All samples, at most `most` at a time.
Outcome Drain(Result<SampleReader> reader, std::size_t most);

Outcome ReadWav(const std::string& content, std::size_t piece = 4096, std::size_t most = 1000);

}  // namespace tetraphone
