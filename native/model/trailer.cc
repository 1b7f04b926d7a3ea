#include "trailer.h"

#include <cstring>

#include "../common/crc32.h"

namespace tetraphone {
namespace {

constexpr char kMagic[] = "TETRAPHN";
constexpr std::uint32_t kFormatVersion = 2;

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
