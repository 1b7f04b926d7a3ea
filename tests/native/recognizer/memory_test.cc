// What streams allocate: the program's own operator new counts.

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "../common/sounds.h"
#include "../decoder/decoding.h"
#include "../frontend/front_end.h"

namespace {
std::atomic<std::size_t> allocations{0}, live_bytes{0};
}  // namespace

// Not inlined, or GCC takes new and free for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  ++allocations;
  live_bytes += malloc_usable_size(block);
  return block;
}
[[gnu::noinline]] void operator delete(void* block) noexcept {
  if (block != nullptr) live_bytes -= malloc_usable_size(block);
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { operator delete(block); }

namespace tetraphone {
namespace {

TEST(Decoder, MemoryDoesNotGrowWithTheStream) {
  // Speech; noise; no reason for any output; silence; rivals that never part: each for a while, again and again.
  const std::vector<Scores> kinds = {Random(7).Speech(1000, 6),
                                     Random(8).Frames(997, 6, 1.0),
                                     {{0, 0, 0, 0, 0, 0}},
                                     {{9, 0, 0, 0, 0, 0}},
                                     {{5, 5, 5, 0, 0, 0}, {6, 5, 5, 0, 0, 0}}};
  constexpr std::int64_t kWhile = 10007;
  DecoderOptions with_grammar = BeamOf(8);
  with_grammar.grammar = GrammarOf(kAmbiguous);
  with_grammar.grammar_scale = 0.7;
  with_grammar.phone_bonus = 0.3;
  const struct {
    DecoderOptions options;
    std::int64_t frames;
  } kStreams[] = {{{}, 1000000}, {BeamOf(4), 1000000}, {BeamOf(4, 0), 200000}, {with_grammar, 200000}};
  for (const auto& stream : kStreams) {
    const std::size_t before = live_bytes;
    std::size_t most = 0;
    std::int64_t last = -1, tokens = 0;
    Decoder decoder = MakeDecoder(stream.options.grammar ? kPhones.size() : 5, stream.options);
    for (std::int64_t t = 0; t < stream.frames; ++t) {
      const Scores& scores = kinds[static_cast<std::size_t>(t / kWhile) % kinds.size()];
      decoder.Accept(scores[static_cast<std::size_t>(t) % scores.size()].data());
      if (t % 100 != 0) continue;
      most = std::max(most, live_bytes - before);
      for (const Token& token : decoder.Take()) {
        ASSERT_GT(token.first, last);
        last = token.last;
        ++tokens;
      }
      const bool spoken = &scores == &kinds[0] && t % kWhile > 500 && !stream.options.grammar;
      ASSERT_GT(last, spoken ? t - 200 : -2);
    }
    EXPECT_GT(tokens, stream.frames / 6);
    EXPECT_LT(most, std::size_t{1} << 14);
  }
}

TEST(Features, AWarmStreamAllocatesNothing) {
  FrontEnd front_end = Plain(Options());
  const std::vector<float> samples = Voice(16000);
  std::vector<float> inputs;
  std::size_t seen = 0;
  const auto second = [&] {
    for (std::size_t first = 0; first < samples.size(); first += 1600) {
      front_end.Accept(samples.data() + first, 1600);
      front_end.TakeInputs(&inputs);
      seen += inputs.size();
    }
  };
  second();
  const std::size_t before = allocations;
  for (int i = 0; i < 20; ++i) second();
  EXPECT_EQ(allocations, before);
  EXPECT_GT(seen, 20u * 30 * 480);
}

}  // namespace
}  // namespace tetraphone
