// What recogniser and stream say of their heap against what the allocator says.
//
//   heap FILE
//
// The exit status is 1 unless 85 % of it are counted, and not more than there is: a model has small strings, of streams
// nearly all is counted.

#include <malloc.h>

#include <cstdio>
#include <optional>
#include <vector>

#include "recognizer/recognizer.h"

namespace {

using tetraphone::Recognizer;
using tetraphone::Stream;

std::size_t InUse() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

bool Counted(const char* what, std::size_t said, std::size_t used) {
  const bool good = said <= used && 20 * said >= 17 * used;
  std::printf("%s: %zu bytes counted of %zu%s\n", what, said, used, good ? "" : ": WRONG");
  return good;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::fputs("usage: heap FILE\n", stderr), 2;
  mallopt(M_MXFAST, 0);  // and GLIBC_TUNABLES=glibc.malloc.tcache_count=0: what is freed counts as free
  std::vector<float> sound(2 * 44100);
  for (std::size_t i = 0; i < sound.size(); ++i) sound[i] = static_cast<float>(i * 7919 % 1000) / 2000;
  { auto first = Recognizer::Load(arguments[1]); }  // what is made once in a process
  std::vector<std::uint8_t> bytes(3000000);  // more than a model has
  std::FILE* file = std::fopen(arguments[1], "rb");
  if (file == nullptr) return std::perror(arguments[1]), 1;
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  std::fclose(file);

  bool good = true;
  for (const bool mapped : {true, false}) {
    const std::size_t before = InUse();
    std::optional<tetraphone::Result<Recognizer>> recognizer;
    recognizer.emplace(mapped ? Recognizer::Load(arguments[1]) : Recognizer::Load(bytes.data(), bytes.size()));
    if (!*recognizer) return std::fprintf(stderr, "%s\n", recognizer->error().message.c_str()), 1;
    good &= Counted(mapped ? "mapped model" : "copied model", (*recognizer)->model().heap_bytes(), InUse() - before);
    for (const int beam : {0, 8}) {
      for (const int rate : {16000, 44100}) {
        const std::size_t earlier = InUse();
        tetraphone::StreamOptions options;
        options.decoder.beam = beam;
        options.keep_bands = options.keep_scores = true;
        auto stream = (*recognizer)->NewStream(options);
        if (!stream || (*stream)->Accept(sound.data(), sound.size() / 2, rate, 2)) return 1;
        char what[64];
        std::snprintf(what, sizeof what, "stream with beam %d at %d Hz", beam, rate);
        good &= Counted(what, (*stream)->HeapBytes(), InUse() - earlier);
      }
    }
  }
  return good ? 0 : 1;
}
