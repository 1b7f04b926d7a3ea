// The WAV reader on every header variant and fault, on cut and infinite pipes; and recorders that are shell scripts.
//
// TETRAPHONE_WRITE_CORPUS=1 makes the files of tests/native/fuzz/corpus/wav that begin with "seed-" anew.

#include "command/wav.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "command/capture.h"

namespace tetraphone {
namespace {

using Floats = std::vector<float>;
constexpr int kRate = 16000;

template <typename T>
std::string Bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string Chunk(const std::string& name, const std::string& content, std::int64_t size = -1) {
  const std::string padding(content.size() % 2, '\0');
  return name + Bytes(static_cast<std::uint32_t>(size < 0 ? content.size() : size)) + content + padding;
}

std::string Riff(const std::string& chunks, std::int64_t size = -1) { return Chunk("RIFF", "WAVE" + chunks, size); }

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
std::vector<std::int16_t> Tone() {
  std::vector<std::int16_t> tone(40);
  for (std::size_t i = 0; i < tone.size(); ++i) {
    tone[i] = static_cast<std::int16_t>(std::lround(30000 * std::sin(0.4 * static_cast<double>(i))));
  }
  return tone;
}

std::string Pcm(int bytes = 2) {
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

Floats Expected(double scale = 1 / 32768.0) {
  Floats samples;
  for (const std::int16_t sample : Tone()) samples.push_back(static_cast<float>(sample * scale));
  return samples;
}

template <typename T>
std::string FloatPcm() {
  std::string pcm;
  for (const float sample : Expected()) pcm += Bytes(static_cast<T>(sample));
  return pcm;
}

std::string Plain(const std::string& pcm = Pcm(), std::int64_t size = -1, std::int64_t riff_size = -1) {
  return Riff(Chunk("fmt ", Form{}.Content()) + Chunk("data", pcm, size), riff_size);
}

std::string Rf64(const std::string& name, std::uint64_t size, std::int64_t chunk_size = 0xFFFFFFFF) {
  return Chunk(name,
               "WAVE" + Chunk("ds64", Bytes(std::uint64_t{1000}) + Bytes(size) + std::string(12, '\0')) +
                   Chunk("fmt ", Form{}.Content()) + Chunk("data", Pcm(), chunk_size),
               0xFFFFFFFF);
}

ReadBytes Pieces(const std::string& content, std::size_t piece) {
  return [content, piece, position = 0ul](std::uint8_t* to, std::size_t room) mutable -> Result<std::size_t> {
    const std::size_t count = std::min({room, piece, content.size() - position});
    std::memcpy(to, content.data() + position, count);
    position += count;
    return count;
  };
}

struct Outcome {
  Floats samples;
  std::string error;
  std::string fault;
};

Outcome Drain(Result<SampleReader> reader, std::size_t most) {
  Outcome outcome;
  if (!reader) return {{}, reader.error().message, ""};
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
  return outcome;
}

Outcome ReadWav(const std::string& content, std::size_t piece = 4096, std::size_t most = 1000) {
  return Drain(SampleReader::Wav(Pieces(content, piece), "tone.wav"), most);
}

Floats Twice() {
  Floats samples = Expected();
  samples.resize(80);
  std::copy_n(samples.begin(), 40, samples.begin() + 40);
  return samples;
}

struct Variant {
  std::string name;
  std::string content;
  Floats samples = Expected();
};

// Files that must be read whole.
std::vector<Variant> Variants() {
  const std::string format = Chunk("fmt ", Form{}.Content());
  const std::string data = Chunk("data", Pcm());
  auto form = [](const Form& f, const std::string& pcm) {
    return Riff(Chunk("fmt ", f.Content()) + Chunk("data", pcm));
  };
  auto wide = [](const Form& f, int valid, const std::string& pcm) {
    return Riff(Chunk("fmt ", f.Extensible(valid)) + Chunk("fact", Bytes(40)) + Chunk("data", pcm));
  };
  Floats coarse;
  for (const std::int16_t sample : Tone()) coarse.push_back(static_cast<float>(sample >> 8) / 128.0f);
  std::string codes;
  for (int i = 0; i < 256; i += 5) codes += static_cast<char>(i);
  auto g711 = [](bool a_law) {  // decoded by the recommendation's tables: segment, then step, then half a step
    Floats samples;
    for (int i = 0; i < 256; i += 5) {
      const int code = a_law ? i ^ 0x55 : ~i & 0xFF;
      const int segment = code >> 4 & 7, step = code & 15;
      const double linear = a_law ? (segment == 0 ? (step + 0.5) * 16 : (step + 16.5) * std::ldexp(16, segment - 1))
                                  : (step + 16.5) * std::ldexp(8, segment) - 132;
      const bool negative = a_law ? (code & 0x80) == 0 : (code & 0x80) != 0;
      samples.push_back(static_cast<float>((negative ? -linear : linear) / 32768));
    }
    return samples;
  };
  std::string stereo;
  for (std::size_t i = 0; i < 40; ++i) stereo += Pcm().substr(2 * i, 2) + std::string(2, '\0');
  // Without a size, samples may look like another chunk by their letters or by their size, but not by both.
  const std::string zeros(8, '\0'), letters = "abcd\xFF\xFF\xFF\x7F";
  Floats after_zeros(4, 0.0f), after_letters;
  for (const int value : {0x6261, 0x6463, -1, 0x7FFF}) after_letters.push_back(static_cast<float>(value) / 32768.0f);
  for (const float sample : Expected()) after_zeros.push_back(sample), after_letters.push_back(sample);
  const std::string loud = Bytes(3.5f) + Bytes(-1e30f) + Bytes(std::numeric_limits<float>::denorm_min());
  const std::string loud_pair = Bytes(3e38f) + Bytes(3e38f);
  return {
      {"plain", Plain()},
      {"fmt-18", Riff(Chunk("fmt ", Form{}.Content() + std::string(2, '\0')) + data)},
      {"fmt-40-plain", Riff(Chunk("fmt ", Form{}.Content() + std::string(24, '\0')) + data)},
      {"fmt-17-odd", Riff(Chunk("fmt ", Form{}.Content() + '\0') + data)},
      {"fmt-5000", Riff(Chunk("fmt ", Form{}.Content() + std::string(5000, 'x')) + data)},
      {"pcm-8", form({1, 1, 8}, Pcm(1)), coarse},
      {"pcm-24", form({1, 1, 24}, Pcm(3))},
      {"pcm-32", form({1, 1, 32}, Pcm(4))},
      {"pcm-12-in-16", form({1, 1, 12}, Pcm())},
      {"float-32", form({3, 1, 32}, FloatPcm<float>())},
      {"float-64", form({3, 1, 64}, FloatPcm<double>())},
      {"a-law", form({6, 1, 8}, codes), g711(true)},
      {"mu-law", form({7, 1, 8}, codes), g711(false)},
      {"extensible-16", wide({1, 1, 16}, 16, Pcm())},
      {"extensible-24-in-32", wide({1, 1, 32}, 24, Pcm(4))},
      {"extensible-float", wide({3, 1, 32}, 32, FloatPcm<float>())},
      {"extensible-a-law", wide({6, 1, 8}, 8, codes), g711(true)},
      {"stereo", form({1, 2, 16}, stereo), Expected(1 / 65536.0)},
      {"junk", Riff(Chunk("JUNK", std::string(28, '\0')) + format + data)},
      {"junk-large", Riff(Chunk("JUNK", std::string(100001, 'd')) + format + data)},
      {"bext", Riff(Chunk("bext", std::string(602, 'b')) + format + Chunk("LIST", "INFOISFT\3\0\0\0abc") + data)},
      {"odd-chunk", Riff(format + Chunk("odd ", "abc") + data)},
      {"empty-chunk", Riff(Chunk("PAD ", "") + format + data)},
      {"chunk-behind", Riff(format + data + Chunk("id3 ", "abc"))},
      {"chunks-behind", Riff(format + data + Chunk("LIST", "INFOISFT\3\0\0\0abc") + Chunk("iXML", "<x>"))},
      {"known-chunk-behind-cut", Riff(format + data + Chunk("LIST", "INFO", 4000))},
      {"odd-samples-chunk-behind", Riff(Chunk("fmt ", Form{7, 1, 8}.Content()) + Chunk("data", "\xFF\xFF\xFF") +
                                        Chunk("LIST", "INFO")), Floats(3, 0.0f)},
      {"odd-samples-no-padding", Riff(Chunk("fmt ", Form{7, 1, 8}.Content()) + "data\3" + std::string(3, '\0') +
                                      "\xFF\xFF\xFF" + Chunk("LIST", "INFO")), Floats(3, 0.0f)},
      {"zeros-behind", Plain() + std::string(100, '\0')},
      {"id3v1-behind", Plain() + "TAG" + std::string(125, 'x')},
      {"id3v2-before", std::string("ID3\4\0\0\0\0\0\5hello", 15) + Plain()},
      {"size-almost-2-gib", Plain(Pcm(), 0x7FFFFFF0, 0x7FFFFFFF)},
      {"size-2-gib", Plain(Pcm(), 0x80000000, 0x80000024)},
      {"size-of-sox", Plain(Pcm(), 0x7FFFF000, 0x7FFFF024)},
      {"joined", Plain() + Plain(), Twice()},
      {"joined-sizes-unknown", Plain(Pcm(), 0xFFFFFFFF, 0xFFFFFFFF) + Plain(Pcm(), 0, 0), Twice()},
      {"joined-size-0", Plain(Pcm(), 0, 0) + Plain(Pcm(), 0x80000000, 0x80000024), Twice()},
      {"joined-chunks-between",
       Riff(format + data + Chunk("LIST", "INFO")) + Riff(Chunk("JUNK", "abc") + format + data), Twice()},
      {"joined-other-coding", Plain() + form({3, 1, 32}, FloatPcm<float>()), Twice()},
      {"joined-empty-first", Plain("") + Plain()},
      {"riff-size-0", Plain(Pcm(), -1, 0)},
      {"data-size-0", Plain(Pcm(), 0)},
      {"data-size-0-riff-36", Plain(Pcm(), 0, 36)},
      {"data-size-0-zeros", Plain(zeros + Pcm(), 0), after_zeros},
      {"data-size-0-letters", Plain(letters + Pcm(), 0), after_letters},
      {"data-size-unknown", Plain(Pcm(), 0xFFFFFFFF, 0xFFFFFFFF)},
      {"data-size-0-riff-unknown", Plain(Pcm(), 0, 0xFFFFFFFF)},
      {"rf64", Rf64("RF64", 80)},
      {"bw64", Rf64("BW64", 80)},
      {"rf64-plain-size", Rf64("RF64", 40, 80)},
      {"rf64-size-0", Rf64("RF64", 0)},
      {"rf64-size-unknown", Rf64("RF64", ~std::uint64_t{0})},
      {"no-samples", Plain(""), {}},
      {"no-samples-chunk-behind", Riff(format + Chunk("data", "") + Chunk("LIST", "INFOISFT\3\0\0\0abc")), {}},
      {"float-beyond-1", form({3, 1, 32}, loud), {3.5f, -1e30f, std::numeric_limits<float>::denorm_min()}},
      {"float-stereo-greatest", form({3, 2, 32}, loud_pair), {3e38f}},
      {"rate-1000", form({1, 1, 16, 1000}, Pcm())},
      {"rate-768000", form({1, 1, 16, 768000}, Pcm())},
  };
}

struct Fault {
  std::string name;
  std::string content;
  std::string error;  // a part of it
};

std::vector<Fault> Faults() {
  const std::string data = Chunk("data", Pcm());
  auto form = [&](const Form& f) { return Riff(Chunk("fmt ", f.Content()) + data); };
  std::string other_guid = Form{}.Extensible(16);
  other_guid.back() = 'x';
  std::string big_endian = Plain();
  big_endian[3] = 'X';
  return {
      {"empty", "", "it is empty"},
      {"one-byte", "R", "it is no WAV file"},
      {"text", "Dear reader,\nthis is no recording.", "it is no WAV file"},
      {"zeros", std::string(300, '\0'), "it is no WAV file"},
      {"flac", "fLaC\0\0\0\x22" + std::string(60, 'x'), "it is no WAV file"},
      {"riff-of-another-kind", Chunk("RIFF", "AVI " + data), "it is AVI, which is not decoded here; convert it"},
      {"m4a", std::string("\0\0\0\x1c", 4) + "ftypM4A ", "it is MPEG-4 (m4a, mp4), which is not decoded here; convert"},
      {"rifx", big_endian, "RIFX"},
      {"no-chunk", Riff(""), "it ends before a data chunk"},
      {"no-data", Riff(Chunk("fmt ", Form{}.Content())), "it ends before a data chunk"},
      {"chunk-beyond-the-end", Riff(Chunk("JUNK", "abcd", 0xFFFFFFF0)), "it ends before a data chunk"},
      {"chunk-head-cut", Plain().substr(0, 39), "it ends before a data chunk"},
      {"no-format", Riff(data), "data chunk comes before a fmt chunk"},
      {"fmt-14", Riff(Chunk("fmt ", Form{}.Content().substr(0, 14)) + data), "fmt chunk has 14 bytes"},
      {"fmt-15", Riff(Chunk("fmt ", Form{}.Content().substr(0, 15)) + data), "fmt chunk has 15 bytes"},
      {"fmt-0", Riff(Chunk("fmt ", "") + data), "fmt chunk has 0 bytes"},
      {"channels-0", form({1, 0}), "0 channels"},
      {"rate-0", form({1, 1, 16, 0}), "0 samples a second; give 1000 to 768000"},
      {"rate-999", form({1, 1, 16, 999}), "999 samples a second"},
      {"rate-768001", form({1, 1, 16, 768001}), "768001 samples a second"},
      {"rate-greatest", form({1, 1, 16, -1}), "4294967295 samples a second"},
      {"channels-1025", form({1, 1025}), "1025 channels; give 1 to 1024"},
      {"align-0", form({1, 1, 16, kRate, 0}), "0 bytes a frame, but 1 channels of 16 bits"},
      {"align-4", form({1, 1, 16, kRate, 4}), "4 bytes a frame, but 1 channels of 16 bits"},
      {"align-wraps", form({1, 32769, 16, kRate, 2}), "2 bytes a frame, but 32769 channels of 16 bits"},
      {"bits-0", form({1, 1, 0}), "format 1 with 0 bits"},
      {"bits-64", form({1, 1, 64}), "format 1 with 64 bits"},
      {"float-16", form({3, 1, 16}), "format 3 with 16 bits"},
      {"mp3", form({85, 1, 16}), "format 85 with 16 bits"},
      {"adpcm", form({2, 1, 4}), "format 2 with 4 bits"},
      {"a-law-16", form({6, 1, 16}), "format 6 with 16 bits"},
      {"extensible-other-guid", Riff(Chunk("fmt ", other_guid) + data), "format 65534 with 16 bits"},
      {"extensible-cut", Riff(Chunk("fmt ", Form{}.Extensible(16).substr(0, 24)) + data), "format 65534 with 16 bits"},
      {"extensible-cut-behind-a-whole",
       Riff(Chunk("JUNK", Form{}.Extensible(16)) + Chunk("fmt ", Form{}.Extensible(16).substr(0, 24)) + data),
       "format 65534 with 16 bits"},
  };
}

TEST(Wav, EveryVariantIsReadWhole) {
  for (const Variant& variant : Variants()) {
    for (const std::size_t piece : {1, 3, 4096}) {
      for (const std::size_t most : {1, 7, 1000, 100000}) {
        const Outcome outcome = ReadWav(variant.content, piece, most);
        EXPECT_EQ(outcome.error, "") << variant.name;
        EXPECT_EQ(outcome.fault, "") << variant.name;
        EXPECT_EQ(outcome.samples, variant.samples) << variant.name << " in pieces of " << piece;
      }
    }
  }
}

TEST(Wav, EveryFaultIsNamed) {
  for (const Fault& fault : Faults()) {
    for (const std::size_t piece : {1, 4096}) {
      const Outcome outcome = ReadWav(fault.content, piece);
      EXPECT_NE(outcome.error.find("tone.wav"), std::string::npos) << fault.name << ": " << outcome.error;
      EXPECT_NE(outcome.error.find(fault.error), std::string::npos) << fault.name << ": " << outcome.error;
      EXPECT_NE(outcome.error.find("; "), std::string::npos) << fault.name << " has no mend: " << outcome.error;
      EXPECT_TRUE(outcome.samples.empty()) << fault.name;
    }
  }
}

TEST(Wav, ACutRecordingGivesWhatIsThere) {
  const std::string content = Plain();
  const Floats all = Expected();
  for (std::size_t size = 44; size < content.size(); ++size) {
    const Outcome outcome = ReadWav(content.substr(0, size), 5, 3);
    const std::size_t there = (size - 44) / 2;
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.samples, Floats(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(there)));
    EXPECT_EQ(outcome.fault,
              "tone.wav is cut short at second 0.00: its header says 40 samples, " + std::to_string(there) +
                  " are there");
  }
  for (std::size_t size = 0; size < 44; ++size) EXPECT_NE(ReadWav(content.substr(0, size)).error, "") << size;
}

TEST(Wav, AStreamCutWithinASampleSaysSo) {
  std::string content = Plain(Pcm(), 0xFFFFFFFF, 0xFFFFFFFF);
  content.pop_back();
  const Outcome outcome = ReadWav(content);
  EXPECT_EQ(outcome.samples.size(), 39u);
  EXPECT_EQ(outcome.fault, "tone.wav is cut short at second 0.00: it ends within a sample, after 39");
}

std::string Joined(const Form& form, int samples, std::int64_t size = -1) {
  const std::string silence(static_cast<std::size_t>(samples * form.channels * form.bits / 8), '\0');
  return Riff(Chunk("fmt ", form.Content()) + Chunk("data", silence, size));
}

TEST(Wav, WhatFollowsAndCannotBeReadIsNamedWithItsSecond) {
  const std::string first = Joined({}, 24000);
  const std::vector<std::pair<std::string, std::string>> following = {
      {Joined({1, 1, 16, 8000}, 10),
       "another recording follows, of 8000 samples a second and 1 channels, not 16000 and 1"},
      {Joined({1, 2, 16}, 10), "another recording follows, of 16000 samples a second and 2 channels, not 16000 and 1"},
      {Joined({2, 1, 4}, 10), "what follows is not sound, nor a chunk that may stand there"},
      {Joined({}, 10).substr(0, 30), "what follows is not sound, nor a chunk that may stand there"},
      {Chunk("data", Pcm()), "what follows is not sound, nor a chunk that may stand there"},
      {"abc", "what follows is not sound, nor a chunk that may stand there"},
      {Chunk("abcd", "a chunk that is cut off", 1000), "what follows is not sound, nor a chunk that may stand there"},
      {std::string(9, '\0') + "x", "what follows is not sound, nor a chunk that may stand there"},
  };
  for (const auto& [behind, says] : following) {
    for (const std::size_t piece : {1, 13, 4096}) {
      const Outcome outcome = ReadWav(first + behind, piece);
      EXPECT_EQ(outcome.error, "");
      EXPECT_EQ(outcome.samples.size(), 24000u);
      EXPECT_EQ(outcome.fault, "tone.wav cannot be read from second 1.50 on: " + says);
    }
  }
}

TEST(Wav, ACutFileJoinedToAnotherIsNamed) {
  const Outcome outcome = ReadWav(Joined({}, 16000, 64000) + Plain(), 999);
  EXPECT_EQ(outcome.samples.size(), 16000u);
  EXPECT_EQ(outcome.fault,
            "tone.wav is cut short at second 1.00: its header says 32000 samples, 16000 are there");
}

std::string HalfAFrameMore() {
  return Riff(Chunk("fmt ", Form{1, 2}.Content()) + Chunk("data", std::string(42, '\0')));
}

TEST(Wav, HalfAFrameMoreIsTold) {
  const Outcome outcome = ReadWav(HalfAFrameMore());
  EXPECT_EQ(outcome.samples.size(), 10u);
  EXPECT_EQ(outcome.fault, "tone.wav is cut short at second 0.00: it ends within a sample, after 10");
}

TEST(Wav, LettersOfAContainerWithinSoundAreSound) {
  std::string pcm;
  for (int i = 0; i < 50; ++i) pcm += "RIFFRIFFabcdWAVRBW64abcdWAV";
  pcm += "RIFFabcdWAV";
  for (const std::int64_t size : {std::int64_t{-1}, std::int64_t{0xFFFFFFFF}}) {
    for (const std::size_t piece : {1, 5, 4096}) {
      const Outcome outcome = ReadWav(Plain(pcm.substr(0, pcm.size() / 2 * 2), size), piece, 7);
      EXPECT_EQ(outcome.samples.size(), pcm.size() / 2);
      EXPECT_EQ(outcome.fault, "");
    }
  }
}

// `left` and its opposite plus a share of it.
std::string Opposed(double share, double loudness = 0.1) {
  std::string pcm;
  for (int i = 0; i < 16000; ++i) {
    const double left = loudness * std::sin(0.1 * i);
    for (const double value : {left, left * (share - 1)}) pcm += Bytes(static_cast<float>(value));
  }
  return Riff(Chunk("fmt ", Form{3, 2, 32}.Content()) + Chunk("data", pcm));
}

TEST(Wav, ChannelsThatCancelOutAreTold) {
  const std::string says =
      "tone.wav has channels that cancel out (opposite phase): their mean is all but silent; choose one, "
      "by --channel 0";
  EXPECT_EQ(ReadWav(Opposed(0)).fault, says);
  EXPECT_EQ(ReadWav(Opposed(0.58)).fault, says);  // the mean has share² / (2 + 2 (share - 1)²) of the energy
  EXPECT_EQ(ReadWav(Opposed(0.6)).fault, "");
  EXPECT_EQ(ReadWav(Opposed(0, 1.2e-4)).fault, "") << "silence";
  EXPECT_EQ(ReadWav(Opposed(0, 1.6e-4)).fault, says);
  for (const int channel : {0, 1}) {
    const Outcome outcome = Drain(SampleReader::Wav(Pieces(Opposed(0.17), 999), "tone.wav", channel), 100);
    EXPECT_EQ(outcome.fault, "");
    EXPECT_FLOAT_EQ(outcome.samples[10], static_cast<float>((channel == 0 ? 0.1 : -0.083) * std::sin(1.0)));
  }
}

TEST(Wav, AChannelThatIsMissingIsNamed) {
  const auto says = [](const std::string& content, int channel) {
    return Drain(SampleReader::Wav(Pieces(content, 999), "tone.wav", channel), 100).error;
  };
  EXPECT_EQ(says(Opposed(1), 2), "tone.wav has no channel 2; it has channels 0 to 1");
  EXPECT_EQ(says(Plain(), 1), "tone.wav has no channel 1; it has channel 0 alone");
  EXPECT_EQ(says(Plain(), 0), "");
  EXPECT_EQ(Drain(SampleReader::Raw(Pieces(Pcm(), 9), "-", kRate, 1), 9).error,
            "- has no channel 1; it has channel 0 alone");
}

TEST(Bytes, WhatDoesNotBlockIsWaitedFor) {
  int ends[2];
  const int before = dup(STDIN_FILENO);
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  ASSERT_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  const std::string sent(1 << 20, 'x');
  std::thread writer([&] {
    EXPECT_FALSE(WriteBytes(ends[1], sent));
    close(ends[1]);
  });
  auto read = OpenBytes("-");
  ASSERT_TRUE(read);
  std::string received;
  std::uint8_t block[5000];
  for (std::size_t count = 1; count > 0;) {
    const auto some = (*read)(block, sizeof block);
    EXPECT_TRUE(some) << some.error().message;
    count = some ? *some : 0;
    received.append(block, block + count);
  }
  std::signal(SIGPIPE, SIG_IGN);  // should the reader have failed
  dup2(before, STDIN_FILENO);
  close(before);
  close(ends[0]);
  writer.join();
  EXPECT_EQ(received, sent);
}

TEST(Bytes, AFullDiskIsNamed) {
  const int full = open("/dev/full", O_WRONLY);
  const Failure failure = WriteBytes(full, "text");
  close(full);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->message,
            "cannot write to standard output: No space left on device; make room for it");
}

TEST(Wav, SamplesThatAreNotFiniteAreRefusedByPlace) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF, -HUGE_VALF}) {
    for (const std::size_t piece : {1, 4096}) {
      std::string pcm = std::string(8 * 500, '\0');
      pcm.replace(8 * 320 + 4, 4, Bytes(bad));
      const std::string content = Riff(Chunk("fmt ", Form{3, 2, 32}.Content()) + Chunk("data", pcm));
      EXPECT_EQ(ReadWav(content, piece).error,
                "tone.wav: sample 320 of channel 1 (20 ms) is not finite; export the recording again");
    }
  }
  for (const double bad : {std::nan(""), HUGE_VAL, 1e300}) {  // the last is finite, but not as float
    const std::string content = Riff(Chunk("fmt ", Form{3, 1, 64}.Content()) + Chunk("data", Bytes(0.0) + Bytes(bad)));
    EXPECT_NE(ReadWav(content).error.find("sample 1 of channel 0 (0 ms) is not finite"), std::string::npos);
  }
}

