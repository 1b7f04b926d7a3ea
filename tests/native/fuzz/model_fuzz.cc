// libFuzzer target: any bytes with a right trailer are refused with an error, or run, in every engine.

#include <cstdlib>

#include "../recognizer/programs.h"
#include "../recognizer/seal.h"
#include "model/engine.h"
#include "recognizer/recognizer.h"

namespace {

void Run(const std::vector<std::uint8_t>& bytes) {
  auto recognizer = tetraphone::Recognizer::Load(bytes.data(), bytes.size());
  if (!recognizer) return;
  auto stream = recognizer->NewStream({});
  if (!stream) return;
  std::vector<float> samples(3200, 0.25f);
  if (!(*stream)->Accept(samples.data(), samples.size(), 16000)) (void)(*stream)->Finish();
  (void)(*stream)->Poll();
  (void)tetraphone::AllRows(bytes.data(), bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + size);
  tetraphone::Seal(&bytes);
  for (std::size_t i = 0; tetraphone::EngineAt(i) != nullptr; ++i) {
    if (tetraphone::ChooseEngine(tetraphone::EngineAt(i)->name)) std::abort();
    Run(bytes);
  }
  return 0;
}
