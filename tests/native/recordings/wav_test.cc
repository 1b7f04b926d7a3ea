// The samples of WAV files and of bytes without a header: cut, joined, paired wrongly, of many channels, endless.

#include "recordings/wav.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "recordings.h"

namespace tetraphone {
namespace {

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
      "by --channel 0 (in a manifest, \"channel\": 0)";
  EXPECT_EQ(ReadWav(Opposed(0)).levels, says);
  EXPECT_EQ(ReadWav(Opposed(0.58)).levels, says);  // the mean has share² / (2 + 2 (share - 1)²) of the energy
  EXPECT_EQ(ReadWav(Opposed(0.6)).levels, "");
  EXPECT_EQ(ReadWav(Opposed(0, 1.2e-4)).levels, "") << "silence";
  EXPECT_EQ(ReadWav(Opposed(0, 1.6e-4)).levels, says);
  for (const int channel : {0, 1}) {
    const Outcome outcome = Drain(SampleReader::Wav(Pieces(Opposed(0.17), 999), "tone.wav", channel), 100);
    EXPECT_EQ(outcome.fault + outcome.levels, "");
    EXPECT_FLOAT_EQ(outcome.samples[10], static_cast<float>((channel == 0 ? 0.1 : -0.083) * std::sin(1.0)));
  }
}

TEST(Wav, OneChannelOfManyOrManyOfTheirOwnDoNotCancelOut) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> noise(-0.1f, 0.1f);
  for (const int channels : {2, 7, 64, 1024}) {
    std::string one, independent, opposed;
    for (int i = 0; i < 500; ++i) {
      const float speech = noise(random);
      for (int channel = 0; channel < channels; ++channel) {
        one += Bytes(channel == channels - 1 ? speech : 0.0f);
        independent += Bytes(noise(random));
        opposed += Bytes(channel == channels - 1 ? speech : channel == 0 ? -0.6f * speech : 0.0f);
      }
    }
    const auto levels = [&](const std::string& pcm) {
      return ReadWav(Riff(Chunk("fmt ", Form{3, channels, 32}.Content()) + Chunk("data", pcm))).levels;
    };
    EXPECT_EQ(levels(one) + levels(independent), "") << channels;
    EXPECT_NE(levels(opposed).find("--channel " + std::to_string(channels - 1) + " ("), std::string::npos) << channels;
  }
}

TEST(Wav, FloatsOnTheScaleOfIntegersAreTold) {
  const auto levels = [](float peak, int channel) {
    const std::string pcm = Bytes(0.5f) + Bytes(0.0f) + Bytes(-peak) + Bytes(0.0f);
    const std::string content = Riff(Chunk("fmt ", Form{3, 2, 32}.Content()) + Chunk("data", pcm));
    return Drain(SampleReader::Wav(Pieces(content, 999), "tone.wav", channel), 100).levels;
  };
  EXPECT_EQ(levels(24999.7f, -1),
            "tone.wav has samples up to 25000; export it with floats in [-1, 1], such as int16 samples over 32768");
  EXPECT_EQ(levels(24999.7f, 0), levels(24999.7f, -1));
  EXPECT_EQ(levels(24999.7f, 1) + levels(8.0f, -1), "");
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

}  // namespace
}  // namespace tetraphone
