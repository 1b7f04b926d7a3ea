// The aligner's streams, on a small model whose head aligns by chance: programs.pte of the fuzz targets.

#include "aligner/aligner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace tetraphone {
namespace {

std::vector<float> Noise(std::size_t count) {
  std::vector<float> samples(count);
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const double loudness = i / 1600 % 3 == 0 ? 0.003 : 0.3;
    samples[i] = static_cast<float>(loudness * (state / 2147483648.0 - 1.0));
  }
  return samples;
}

constexpr const char* kPhones = "SH IY1 | HH AE D | Y AO R | D AA R K | S UW T";
const std::vector<std::string> kSymbols = {"SH", "IY", "HH", "AE", "D", "Y", "AO", "R",
                                           "D",  "AA", "R",  "K",  "S", "UW", "T"};

class Aligning : public testing::Test {
 protected:
  void SetUp() override {
    auto recognizer = Recognizer::Load(TETRAPHONE_MODELS "/programs.pte");
    ASSERT_TRUE(recognizer) << recognizer.error().message;
    auto aligner = Aligner::Make(*recognizer, nullptr, "");
    ASSERT_TRUE(aligner) << aligner.error().message;
    aligner_ = std::make_unique<Aligner>(*aligner);
  }

  std::shared_ptr<AlignmentStream> Made(const std::string& phones, AlignmentOptions options = {}) const {
    options.phones = true;
    auto stream = aligner_->NewStream(phones, options);
    EXPECT_TRUE(stream) << stream.error().message;
    return *stream;
  }

  // The phones as Poll gives them, of samples that come in pieces.
  static std::vector<AlignedPhone> Polled(AlignmentStream& stream, const std::vector<float>& samples,
                                          std::size_t piece, bool provisional = false) {
    std::vector<AlignedPhone> phones;
    const auto poll = [&] {
      for (const AlignedPhone& phone : *stream.Poll()) phones.push_back(phone);
    };
    for (std::size_t first = 0; first < samples.size(); first += piece) {
      EXPECT_FALSE(stream.Accept(samples.data() + first, std::min(piece, samples.size() - first), 16000));
      poll();
      if (!provisional) continue;
      std::size_t next = phones.size();
      for (const AlignedPhone& phone : *stream.Provisional()) EXPECT_EQ(phone.symbol, kSymbols[next++]);
    }
    const Failure failure = stream.Finish();
    EXPECT_FALSE(failure) << failure->message;
    poll();
    return phones;
  }

  std::unique_ptr<Aligner> aligner_;
};

void ExpectSame(const std::vector<AlignedPhone>& a, const std::vector<AlignedPhone>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].index, b[i].index);
    EXPECT_EQ(a[i].symbol, b[i].symbol);
    EXPECT_EQ(a[i].word, b[i].word);
    EXPECT_EQ(a[i].start, b[i].start) << i;
    EXPECT_EQ(a[i].end, b[i].end) << i;
    EXPECT_EQ(a[i].fit, b[i].fit);
  }
}

TEST_F(Aligning, GivesAllPhonesInOrderHoweverTheSamplesCome) {
  const std::vector<float> samples = Noise(24000);
  const auto stream = Made(kPhones);
  const std::vector<AlignedPhone> phones = Polled(*stream, samples, 24000);
  ASSERT_EQ(phones.size(), 15u);
  double last = 0;
  for (const AlignedPhone& phone : phones) {
    EXPECT_GE(phone.start, last);
    EXPECT_GE(phone.end, phone.start + 0.009);  // nearly four sub-frames, of a model whose frame is 10 ms
    EXPECT_LE(phone.fit, 0);
    last = phone.end;
  }
  EXPECT_LE(last, 1.5);
  EXPECT_EQ(phones[1].symbol, "IY");
  for (const std::size_t piece : {1u, 160u, 2000u, 12345u}) {
    const auto other = Made(kPhones);
    ExpectSame(Polled(*other, samples, piece, true), phones);
    ExpectSame(other->Aligned()->phones, phones);
  }
  ASSERT_FALSE(stream->Reset());
  ExpectSame(Polled(*stream, samples, 700), phones);
  EXPECT_EQ(stream->Seconds(), 1.5);
  EXPECT_GT(stream->HeapBytes(), 1000u);
}

TEST_F(Aligning, GivesTheSameBitsOnEveryProcessor) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  const auto add = [&](double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 64; i += 8) hash = (hash ^ (bits >> i & 0xff)) * 0x100000001b3u;
  };
  for (const AlignedPhone& phone : Polled(*Made(kPhones), Noise(48000), 48000)) {
    for (const double value : {phone.start, phone.end, phone.fit}) add(value);
  }
  EXPECT_EQ(hash, 0xce0d59d692498e1cu);
}

TEST_F(Aligning, SaysAllOfTheText) {
  const auto stream = Made(kPhones);
  EXPECT_EQ(stream->Words().size(), 5u);
  EXPECT_NE(stream->Aligned().error().message.find("not finished; finish it first"), std::string::npos);
  (void)Polled(*stream, Noise(24000), 1600);
  const Result<Alignment> found = stream->Aligned();
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->words.size(), 5u);
  EXPECT_EQ(found->words[0].text, "SH IY1");
  std::size_t phones = 0;
  double sum = 0, length = 0;
  for (const AlignedWord& word : found->words) {
    EXPECT_EQ(word.first, phones);
    EXPECT_EQ(word.start, found->phones[word.first].start);
    phones += word.phones;
    EXPECT_EQ(word.end, found->phones[phones - 1].end);
    EXPECT_FALSE(word.guessed);
  }
  EXPECT_EQ(phones, found->phones.size());
  for (std::size_t i = 0; i < found->words[3].phones; ++i) {
    const AlignedPhone& phone = found->phones[found->words[3].first + i];
    EXPECT_EQ(phone.word, 3u);
    sum += phone.fit * (phone.end - phone.start);
    length += phone.end - phone.start;
  }
  EXPECT_NEAR(found->words[3].fit, sum / length, 0.01);  // boundaries lie within sub-frames
  EXPECT_LT(found->fit, 0);
}

