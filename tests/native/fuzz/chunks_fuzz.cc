// libFuzzer target: samples cut in any way, with any rates, resets and ends between, give the phones of one call.
//
// The input is a list of operations: a byte says how many samples come next (each two bytes), or to reset or finish.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "recognizer/recognizer.h"

namespace {

const tetraphone::Recognizer& Model() {
  static const auto* loaded = [] {
    const char* path = std::getenv("TETRAPHONE_FUZZ_MODEL");
    auto recognizer = tetraphone::Recognizer::Load(path == nullptr ? "model.pte" : path);
    if (!recognizer) std::fprintf(stderr, "%s\n", recognizer.error().message.c_str()), std::abort();
    return new tetraphone::Recognizer(std::move(*recognizer));
  }();
  return *loaded;
}

std::shared_ptr<tetraphone::Stream> NewStream() {
  tetraphone::StreamOptions options;
  options.keep_scores = true;
  auto stream = Model().NewStream(options);
  if (!stream) std::abort();
  return *stream;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  constexpr int kRates[] = {16000, 8000, 44100, 48000, 11025, 44056};
  const int rate = kRates[data[0] % 6];
  const auto pieces = NewStream();
  std::vector<float> samples;
  for (std::size_t at = 1; at < size;) {
    const std::uint8_t operation = data[at++];
    if (operation == 255) {
      if (pieces->Reset()) std::abort();
      samples.clear();
      continue;
    }
    std::vector<float> piece;
    for (int i = 0; i < operation * 4 && at + 1 < size; ++i, at += 2) {
      std::int16_t value;
      std::memcpy(&value, data + at, 2);
      piece.push_back(static_cast<float>(value) / 32768.0f);
    }
    if (pieces->Accept(piece.data(), piece.size(), rate)) std::abort();
    samples.insert(samples.end(), piece.begin(), piece.end());
  }
  const auto whole = NewStream();
  if (whole->Accept(samples.data(), samples.size(), rate)) std::abort();
  if (pieces->Finish() || whole->Finish()) std::abort();
  const auto a = pieces->TakeScores();
  auto b = whole->TakeScores();
  // A reset forgets scores that were not taken, so both are of the samples since then.
  if (!a || !b || *a != *b) std::abort();
  const auto x = pieces->Poll();
  const auto y = whole->Poll();
  if (!x || !y || x->size() != y->size()) std::abort();
  return 0;
}
