// Reads numbers from bytes that are not trusted: what lies beyond them is 0, and the reader has failed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tetraphone {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size) {}

  bool failed() const { return failed_; }
  void Fail() { failed_ = true; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - next_); }
  const std::uint8_t* next() const { return next_; }

  std::uint8_t Byte() {
    if (next_ != end_) return *next_++;
    Fail();
    return 0;
  }

  // Seven bits a byte, the lowest first; the eighth says that more follow.
  std::uint32_t Number() {
    std::uint32_t number = 0;
    for (int shift = 0; shift < 28; shift += 7) {
      const std::uint8_t byte = Byte();
      number |= static_cast<std::uint32_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return number;
    }
    Fail();
    return 0;
  }

  // A number that is at least `least` and at most `most`; else the reader has failed and the number is `least`.
  std::uint32_t Number(std::uint32_t least, std::uint32_t most) {
    const std::uint32_t number = Number();
    if (number >= least && number <= most) return number;
    Fail();
    return least;
  }

  // A count of items that take at least a byte each; else the reader has failed and there are none.
  std::uint32_t Count() {
    const std::uint32_t count = Number();
    if (count <= left()) return count;
    Fail();
    return 0;
  }

  std::string Text() {
    const std::uint32_t size = Count();
    const std::string text(reinterpret_cast<const char*>(next_), size);
    next_ += size;
    return text;
  }

  // The next `size` bytes, which the caller reads; null, and the reader has failed, where there are fewer.
  const std::uint8_t* Skip(std::size_t size) {
    if (size > left()) return Fail(), nullptr;
    const std::uint8_t* skipped = next_;
    next_ += size;
    return skipped;
  }

 private:
  const std::uint8_t* next_;
  const std::uint8_t* end_;
  bool failed_ = false;
};

}  // namespace tetraphone