// A buzz that comes and goes, little-endian; `lost` is a byte that a copy took away, from 1 on.
std::string Buzz(int samples, int channels, std::size_t lost = 0) {
  std::string pcm;
  for (int i = 0; i < samples; ++i) {
    double sum = 0;
    for (int k = 1; k < 20; ++k) sum += std::sin(2 * M_PI * 120 * k * i / 16000) / k;
    const double loud = 1 + std::sin(2 * M_PI * 4 * i / 16000);
    for (int channel = 0; channel < channels; ++channel) pcm += Bytes(static_cast<std::int16_t>(2000 * sum * loud));
  }
  if (lost > 0) pcm.erase(lost, 1);
  return pcm;
}

TEST(Wav, BytesThatArePairedWronglyAreRefusedByPlace) {
  for (const int channels : {1, 2}) {
    auto file = [&](const std::string& pcm) {
      return Riff(Chunk("fmt ", Form{1, channels}.Content()) + Chunk("data", pcm));
    };
    EXPECT_EQ(ReadWav(file(Buzz(400000, channels))).error, "");
    for (const std::size_t lost : {1, 32001, 600001}) {
      const std::string error = ReadWav(file(Buzz(400000, channels, lost * static_cast<std::size_t>(channels)))).error;
      ASSERT_NE(error.find("tone.wav is noise from sample "), std::string::npos) << error;
      const auto sample = std::stoul(error.substr(error.find("sample ") + 7));
      EXPECT_GE(sample, lost / 2 / 512 * 512);
      EXPECT_LE(sample, lost / 2 + 4000);
      EXPECT_NE(error.find("paired wrongly"), std::string::npos);
    }
  }
  std::string swapped = Buzz(8000, 1);
  for (std::size_t i = 0; i < swapped.size(); i += 2) std::swap(swapped[i], swapped[i + 1]);
  EXPECT_NE(Drain(SampleReader::Raw(Pieces(swapped, 4096), "-", 16000), 1000).error.find("another byte order"),
            std::string::npos);
}

