// libFuzzer target: a lexicon of any bytes with a right magic and checksum, and what it says of words.

#include <string>

#include "common/crc32.h"
#include "lexicon/lexicon.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > std::size_t{1} << 16) return 0;
  std::vector<std::uint8_t> bytes(data, data + size);
  const char magic[] = "TETRALEX\1";
  bytes.insert(bytes.begin(), magic, magic + 9);
  const std::uint32_t checksum = tetraphone::Crc32(bytes.data(), bytes.size());
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(checksum >> 8 * i));
  const auto lexicon = tetraphone::Lexicon::Read(std::move(bytes), "it");
  if (!lexicon) return 0;
  const std::string words[] = {"a", "box", "o'clock", std::string(65, 'z')};
  for (const std::string& word : words) {
    (void)lexicon->Find(word);
    (void)lexicon->Guess(word);
  }
  return 0;
}
