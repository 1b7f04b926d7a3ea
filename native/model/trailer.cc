#include "trailer.h"

#include <cstring>

namespace tetraphone {
namespace {

constexpr char kMagic[] = "TETRAPHN";
constexpr std::uint32_t kFormatVersion = 2;

std::uint32_t Crc32(const std::uint8_t* data, std::size_t size) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0xEDB88320u : 0u);
      made[i] = value;
    }
    return made;
  }();
  std::uint32_t crc = ~0u;
  for (std::size_t i = 0; i < size; ++i) crc = table[(crc ^ data[i]) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

}  // namespace

Trailer MakeTrailer(const std::uint8_t* content, std::size_t size) {
  const std::uint32_t numbers[] = {kFormatVersion, Crc32(content, size)};
  Trailer trailer;
  std::memcpy(trailer.data(), kMagic, 8);
  std::memcpy(trailer.data() + 8, numbers, 8);
  return trailer;
}

Failure CheckTrailer(const std::uint8_t* data, std::size_t size, const std::string& name) {
  if (size <= kTrailerBytes || std::memcmp(data + size - kTrailerBytes, kMagic, 8) != 0) {
    return Error{ErrorCode::kNotAModel,
                 name + " is not a Tetraphone model, or cut short; `tetraphone export` writes one"};
  }
  std::uint32_t version;
  std::uint32_t checksum;
  std::memcpy(&version, data + size - 8, 4);
  std::memcpy(&checksum, data + size - 4, 4);
  if (version != kFormatVersion) {
    const bool newer = version > kFormatVersion;
    return Error{ErrorCode::kVersion, name + " was made by " + (newer ? "a newer" : "an older") +
                                          " Tetraphone: it has format " + std::to_string(version) +
                                          ", this version reads " + std::to_string(kFormatVersion) +
                                          (newer ? "; update Tetraphone" : "; export the model again")};
  }
  if (Crc32(data, size - kTrailerBytes) != checksum) {
    return Error{ErrorCode::kDamaged, name + " is damaged (its checksum is wrong); copy or export it again"};
  }
  return std::nullopt;
}

}  // namespace tetraphone
