// Mutations of a valid .pte file: each is refused with an error, or gives finite scores, the same by every engine that
// takes it; none crashes, none hangs.
//
//   mutations FILE COUNT SEED
//
// Bits flipped, words replaced, files cut, blocks swapped; every second mutation gets its checksum made right again.
// Prints how many were refused and how many ran; the exit status is 1 if the valid file itself does not run, or if
// engines differ.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "model/engine.h"
#include "programs.h"
#include "recognizer/recognizer.h"
#include "seal.h"

namespace {

using Bytes = std::vector<std::uint8_t>;

std::mt19937 generator;

std::size_t Below(std::size_t bound) { return bound == 0 ? 0 : generator() % bound; }

// Half of all places are drawn from the program itself, which is small beside the weights behind it.
std::size_t Place(const Bytes& bytes) {
  std::uint64_t program = bytes.size();
  if (generator() % 2 == 0 && bytes.size() > 24) std::memcpy(&program, bytes.data() + 16, 8);
  return Below(program < bytes.size() ? static_cast<std::size_t>(program) : bytes.size());
}

void Mutate(Bytes* bytes) {
  constexpr std::uint32_t kWords[] = {0, 1, 2, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
  for (std::size_t edits = 1 + Below(4); edits > 0 && bytes->size() > 4; --edits) {
    switch (generator() % 6) {
      case 0:
      case 1:
        (*bytes)[Place(*bytes)] ^= static_cast<std::uint8_t>(1u << Below(8));
        break;
      case 2:
      case 3: {
        const std::size_t place = std::min(Place(*bytes) & ~std::size_t{3}, bytes->size() - 4);
        std::uint32_t word;
        std::memcpy(&word, bytes->data() + place, 4);
        const std::uint32_t changed = generator() % 2 ? kWords[Below(std::size(kWords))] : word + 4 * Below(64) - 128;
        std::memcpy(bytes->data() + place, &changed, 4);
        break;
      }
      case 4: {  // two blocks swapped
        const std::size_t size = std::min<std::size_t>(4 << Below(6), bytes->size() / 2);
        const std::size_t a = Place(*bytes) & ~std::size_t{3};
        const std::size_t b = Place(*bytes) & ~std::size_t{3};
        if (a + size <= b && b + size <= bytes->size()) {
          std::swap_ranges(bytes->begin() + static_cast<std::ptrdiff_t>(a),
                           bytes->begin() + static_cast<std::ptrdiff_t>(a + size),
                           bytes->begin() + static_cast<std::ptrdiff_t>(b));
        }
        break;
      }
      default:
        bytes->resize(generator() % 2 ? Place(*bytes)
                                      : bytes->size() - Below(std::min<std::size_t>(bytes->size(), 64)));
    }
  }
}

// The scores of a second of noise by an engine, and rows of all programs; empty if it refuses the file or the scores.
std::vector<float> Scores(const Bytes& bytes, const char* engine) {
  if (tetraphone::ChooseEngine(engine)) std::abort();
  auto recognizer = tetraphone::Recognizer::Load(bytes.data(), bytes.size());
  if (!recognizer) return {};
  tetraphone::StreamOptions options;
  options.keep_scores = true;
  auto stream = recognizer->NewStream(options);
  if (!stream) return {};
  std::vector<float> noise(16000);
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<float>((i * 7919 % 2001) / 1000.0 - 1.0);
  if ((*stream)->Accept(noise.data(), noise.size(), 16000) || (*stream)->Finish() || !(*stream)->Poll()) return {};
  std::vector<float> scores = *(*stream)->TakeScores();
  const std::vector<float> rows = tetraphone::AllRows(bytes.data(), bytes.size());
  if (rows.empty()) return {};
  scores.insert(scores.end(), rows.begin(), rows.end());
  return scores;
}

// Whether it loads and gives scores. ExecuTorch also refuses faults of what neither engine reads; where both give
// scores, they are the same.
bool Runs(const Bytes& bytes) {
  const std::vector<float> scores = Scores(bytes, tetraphone::EngineAt(0)->name);
  for (std::size_t i = 1; tetraphone::EngineAt(i) != nullptr; ++i) {
    const char* engine = tetraphone::EngineAt(i)->name;
    const std::vector<float> others = Scores(bytes, engine);
    if (others.empty() || others == scores) continue;
    std::fprintf(stderr, "%s gives other scores than %s\n", engine, tetraphone::EngineAt(0)->name);
    std::exit(1);
  }
  return !scores.empty();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return std::fputs("usage: mutations FILE COUNT SEED\n", stderr), 2;
  std::ifstream file(arguments[1], std::ios::binary);
  const Bytes valid((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (std::size_t i = 0; tetraphone::EngineAt(i) != nullptr; ++i) {
    if (!Scores(valid, tetraphone::EngineAt(i)->name).empty()) continue;
    return std::fprintf(stderr, "%s does not run in %s\n", arguments[1], tetraphone::EngineAt(i)->name), 1;
  }
  generator.seed(static_cast<unsigned>(std::atoi(arguments[3])));
  const int mutations = std::atoi(arguments[2]);
  int ran = 0;
  for (int i = 0; i < mutations; ++i) {
    Bytes bytes = valid;
    Mutate(&bytes);
    if (i % 2 == 0) tetraphone::Seal(&bytes);
    alarm(60);  // a hang ends the process
    ran += Runs(bytes);
  }
  std::printf("%d mutations, %d of them with a right checksum: %d refused, %d gave phones\n", mutations,
              (mutations + 1) / 2, mutations - ran, ran);
}
