// The checksum of zip and PNG, by which a damaged file is known.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tetraphone {

// Of `data` behind what has the checksum `before`.
inline std::uint32_t Crc32(const std::uint8_t* data, std::size_t size, std::uint32_t before = 0) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < made.size(); ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0xEDB88320u : 0u);
      made[i] = value;
    }
    return made;
  }();
  std::uint32_t crc = ~before;
  for (std::size_t i = 0; i < size; ++i) crc = table[(crc ^ data[i]) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

}  // namespace tetraphone
