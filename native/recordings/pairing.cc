#include "pairing.h"

#include <bitset>
#include <cstdlib>

namespace tetraphone {
namespace {

constexpr std::uint64_t kSpan = 512;  // blocks, of which chance may make kMostWrong
constexpr int kMostWrong = 1;

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

}  // namespace tetraphone