TEST(Wav, LoudSoundsAreNoWrongPairs) {
  std::mt19937 random(1);
  std::string pcm, coarse;
  for (int i = 0; i < 100000; ++i) {
    const auto sample = static_cast<std::int16_t>(random());
    pcm += Bytes(sample);
    coarse += Bytes(static_cast<std::int16_t>(sample & 0xFF00));
  }
  std::string clipped;
  for (int i = 0; i < 100000; ++i) {
    clipped += Bytes(static_cast<std::int16_t>(std::sin(2 * M_PI * 2500 * i / 16000 + 0.1) > 0 ? 32767 : -32768));
  }
  for (const std::string& sound : {pcm, coarse, clipped}) EXPECT_EQ(ReadWav(Plain(sound)).error, "");
}

TEST(Wav, ManyChannelsAreAveraged) {
  for (const int channels : {2, 3, 6, 64, 1024}) {
    std::string pcm;
    for (int frame = 0; frame < 3; ++frame) {
      for (int channel = 0; channel < channels; ++channel) pcm += Bytes<std::int16_t>(channel == 0 ? 16384 : 0);
    }
    const Outcome outcome = ReadWav(Riff(Chunk("fmt ", Form{1, channels}.Content()) + Chunk("data", pcm)), 1000, 2);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.samples, Floats(3, static_cast<float>(0.5 / channels)));
  }
}

