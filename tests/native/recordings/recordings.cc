#include "recordings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tetraphone {

std::string Chunk(const std::string& name, const std::string& content, std::int64_t size) {
  const std::string padding(content.size() % 2, '\0');
  return name + Bytes(static_cast<std::uint32_t>(size < 0 ? content.size() : size)) + content + padding;
}

std::string Riff(const std::string& chunks, std::int64_t size) { return Chunk("RIFF", "WAVE" + chunks, size); }

std::vector<std::int16_t> Tone() {
  std::vector<std::int16_t> tone(40);
  for (std::size_t i = 0; i < tone.size(); ++i) {
    tone[i] = static_cast<std::int16_t>(std::lround(30000 * std::sin(0.4 * static_cast<double>(i))));
  }
  return tone;
}

std::string Pcm(int bytes) {
  std::string pcm;
  for (const std::int16_t sample : Tone()) {
    const std::uint32_t wide = static_cast<std::uint32_t>(sample) << 16;
    if (bytes == 1) {
      pcm += static_cast<char>((wide >> 24) ^ 0x80);
    } else {
      pcm += Bytes(wide).substr(static_cast<std::size_t>(4 - bytes));
    }
  }
  return pcm;
}

Floats Expected(double scale) {
  Floats samples;
  for (const std::int16_t sample : Tone()) samples.push_back(static_cast<float>(sample * scale));
  return samples;
}

std::string Plain(const std::string& pcm, std::int64_t size, std::int64_t riff_size) {
  return Riff(Chunk("fmt ", Form{}.Content()) + Chunk("data", pcm, size), riff_size);
}

std::string Rf64(const std::string& name, std::uint64_t size, std::int64_t chunk_size) {
  return Chunk(name,
               "WAVE" + Chunk("ds64", Bytes(std::uint64_t{1000}) + Bytes(size) + std::string(12, '\0')) +
                   Chunk("fmt ", Form{}.Content()) + Chunk("data", Pcm(), chunk_size),
               0xFFFFFFFF);
}

std::string Joined(const Form& form, int samples, std::int64_t size) {
  const std::string silence(static_cast<std::size_t>(samples * form.channels * form.bits / 8), '\0');
  return Riff(Chunk("fmt ", form.Content()) + Chunk("data", silence, size));
}

std::string HalfAFrameMore() {
  return Riff(Chunk("fmt ", Form{1, 2}.Content()) + Chunk("data", std::string(42, '\0')));
}

ReadBytes Pieces(const std::string& content, std::size_t piece) {
  return [content, piece, position = 0ul](std::uint8_t* to, std::size_t room) mutable -> Result<std::size_t> {
    const std::size_t count = std::min({room, piece, content.size() - position});
    std::memcpy(to, content.data() + position, count);
    position += count;
    return count;
  };
}

Outcome Drain(Result<SampleReader> reader, std::size_t most) {
  Outcome outcome;
  if (!reader) return {{}, reader.error().message, "", ""};
  Floats block(most);
  for (;;) {
    const auto count = reader->Read(block.data(), most);
    if (!count) {
      outcome.error = count.error().message;
      return outcome;
    }
    if (*count == 0) break;
    EXPECT_LE(*count, most);
    outcome.samples.insert(outcome.samples.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(*count));
  }
  EXPECT_EQ(*reader->Read(block.data(), most), 0u) << "the end is the end";
  outcome.fault = reader->fault();
  outcome.levels = reader->levels();
  return outcome;
}

Outcome ReadWav(const std::string& content, std::size_t piece, std::size_t most) {
  return Drain(SampleReader::Wav(Pieces(content, piece), "tone.wav"), most);
}

}  // namespace tetraphone
