// The end of a program file, by which it is known as one of ours before anything else of it is read.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>

#include "../common/result.h"

namespace tetraphone {

// The magic, the version of the format (uint32) and the CRC-32 of all bytes before the trailer (uint32), little endian.
// ExecuTorch ignores bytes behind the program.
using Trailer = std::array<std::uint8_t, 16>;
constexpr std::size_t kTrailerBytes = std::tuple_size_v<Trailer>;

// Of a file with this content; export asks for it through the C ABI.
Trailer MakeTrailer(const std::uint8_t* content, std::size_t size);

// Fails on a file that is none of ours, of another version, or damaged; `name` is for errors.
Failure CheckTrailer(const std::uint8_t* data, std::size_t size, const std::string& name);

}  // namespace tetraphone
