// Bytes of a file or a pipe, in and out; a descriptor that does not block is waited for.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "../common/result.h"

namespace tetraphone {

// A number; sound files' and all processors that we build for are little-endian.
template <typename T>
T As(const std::uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// Puts 1 to `size` bytes at `to` and gives how many; 0 at the end.
using ReadBytes = std::function<Result<std::size_t>(std::uint8_t* to, std::size_t size)>;

// The bytes of a file; of standard input for "-".
Result<ReadBytes> OpenBytes(const std::string& path);

// What helps against an error (of errno) of writing; where nothing special does, `otherwise`.
const char* MendOfWriting(int error, const char* otherwise);

// Writes all of it.
Failure WriteBytes(int descriptor, const std::string& bytes);

// Bytes that were read and not taken, in a buffer of fixed size.
class ByteQueue {
 public:
  static constexpr std::size_t kCapacity = 65536 + 64;

  static Result<ByteQueue> Make(ReadBytes read);

  // Reads some more; false at the end, where there is no room, or with a failure().
  bool More();
  // Reads until `count` bytes are there, if so many come.
  bool Need(std::size_t count);
  const std::uint8_t* data() const { return bytes_.get() + first_; }
  std::size_t size() const { return last_ - first_; }
  void Drop(std::size_t count);
  // Passes over `count` bytes; how many there were.
  std::uint64_t Skip(std::uint64_t count);
  // Of data() in all that was read.
  std::uint64_t position() const { return position_; }
  const Failure& failure() const { return failure_; }

 private:
  ByteQueue(ReadBytes read, std::unique_ptr<std::uint8_t[]> bytes) : read_(std::move(read)), bytes_(std::move(bytes)) {}

  ReadBytes read_;
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
  std::uint64_t position_ = 0;
  Failure failure_;
};

}  // namespace tetraphone
