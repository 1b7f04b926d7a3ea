// Streams of one recogniser in many threads, resets and closes among them; for ThreadSanitizer.
//
//   streams FILE STREAMS
//
// The exit status is 1 unless every stream that was not closed gives the phones of one alone.

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "recognizer/recognizer.h"

namespace {

using tetraphone::Phone;
using tetraphone::Stream;

std::vector<float> Sound(std::size_t seed) {
  std::vector<float> samples(8000);
  std::uint32_t state = static_cast<std::uint32_t>(seed) + 1;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    const double loudness = i / 1600 % 2 == 0 ? 0.3 : 0.003;
    samples[i] = static_cast<float>(loudness * (state / 2147483648.0 - 1.0));
  }
  return samples;
}

bool Hear(Stream* stream, const std::vector<float>& samples, std::size_t piece, std::vector<Phone>* phones) {
  for (std::size_t first = 0; first < samples.size(); first += piece) {
    if (stream->Accept(samples.data() + first, std::min(piece, samples.size() - first), 16000)) return false;
    (void)stream->Provisional();
  }
  if (stream->Finish()) return false;
  auto found = stream->Poll();
  if (!found) return false;
  *phones = std::move(*found);
  return true;
}

bool Same(const std::vector<Phone>& a, const std::vector<Phone>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Phone& x, const Phone& y) {
    return x.index == y.index && x.start == y.start && x.end == y.end && x.confidence == y.confidence;
  });
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return std::fputs("usage: streams FILE STREAMS\n", stderr), 2;
  auto recognizer = tetraphone::Recognizer::Load(arguments[1]);
  if (!recognizer) return std::fprintf(stderr, "%s\n", recognizer.error().message.c_str()), 1;
  const std::size_t streams = static_cast<std::size_t>(std::atoi(arguments[2]));

  std::vector<std::vector<Phone>> alone(streams), together(streams);
  for (std::size_t i = 0; i < streams; ++i) {
    auto stream = recognizer->NewStream({});
    if (!stream || !Hear(stream->get(), Sound(i), 1600, &alone[i])) return std::fputs("a stream failed\n", stderr), 1;
  }
  std::vector<char> good(streams, 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < streams; ++i) {
    threads.emplace_back([&, i] {
      auto stream = recognizer->NewStream({});
      good[i] = stream && Hear(stream->get(), Sound(i), 100 + 31 * i, &together[i]) && Same(together[i], alone[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();

  // Closed under the hands of a thread that is in a call.
  for (std::size_t i = 0; i < streams; ++i) {
    auto stream = recognizer->NewStream({});
    if (!stream) return std::fputs("a stream failed\n", stderr), 1;
    const std::vector<float> samples = Sound(i);
    std::thread busy([&] {
      while (!(*stream)->Accept(samples.data(), samples.size(), 16000)) continue;
    });
    if (i % 2 == 0) std::this_thread::yield();
    (*stream)->Close();
    busy.join();
  }
  std::size_t same = 0;
  for (const char one : good) same += one != 0;
  std::printf("%zu of %zu streams at once gave the phones of one alone\n", same, streams);
  return same == streams ? 0 : 1;
}
