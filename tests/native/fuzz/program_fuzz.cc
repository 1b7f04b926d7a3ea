// libFuzzer target: the checks that a .pte file passes before an engine sees it, on any bytes with a right trailer.

#include "../recognizer/seal.h"
#include "model/program_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + size);
  tetraphone::Seal(&bytes);
  (void)tetraphone::ReadProgramFile(bytes.data(), bytes.size(), "it");
  return 0;
}