TEST(Wav, AHugeSizeTakesNoMemoryAndAPipeMayNeverEnd) {
  std::size_t greatest = 0;
  std::uint64_t given = 0;
  const std::string head = Rf64("RF64", std::uint64_t{1} << 62).substr(0, 4 + 8 + 36 + 24 + 8);
  auto reader = SampleReader::Wav(
      [&](std::uint8_t* to, std::size_t size) -> Result<std::size_t> {
        greatest = std::max(greatest, size);
        for (std::size_t i = 0; i < size; ++i, ++given) to[i] = given < head.size() ? head[given] : 0;
        return size;
      },
      "endless");
  ASSERT_TRUE(reader) << reader.error().message;
  Floats block(100000);
  for (int i = 0; i < 1000; ++i) ASSERT_GT(*reader->Read(block.data(), block.size()), 30000u);
  EXPECT_LE(greatest, ByteQueue::kCapacity);
}

TEST(Wav, AFailureOfReadingIsPassedOn) {
  const std::string content = Plain();
  for (const std::size_t good : {0, 5, 12, 17, 30, 40, 44, 60}) {
    std::size_t position = 0;
    const ReadBytes read = [&](std::uint8_t* to, std::size_t size) -> Result<std::size_t> {
      if (position == good) return Error{ErrorCode::kUnreadable, "the disk is gone"};
      const std::size_t count = std::min(size, good - position);
      std::memcpy(to, content.data() + position, count);
      position += count;
      return count;
    };
    EXPECT_EQ(Drain(SampleReader::Wav(read, "tone.wav"), 100).error, "the disk is gone") << good;
  }
}

