// The WAV reader on every header variant and fault.
//
// TETRAPHONE_WRITE_CORPUS=1 makes the files of tests/native/fuzz/corpus/wav that begin with "seed-" anew.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "recordings.h"

namespace tetraphone {
namespace {

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
