// Memory whose bounds are watched.

#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

#if defined(__wasm__)
#include <cstdio>
#include <memory>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace tetraphone {

// `count` elements, wherever they lie.
template <typename T>
class Elements {
 public:
  T* data() { return data_; }
  const T* data() const { return data_; }
  std::int64_t size() const { return count_; }
  T& operator[](std::int64_t i) { return data_[i]; }
  const T& operator[](std::int64_t i) const { return data_[i]; }

 protected:
  explicit Elements(std::int64_t count) : count_(count) {}

  T* data_ = nullptr;
  std::int64_t count_;
};

#if defined(__wasm__)

// The last bytes of all memory: what reads or writes behind them traps. One object at a time has them.
class Edge {
 public:
  static constexpr std::size_t kBytes = 4 << 20;

  static Edge& The() {
    static Edge edge;
    return edge;
  }
  // Where `bytes` of them begin, if they are free; every third call finds them taken, so that all objects of a test
  // lie there in turn.
  std::uint8_t* Take(std::size_t bytes) {
    if (taken_ || bytes > kBytes || ++calls_ % 3 == 0) return nullptr;
    if (end_ != End()) {
      if (__builtin_wasm_memory_grow(0, kBytes / kPage) == static_cast<std::size_t>(-1)) return nullptr;
      end_ = End();
    }
    taken_ = true;
    ++given_;
    return reinterpret_cast<std::uint8_t*>(end_ - bytes);
  }
  void GiveBack() { taken_ = false; }
  std::int64_t given() const { return given_; }

 private:
  static constexpr std::size_t kPage = 65536;
  static std::size_t End() { return __builtin_wasm_memory_size(0) * kPage; }
  Edge() { std::free(std::malloc(256 << 20)); }  // the heap need not grow behind the edge

  std::size_t end_ = 0;
  bool taken_ = false;
  std::int64_t calls_ = 0;
  std::int64_t given_ = 0;
};

// `count` elements that end `shift` bytes before the end of all memory, or of a piece of it with marks on both sides.
template <typename T>
class Guarded : public Elements<T> {
 public:
  explicit Guarded(std::int64_t count, std::size_t shift = 0) : Elements<T>(count) {
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    std::uint8_t* data = Edge::The().Take(bytes + shift);
    if (data == nullptr) {
      size_ = (bytes + shift + kMarks - 1) / kMarks * kMarks + 2 * kMarks;
      memory_.reset(new std::uint8_t[size_]);
      std::memset(memory_.get(), kMark, size_);
      data = memory_.get() + size_ - kMarks - bytes - shift;
    }
    data_ = reinterpret_cast<T*>(data);
    std::memset(data, 0, bytes);
  }
  Guarded(Guarded&& other) noexcept
      : Elements<T>(other), memory_(std::move(other.memory_)), size_(other.size_) {
    other.data_ = nullptr;
  }
  ~Guarded() {
    if (data_ == nullptr) return;
    if (memory_ == nullptr) {
      Edge::The().GiveBack();
      return;
    }
    const std::uint8_t* begin = reinterpret_cast<const std::uint8_t*>(data_);
    Check(memory_.get(), begin);
    Check(begin + static_cast<std::size_t>(count_) * sizeof(T), memory_.get() + size_);
  }
 private:
  using Elements<T>::count_;
  using Elements<T>::data_;
  static constexpr std::size_t kMarks = 64;
  static constexpr std::uint8_t kMark = 0xa5;

  static void Check(const std::uint8_t* begin, const std::uint8_t* end) {
    for (; begin != end; ++begin) {
      if (*begin == kMark) continue;
      std::fprintf(stderr, "FAILED: written out of bounds\n");
      std::abort();
    }
  }

  std::unique_ptr<std::uint8_t[]> memory_;
  std::size_t size_ = 0;
};

#else

// `count` elements between two pages that may not be touched, ending `shift` bytes before the second.
template <typename T>
class Guarded : public Elements<T> {
 public:
  explicit Guarded(std::int64_t count, std::size_t shift = 0) : Elements<T>(count) {
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    const std::size_t pages = (bytes + shift + page - 1) / page * page;
    size_ = pages + 2 * page;
    base_ =
        static_cast<std::uint8_t*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) std::abort();
    mprotect(base_, page, PROT_NONE);
    mprotect(base_ + page + pages, page, PROT_NONE);
    data_ = reinterpret_cast<T*>(base_ + page + pages - bytes - shift);
  }
  Guarded(Guarded&& other) noexcept : Elements<T>(other), base_(other.base_), size_(other.size_) {
    other.base_ = nullptr;
  }
  ~Guarded() {
    if (base_ != nullptr) munmap(base_, size_);
  }
 private:
  using Elements<T>::data_;

  std::uint8_t* base_;
  std::size_t size_;
};

#endif

}  // namespace tetraphone
