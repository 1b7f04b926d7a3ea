// The end of a program file, by which it is known as one of ours before anything else of it is read.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "../common/result.h"

namespace tetraphone {

// The file's trailer: magic, version and checksum of all bytes before it, 16 bytes, little endian (export/program.py).
constexpr std::size_t kTrailerBytes = 16;
constexpr char kMagic[] = "TETRAPHN";
constexpr std::uint32_t kFormatVersion = 2;
std::uint32_t Crc32(const std::uint8_t* data, std::size_t size);

// Fails on a file that is none of ours, of another version, or damaged; `name` is for errors.
Failure CheckTrailer(const std::uint8_t* data, std::size_t size, const std::string& name);

}  // namespace tetraphone
