// Makes the trailer of a damaged .pte file right again, so that what lies behind the checksum is tested too.

#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "model/trailer.h"

namespace tetraphone {

inline void Seal(std::vector<std::uint8_t>* bytes) {
  if (bytes->size() < kTrailerBytes) bytes->resize(kTrailerBytes);
  std::uint8_t* trailer = bytes->data() + bytes->size() - kTrailerBytes;
  const std::uint32_t version = kFormatVersion;
  std::memcpy(trailer, kMagic, 8);
  std::memcpy(trailer + 8, &version, 4);
  const std::uint32_t checksum = Crc32(bytes->data(), bytes->size() - kTrailerBytes);
  std::memcpy(trailer + 12, &checksum, 4);
}

}  // namespace tetraphone
