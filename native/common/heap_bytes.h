// How much heap an object holds, counted by the object itself: its vectors' capacities, and what those hold in turn.
// The allocator's own overhead and small strings are not in it.

#pragma once

#include <cstddef>
#include <vector>

namespace tetraphone {

template <typename... T>
std::size_t HeapBytes(const std::vector<T>&... vectors) {
  return (std::size_t{0} + ... + (vectors.capacity() * sizeof(T)));
}

// Elements that hold memory themselves, as their heap_bytes() says.
template <typename T>
std::size_t NestedHeapBytes(const std::vector<T>& vector) {
  std::size_t bytes = HeapBytes(vector);
  for (const T& item : vector) bytes += item.heap_bytes();
  return bytes;
}

template <typename T>
std::size_t NestedHeapBytes(const std::vector<std::vector<T>>& vector) {
  std::size_t bytes = HeapBytes(vector);
  for (const std::vector<T>& item : vector) bytes += HeapBytes(item);
  return bytes;
}

}  // namespace tetraphone