TEST(Raw, BytesAreCarriedOverBetweenReads) {
  for (std::size_t piece = 1; piece < 82; ++piece) {
    for (const std::size_t most : {1, 3, 100}) {
      const Outcome outcome = Drain(SampleReader::Raw(Pieces(Pcm(), piece), "standard input", kRate), most);
      EXPECT_EQ(outcome.samples, Expected());
      EXPECT_EQ(outcome.fault + outcome.error, "");
    }
  }
}

TEST(Raw, AnOddByteAtTheEndIsTold) {
  const Outcome outcome = Drain(SampleReader::Raw(Pieces(Pcm() + "x", 7), "standard input", kRate), 10);
  EXPECT_EQ(outcome.samples, Expected());
  EXPECT_EQ(outcome.fault, "standard input is cut short at second 0.00: it ends within a sample, after 40");
  EXPECT_TRUE(Drain(SampleReader::Raw(Pieces("", 1), "standard input", kRate), 10).samples.empty());
}

TEST(Raw, ARateWithoutSpeechIsRefused) {
  for (const int rate : {-1, 0, 999, 768001}) {
    const auto reader = SampleReader::Raw(Pieces("", 1), "standard input", rate);
    ASSERT_FALSE(reader);
    EXPECT_NE(reader.error().message.find(std::to_string(rate) + " samples a second"), std::string::npos);
  }
}

