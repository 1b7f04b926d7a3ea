// UTF-8, one character at a time.

#pragma once

#include <cstddef>
#include <cstdint>

namespace tetraphone {

// Length of the UTF-8 sequence at `text`, with its code point; 0 if there is none.
inline std::size_t DecodeUtf8(const char* text, std::size_t size, std::uint32_t& point) {
  const auto first = static_cast<std::uint8_t>(text[0]);
  if ((first >= 0x80 && first < 0xC2) || first > 0xF4) return 0;
  const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length > size) return 0;
  point = length == 1 ? first : first & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<std::uint8_t>(text[i]);
    if ((next & 0xC0) != 0x80) return 0;
    point = point << 6 | (next & 0x3F);
  }
  const bool shorter = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  return shorter || (point >= 0xD800 && point < 0xE000) || point > 0x10FFFF ? 0 : length;
}

}  // namespace tetraphone
