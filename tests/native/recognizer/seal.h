// Makes the trailer of a damaged .pte file right again, so that what lies behind the checksum is tested too.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/trailer.h"

namespace tetraphone {

inline void Seal(std::vector<std::uint8_t>* bytes) {
  if (bytes->size() < kTrailerBytes) bytes->resize(kTrailerBytes);
  const Trailer trailer = MakeTrailer(bytes->data(), bytes->size() - kTrailerBytes);
  std::copy(trailer.begin(), trailer.end(), bytes->end() - kTrailerBytes);
}

}  // namespace tetraphone