// A folder of its own for a test, as PATH if it holds recorders.
class Folder : public testing::Test {
 protected:
  Folder() {
    char name[] = "/tmp/tetraphone-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() override {
    std::filesystem::remove_all(path_);
    setenv("PATH", search_.c_str(), 1);
  }

  void Write(const std::string& name, const std::string& content) { std::ofstream(path_ + "/" + name) << content; }
  void Recorder(const std::string& name, const std::string& body) {
    Write(name, "#!/bin/sh\nPATH=/usr/bin:/bin\n" + body + "\n");
    chmod((path_ + "/" + name).c_str(), 0755);
  }
  Result<Capture> Start(double patience = 10) {
    setenv("PATH", path_.c_str(), 1);
    return Capture::Start(kRate, patience);
  }
  std::string Content(const std::string& name) {
    std::ostringstream content;
    content << std::ifstream(path_ + "/" + name).rdbuf();
    return content.str();
  }

  std::string path_;
  std::string search_ = std::getenv("PATH");
};

using Files = Folder;

TEST_F(Files, AFileIsRead) {
  Write("tone.wav", Plain());
  auto bytes = OpenBytes(path_ + "/tone.wav");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(Drain(SampleReader::Wav(*bytes, "tone.wav"), 10).samples, Expected());
}

