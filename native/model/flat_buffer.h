// Reads a flatbuffer of which nothing is trusted: each offset, index and size is checked before it is followed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tetraphone {

struct Fault {  // thrown by readers of a program, caught in ReadProgramFile
  std::string what;
  const char* mend = "; export the model again";
};

inline void Require(bool holds, const char* what) {
  if (!holds) throw Fault{what};
}

// Bytes of the file; every access is checked.
struct FlatBytes {
  const std::uint8_t* data;
  std::size_t size;

  template <typename T>
  T At(std::size_t position) const {
    Require(position <= size && size - position >= sizeof(T), "an offset points outside the program");
    T value;
    std::memcpy(&value, data + position, sizeof value);
    return value;
  }
  std::size_t Follow(std::size_t position) const { return position + At<std::uint32_t>(position); }
};

// A flatbuffer vector of scalars, or of offsets to tables.
class Vector {
 public:
  Vector() = default;
  Vector(const FlatBytes& bytes, std::size_t position, std::size_t width)
      : bytes_(bytes), first_(position + 4), count_(bytes.At<std::uint32_t>(position)) {
    Require(first_ <= bytes.size && count_ <= (bytes.size - first_) / width, "a list reaches beyond the program");
  }
  std::size_t size() const { return count_; }
  template <typename T>
  T Scalar(std::size_t index) const {
    Require(index < count_, "an index is beyond its list");
    return bytes_.At<T>(first_ + index * sizeof(T));
  }
  class Table Table(std::size_t index) const;

 private:
  FlatBytes bytes_{nullptr, 0};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

// Fields by their place in ExecuTorch's schema (program.fbs), which only ever grows at the ends of tables.
class Table {
 public:
  Table(const FlatBytes& bytes, std::size_t position) : bytes_(bytes), position_(position) {
    const auto back = static_cast<std::int64_t>(bytes.At<std::int32_t>(position));
    const std::int64_t table = static_cast<std::int64_t>(position) - back;
    Require(table >= 0, "an offset points outside the program");
    vtable_ = static_cast<std::size_t>(table);
    slots_ = bytes.At<std::uint16_t>(vtable_);
  }
  bool Has(std::size_t field) const { return Place(field) != 0; }
  template <typename T>
  T Scalar(std::size_t field, T otherwise = 0) const {
    const std::size_t place = Place(field);
    return place == 0 ? otherwise : bytes_.At<T>(place);
  }
  Table Child(std::size_t field) const { return {bytes_, Target(field)}; }
  template <typename T>
  Vector List(std::size_t field) const {
    return Has(field) ? Vector(bytes_, Target(field), sizeof(T)) : Vector();
  }
  Vector Tables(std::size_t field) const { return List<std::uint32_t>(field); }
  std::string_view Text(std::size_t field) const {
    const std::size_t target = Target(field);
    const Vector characters(bytes_, target, 1);
    return {reinterpret_cast<const char*>(bytes_.data + target + 4), characters.size()};
  }

 private:
  std::size_t Place(std::size_t field) const {
    const std::size_t slot = 4 + 2 * field;
    const std::size_t offset = slot + 2 <= slots_ ? bytes_.At<std::uint16_t>(vtable_ + slot) : 0;
    return offset == 0 ? 0 : position_ + offset;
  }
  std::size_t Target(std::size_t field) const {
    Require(Has(field), "a field is missing");
    return bytes_.Follow(Place(field));
  }

  FlatBytes bytes_;
  std::size_t position_;
  std::size_t vtable_ = 0;
  std::size_t slots_ = 0;
};

inline Table Vector::Table(std::size_t index) const {
  Require(index < count_, "an index is beyond its list");
  return {bytes_, bytes_.Follow(first_ + 4 * index)};
}

}  // namespace tetraphone
