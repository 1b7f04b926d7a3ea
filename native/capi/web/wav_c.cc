#include "wav_c.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../recordings/wav.h"
#include "../errors.h"
#include "../handles.h"

namespace {

using tetraphone::Fail;
using tetraphone::Handles;
using tetraphone::Result;
using tetraphone::SampleReader;
using tetraphone::With;

Handles<SampleReader>& Wavs() {
  static auto* handles = new Handles<SampleReader>;
  return *handles;
}

}  // namespace

TETRAPHONE_C_ABI uint64_t tetraphone_wav_open(const char* path, int32_t channel) {
  std::uint64_t handle = 0;
  tetraphone::Checked([&]() -> tetraphone::Failure {
    auto bytes = tetraphone::OpenBytes(path);
    if (!bytes) return bytes.error();
    Result<SampleReader> reader = SampleReader::Wav(std::move(*bytes), path, channel);
    if (!reader) return reader.error();
    handle = Wavs().Add(std::make_shared<SampleReader>(std::move(*reader)));
    return std::nullopt;
  });
  return handle;
}

TETRAPHONE_C_ABI int tetraphone_wav_close(uint64_t wav) {
  return Wavs().Remove(wav) == nullptr ? Fail(tetraphone::kNoHandle) : 0;
}

TETRAPHONE_C_ABI int tetraphone_wav_rate(uint64_t wav) {
  return With(Wavs(), wav, [](const SampleReader& reader) { return reader.rate(); });
}

TETRAPHONE_C_ABI int64_t tetraphone_wav_read(uint64_t wav, float* samples, size_t capacity) {
  return With(Wavs(), wav, [&](SampleReader& reader) -> std::int64_t {
    const Result<std::size_t> count = reader.Read(samples, capacity);
    return count ? static_cast<std::int64_t>(*count) : Fail(count.error());
  });
}

TETRAPHONE_C_ABI int64_t tetraphone_wav_problem(uint64_t wav, size_t index, char* text, size_t capacity) {
  return With(Wavs(), wav, [&](const SampleReader& reader) -> std::int64_t {
    std::vector<std::string> problems;
    for (const std::string& problem : {reader.fault(), reader.levels()}) {
      if (!problem.empty()) problems.push_back(problem);
    }
    return index < problems.size() ? tetraphone::CopyText(problems[index], text, capacity) : 0;
  });
}