TEST_F(Files, AMissingFileAndAFolderAreNamed) {
  const auto missing = OpenBytes(path_ + "/missing.wav");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find(path_ + "/missing.wav: No such file"), std::string::npos);
  auto folder = OpenBytes(path_);
  ASSERT_TRUE(folder);
  const Outcome outcome = Drain(SampleReader::Wav(*folder, path_), 10);
  EXPECT_NE(outcome.error.find("cannot read the recording " + path_ + ": Is a directory"), std::string::npos);
}

Outcome Drain(Result<Capture>& capture) {
  Outcome outcome;
  float block[100];
  for (;;) {
    const auto count = capture->Read(block, 100);
    if (!count) {
      outcome.error = count.error().message;
      return outcome;
    }
    if (*count == 0) return outcome;
    outcome.samples.insert(outcome.samples.end(), block, block + *count);
  }
}

using Recorders = Folder;

TEST_F(Recorders, NoneIsInstalled) {
  for (int i = 0; i < 2; ++i) {
    const auto capture = Start();
    ASSERT_FALSE(capture);
    EXPECT_NE(capture.error().message.find("no recorder is installed; install pw-record"), std::string::npos);
    Write("arecord", "not executable");
    std::filesystem::create_directory(path_ + "/parecord");
  }
}

TEST_F(Recorders, SamplesArriveInOddPieces) {
  Write("samples", Pcm());
  Recorder("arecord", "echo \"$@\" > " + path_ + "/arguments; dd if=" + path_ + "/samples bs=7 2>/dev/null");
  auto capture = Start();
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_EQ(capture->recorder(), "arecord");
  const Outcome outcome = Drain(capture);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.samples, Expected());
  EXPECT_EQ(Content("arguments"), "-q -t raw -f S16_LE -c 1 -F 50000 -r 16000\n");
}

TEST_F(Recorders, TheFirstThatDeliversSoundIsTaken) {
  Recorder("pw-record", "test $1 = --raw && exit 1; exec cat /dev/zero");  // an old one
  Recorder("parecord", "exec cat /dev/zero");
  EXPECT_EQ(Start()->recorder(), "pw-record");
  Recorder("pw-record", "echo 'Host is down' >&2; exit 1");
  EXPECT_EQ(Start()->recorder(), "parecord");
  Recorder("arecord", "exec cat /dev/zero");
  Recorder("parecord", "exit 1");
  EXPECT_EQ(Start()->recorder(), "arecord");
}

TEST_F(Recorders, WhatEndsAtOnceIsQuoted) {
  Recorder("pw-record", "echo usage >&2; echo 'error: Host is down' >&2; exit 1");
  Recorder("parecord", "kill -9 $$");
  Recorder("arecord", "seq 100000 >&2; printf 'no\\tsoundcards found\\n\\n' >&2; exit 3");
  const auto capture = Start();
  ASSERT_FALSE(capture);
  EXPECT_EQ(capture.error().message,
            "cannot record (arecord ended at once: \"no soundcards found\", parecord ended at once: signal 9, "
            "pw-record ended at once: \"error: Host is down\"); connect a microphone, or give a recording");
}

