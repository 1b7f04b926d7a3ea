// Hours of sound through streams: memory stays flat, times stay right, int8 does not drift from float32.
//
//   hours ENERGY INT8 FLOAT32 HOURS
//
// ENERGY hears a burst of noise every ten seconds. Prints what it found; the exit status is 1 if something is wrong.

#include <malloc.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "recognizer/recognizer.h"

namespace {

using tetraphone::Phone;
using tetraphone::Stream;

constexpr int kRate = 16000;
constexpr std::size_t kBlock = 10 * kRate;  // ten seconds, with a burst from 4.0 to 4.3
constexpr double kBurst = 4.0;
constexpr int kSettled = 60;  // blocks until streams have the room that they need
constexpr double kWindow = 0.0135;  // half a window, and a millisecond

struct Heard {
  std::vector<Phone> phones;
  std::vector<float> scores;
};

std::shared_ptr<Stream> Open(const char* path) {
  auto recognizer = tetraphone::Recognizer::Load(path);
  if (!recognizer) return std::fprintf(stderr, "%s\n", recognizer.error().message.c_str()), nullptr;
  tetraphone::StreamOptions options;
  options.keep_scores = true;
  auto stream = recognizer->NewStream(options);
  return stream ? *stream : nullptr;
}

bool Feed(Stream* stream, const std::vector<float>& samples, Heard* heard) {
  if (stream->Accept(samples.data(), samples.size(), kRate)) return false;
  auto phones = stream->Poll();
  auto scores = stream->TakeScores();
  if (!phones || !scores) return false;
  *heard = {std::move(*phones), std::move(*scores)};
  return true;
}

double Difference(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::fabs(static_cast<double>(a[i]) - b[i]);
  return sum / static_cast<double>(a.size());
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return std::fputs("usage: hours ENERGY INT8 FLOAT32 HOURS\n", stderr), 2;
  std::vector<float> block(kBlock);
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < kBlock; ++i) {
    state = state * 1664525u + 1013904223u;
    const double time = static_cast<double>(i) / kRate;
    const double loudness = time >= kBurst && time < kBurst + 0.3 ? 0.01 : 0.0;
    block[i] = static_cast<float>(loudness * (state / 2147483648.0 - 1.0));
  }
  const auto energy = Open(arguments[1]), int8 = Open(arguments[2]), float32 = Open(arguments[3]);
  if (!energy || !int8 || !float32) return 1;

  const int blocks = static_cast<int>(std::atof(arguments[4]) * 360);
  double first_drift = 0, last_drift = 0, worst_time = 0;
  std::size_t memory = 0, most_memory = 0;
  int bursts = 0;
  for (int b = 0; b < blocks; ++b) {
    if (b == kSettled) memory = mallinfo2().uordblks;
    if (b > kSettled) most_memory = std::max(most_memory, mallinfo2().uordblks);
    Heard times, coarse, fine;
    if (!Feed(energy.get(), block, &times) || !Feed(int8.get(), block, &coarse) || !Feed(float32.get(), block, &fine))
      return 1;
    for (const Phone& phone : times.phones) {
      worst_time = std::fmax(worst_time, std::fabs(phone.start - (b * 10.0 + kBurst)));
      ++bursts;
    }
    const double drift = Difference(coarse.scores, fine.scores);
    if (b < 6) first_drift = std::fmax(first_drift, drift);
    if (b >= blocks - 6) last_drift = std::fmax(last_drift, drift);
  }
  const double growth = most_memory > memory ? static_cast<double>(most_memory - memory) / 1024 : 0;
  std::printf(
      "%d blocks of 10 s: memory grew by %.1f KB, %d bursts, greatest error of a start %.4f s, int8 from float32 "
      "%.4f in the first minute, %.4f in the last\n",
      blocks, growth, bursts, worst_time, first_drift, last_drift);
  return growth <= 8 && bursts == blocks && worst_time <= kWindow && last_drift <= 1.05 * first_drift ? 0 : 1;
}