TEST_F(Aligning, RefusesWhatCannotBeAligned) {
  const auto failed = [&](const std::string& phones, const std::vector<float>& samples) {
    const auto stream = Made(phones);
    if (!samples.empty()) EXPECT_FALSE(stream->Accept(samples.data(), samples.size(), 16000));
    const Failure failure = stream->Finish();
    EXPECT_TRUE(failure);
    EXPECT_FALSE(stream->Aligned());
    return failure ? failure->message : "";
  };
  EXPECT_EQ(failed(kPhones, {}), "there is no sound; give a recording in which the text is said");
  EXPECT_EQ(failed(kPhones, Noise(500)),
            "the text takes 0.05 s at least, and the sound has 0.03 s; give the text of this sound alone");
  auto other = Recognizer::Load(TETRAPHONE_MODELS "/qlstm-int8.pte");
  ASSERT_TRUE(other);
  const std::string fault = Aligner::Make(*other, nullptr, "").error().message;
  EXPECT_NE(fault.find("qlstm-int8.pte cannot align words; take one that can"), std::string::npos);
  AlignmentOptions options;
  options.channel = -2;
  EXPECT_NE(aligner_->NewStream("SH", options).error().message.find("a channel of -2"), std::string::npos);
  EXPECT_EQ(aligner_->NewStream("ship", {}).error().message, "the dictionary lacks 'SHIP'; add it with its phones");
  const auto stream = Made(kPhones);
  stream->Close();
  EXPECT_EQ(stream->Poll().error().code, ErrorCode::kClosed);
  EXPECT_EQ(stream->Aligned().error().code, ErrorCode::kClosed);
  EXPECT_EQ(stream->Finish()->code, ErrorCode::kClosed);
}

TEST_F(Aligning, SaysEachTextWithinItsStretch) {
  AlignmentOptions options;
  options.phones = true;
  const auto made = [&](const std::vector<Stretch>& stretches) { return aligner_->NewStream(stretches, options); };
  const std::vector<Stretch> stretches = {
      {"SH IY1", 0.1, 0.4}, {"QQ", 0.4, 0.5}, {"HH AE D | Y AO R", 0.5, 0.521}, {"S", 0.6, 0.6005}, {"S UW T", 1.2}};
  const auto stream = *made(stretches);
  ASSERT_EQ(stream->Faults().size(), 2u);
  EXPECT_EQ(stream->Faults()[0].rfind("from 0.40 to 0.50 s: the model has no phone 'QQ'; it has", 0), 0u);
  EXPECT_EQ(stream->Faults()[1], "from 0.60 to 0.60 s: the text takes 0.00 s at least, and it is to be said in 0.00 s; "
                                 "give the stretch in which it is said");
  const std::vector<AlignedPhone> phones = Polled(*stream, Noise(24000), 1600);
  ASSERT_EQ(phones.size(), 11u);
  const std::size_t firsts[] = {0, 2, 8, 11}, of[] = {0, 2, 4};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = firsts[i]; k < firsts[i + 1]; ++k) {
      EXPECT_GE(phones[k].start, stretches[of[i]].start) << k;
      EXPECT_LE(phones[k].end, std::min(stretches[of[i]].end, 1.5)) << k;
      EXPECT_LT(phones[k].start, phones[k].end) << k;
    }
  }
  EXPECT_EQ(stream->Aligned()->faults, stream->Faults());
  EXPECT_EQ(made({{"QQ", 0, 1}}).error().message.rfind("the model has no phone 'QQ'", 0), 0u);
  EXPECT_EQ(made({}).error().message, "there is no text; give what is said");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Stretch& second : {Stretch{"S", 0.9, 2}, Stretch{"S", 1, 1}, Stretch{"S", nan, 2}, Stretch{"S", 1, nan}}) {
    EXPECT_NE(made({{"SH", 0.5, 1}, second}).error().message.find("follow one another"), std::string::npos);
  }
  const auto beyond = *made({{"SH", 0.5, 1}, {"S", 2, 3}});
  ASSERT_FALSE(beyond->Accept(Noise(24000).data(), 24000, 16000));
  EXPECT_EQ(beyond->Finish()->message,
            "a text is said from 2.00 to 3.00 s, and the sound has 1.50 s; give the stretches of this sound");
}

TEST_F(Aligning, KeepsScoresAndBandsOfTheNetworkIfAsked) {
  AlignmentOptions options;
  options.keep_scores = options.keep_bands = true;
  const auto stream = Made(kPhones, options);
  const std::vector<float> samples = Noise(24000);
  (void)Polled(*stream, samples, 1600);
  StreamOptions same;
  same.keep_scores = same.keep_bands = true;
  const auto plain = *Recognizer::Load(TETRAPHONE_MODELS "/programs.pte")->NewStream(same);
  ASSERT_FALSE(plain->Accept(samples.data(), samples.size(), 16000));
  ASSERT_FALSE(plain->Finish());
  EXPECT_EQ(*stream->TakeScores(), *plain->TakeScores());
  EXPECT_EQ(*stream->TakeBands(), *plain->TakeBands());
}

}  // namespace
}  // namespace tetraphone