TEST_F(Recorders, OneThatEndsInBetweenIsQuotedAfterItsSound) {
  Write("samples", Pcm());
  Recorder("arecord", "cat " + path_ + "/samples; sleep 0.1; echo 'device disconnected' >&2; exit 1");
  auto capture = Start();
  ASSERT_TRUE(capture) << capture.error().message;
  const Outcome outcome = Drain(capture);
  EXPECT_EQ(outcome.samples, Expected());
  EXPECT_EQ(outcome.error,
            "the recording ended: arecord says \"device disconnected\"; see to the microphone and start again");
  EXPECT_EQ(Drain(capture).error, outcome.error) << "asked again";
}

TEST_F(Recorders, OneWithoutSoundIsNotWaitedForLong) {
  Recorder("pw-record", "while :; do echo waiting >&2; sleep 0.01; done");
  const auto capture = Start(0.3);
  ASSERT_FALSE(capture);
  EXPECT_NE(capture.error().message.find("pw-record delivers no sound for 300 ms"), std::string::npos);
}

TEST_F(Recorders, AStallLosesNothing) {
  Recorder("arecord", "dd if=/dev/zero bs=1000 count=600 oflag=nonblock 2>/dev/null");  // no room: lost
  auto capture = Start();
  ASSERT_TRUE(capture) << capture.error().message;
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_EQ(Drain(capture).samples.size(), 300000u);
}

bool Gone(const std::string& number) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (kill(std::stoi(number), 0) == 0) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

TEST_F(Recorders, TheRecorderEndsWithTheObject) {
  for (const char* trap : {"", "trap '' TERM INT;"}) {  // the second does not listen
    Recorder("arecord", trap + ("echo $$ > " + path_) + "/number; printf abcd; while :; do sleep 0.01; done");
    {
      auto capture = Start();
      ASSERT_TRUE(capture) << capture.error().message;
      EXPECT_FALSE(Capture::Start(kRate)) << "a second one at the same time";
    }
    EXPECT_TRUE(Gone(Content("number")));
  }
}

TEST_F(Recorders, ASignalEndsTheRecordingAndNotTheProcess) {
  for (const int number : {SIGINT, SIGTERM}) {
    Recorder("arecord", "echo $$ > " + path_ + "/number; head -c 64000 /dev/zero; while :; do sleep 0.01; done");
    auto capture = Start();
    ASSERT_TRUE(capture) << capture.error().message;
    std::thread signal([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      kill(getpid(), number);
    });
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = Drain(capture);
    signal.join();
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.samples.size(), 32000u) << "what was heard before the signal is read";
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
    EXPECT_TRUE(Gone(Content("number")));
  }
}

TEST_F(Recorders, ARecorderThatIgnoresSignalsIsEnded) {
  Recorder("arecord",
           "trap '' TERM; echo $$ > " + path_ + "/number; while :; do head -c 3200 /dev/zero; sleep 0.05; done");
  auto capture = Start();
  ASSERT_TRUE(capture) << capture.error().message;
  std::thread signal([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(getpid(), SIGINT);
  });
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = Drain(capture);
  signal.join();
  EXPECT_EQ(outcome.error, "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
  EXPECT_TRUE(Gone(Content("number")));
}

TEST_F(Recorders, SignalsDoAgainWhatTheyDid) {
  Recorder("arecord", "exec cat /dev/zero");
  struct sigaction action = {}, after = {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGINT, &action, nullptr);
  {
    ASSERT_TRUE(Start());
  }
  sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
  action.sa_handler = SIG_DFL;
  sigaction(SIGINT, &action, nullptr);
}

TEST_F(Recorders, AHundredLeaveNothingOpen) {
  Recorder("arecord", "exec cat /dev/zero");
  auto open = [] {
    const auto files = std::filesystem::directory_iterator("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const auto before = open();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Start());
  EXPECT_EQ(open(), before);
}

// The committed seeds of the fuzzer are these variants and faults; a first byte says how they are cut.
TEST(Corpus, HoldsTheVariants) {
  const std::string folder = std::filesystem::path(__FILE__).parent_path().string() + "/../fuzz/corpus/wav/";
  const bool write = std::getenv("TETRAPHONE_WRITE_CORPUS") != nullptr;
  std::vector<Fault> files = Faults();
  for (const Variant& variant : Variants()) files.push_back({variant.name, variant.content, ""});
  files.push_back({"raw", Pcm(), ""});
  files.push_back({"half-a-frame-more", HalfAFrameMore(), ""});
  files.push_back({"joined-other-rate", Plain() + Joined({1, 1, 16, 8000}, 10), ""});
  files.push_back({"joined-cut", Joined({}, 10, 64) + Plain(), ""});
  std::size_t total = 0;
  for (const Fault& file : files) {
    if (file.content.size() > 1000) continue;
    unsigned sum = 0;
    for (const char letter : file.name) sum += static_cast<unsigned char>(letter);
    const char cut = static_cast<char>(file.name == "raw" ? 0xB2 : sum % 128);
    const std::string expected = cut + file.content;
    const std::string path = folder + "seed-" + file.name;
    if (write) std::ofstream(path, std::ios::binary) << expected;
    std::ostringstream content;
    content << std::ifstream(path, std::ios::binary).rdbuf();
    EXPECT_EQ(content.str(), expected) << path << ": write it with TETRAPHONE_WRITE_CORPUS=1";
    total += expected.size();
  }
  EXPECT_GT(total, 5000u);
  EXPECT_LT(total, 40000u);
}

}  // namespace
}  // namespace tetraphone
