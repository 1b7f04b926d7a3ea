// Prints the phones of samples: ./recognize MODEL.pte < samples, 16-bit little-endian mono at 16 kHz.

#include <tetraphone/recognizer/recognizer.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

int Fail(const tetraphone::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

}  // namespace

int main(int count, char** arguments) {
  auto recognizer = tetraphone::Recognizer::Load(count > 1 ? arguments[1] : "english-int8.pte");
  if (!recognizer) return Fail(recognizer.error());
  auto stream = recognizer->NewStream({});
  if (!stream) return Fail(stream.error());

  std::vector<std::int16_t> samples(1600);
  std::size_t size = 0;
  do {  // a block of sound, then the phones that nothing to come can change
    size = std::fread(samples.data(), sizeof samples[0], samples.size(), stdin);
    std::vector<float> block(size);
    for (std::size_t i = 0; i < size; ++i) block[i] = static_cast<float>(samples[i]) / 32768.0f;
    const auto failure = size > 0 ? (*stream)->Accept(block.data(), size, 16000) : (*stream)->Finish();
    if (failure) return Fail(*failure);
    auto phones = (*stream)->Poll();
    if (!phones) return Fail(phones.error());
    for (const tetraphone::Phone& phone : *phones) {
      std::printf("%.2f %.2f %s %.4f\n", phone.start, phone.end, phone.symbol.c_str(), phone.confidence);
    }
  } while (size > 0);
}
