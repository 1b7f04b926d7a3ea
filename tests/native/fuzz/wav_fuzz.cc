// libFuzzer target for the WAV reader. The first byte says how the rest arrives (the most bytes a read, the most
// samples a call) and whether it has a header. However it is cut, the samples are the same, finite, and no more than
// the bytes. The corpus is made by tests/native/recordings/wav.headers_test.cc (seed-*) and by long runs.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "recordings/wav.h"

namespace {

using tetraphone::ReadBytes;
using tetraphone::Result;
using tetraphone::SampleReader;

struct Outcome {
  std::string error;
  std::string fault;
  int rate = 0;
  std::vector<float> samples;
};

Outcome ReadAll(const std::uint8_t* data, std::size_t size, std::size_t bytes, std::size_t most, bool raw) {
  std::size_t position = 0;
  const ReadBytes read = [&](std::uint8_t* to, std::size_t room) -> Result<std::size_t> {
    const std::size_t count = std::min({room, bytes, size - position});
    if (count > 0) std::memcpy(to, data + position, count);
    position += count;
    return count;
  };
  Outcome outcome;
  auto reader = raw ? SampleReader::Raw(read, "fuzz", 16000) : SampleReader::Wav(read, "fuzz");
  if (!reader) {
    outcome.error = reader.error().message;
    return outcome;
  }
  outcome.rate = reader->rate();
  std::vector<float> block(most);
  for (;;) {
    const auto count = reader->Read(block.data(), most);
    if (!count) {
      outcome.error = count.error().message;
      return outcome;
    }
    if (*count == 0) break;
    if (*count > most) std::abort();
    outcome.samples.insert(outcome.samples.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(*count));
    if (outcome.samples.size() > size) std::abort();
  }
  outcome.fault = reader->fault() + reader->levels();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t bytes = 1 + (data[0] & 15);
  const std::size_t most = 1 + (data[0] >> 4 & 7);
  const bool raw = data[0] >> 7 != 0;
  const Outcome whole = ReadAll(data + 1, size - 1, size, 4096, raw);
  const Outcome parts = ReadAll(data + 1, size - 1, bytes, most, raw);
  if (parts.error != whole.error || parts.fault != whole.fault || parts.rate != whole.rate) std::abort();
  // Before an error, blocks of another size have given another part.
  const std::size_t common = std::min(parts.samples.size(), whole.samples.size());
  if (whole.error.empty() && parts.samples.size() != whole.samples.size()) std::abort();
  if (common > 0 && std::memcmp(parts.samples.data(), whole.samples.data(), common * sizeof(float)) != 0) std::abort();
  for (const float sample : parts.samples) {
    if (!std::isfinite(sample)) std::abort();
  }
  return 0;
}
