// libFuzzer target: any bytes with a right trailer are refused with an error, or run.

#include "../recognizer/seal.h"
#include "recognizer/recognizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + size);
  tetraphone::Seal(&bytes);
  auto recognizer = tetraphone::Recognizer::Load(bytes.data(), bytes.size());
  if (!recognizer) return 0;
  auto stream = recognizer->NewStream({});
  if (!stream) return 0;
  std::vector<float> samples(3200, 0.25f);
  if (!(*stream)->Accept(samples.data(), samples.size(), 16000)) (void)(*stream)->Finish();
  (void)(*stream)->Poll();
  return 0;
}
