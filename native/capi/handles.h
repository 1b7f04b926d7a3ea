// Objects that callers of the C ABI know by numbers.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "../system/mutex.h"
#include "errors.h"

namespace tetraphone {

// Numbers for objects. An object lives on while a call uses it.
template <typename T>
class Handles {
 public:
  std::uint64_t Add(std::shared_ptr<T> object) {
    const Lock lock(mutex_);
    objects_.emplace(++last_, std::move(object));
    return last_;
  }
  std::shared_ptr<T> Find(std::uint64_t handle) {
    const Lock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  std::shared_ptr<T> Remove(std::uint64_t handle) {
    const Lock lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  std::vector<std::shared_ptr<T>> All() {
    const Lock lock(mutex_);
    std::vector<std::shared_ptr<T>> all;
    for (const auto& [handle, object] : objects_) all.push_back(object);
    return all;
  }

 private:
  Mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::shared_ptr<T>> objects_;
};

inline const Error kNoHandle{ErrorCode::kClosed,
                             "no such recogniser, stream or lexicon: it was closed, or never opened"};

// Runs `call` on the object behind a handle; nothing is thrown out of the library.
template <typename T, typename Call>
auto With(Handles<T>& handles, std::uint64_t handle, Call call) -> decltype(call(*handles.Find(handle))) {
  using Number = decltype(call(*handles.Find(handle)));
  try {
    const std::shared_ptr<T> object = handles.Find(handle);
    return object == nullptr ? static_cast<Number>(Fail(kNoHandle)) : call(*object);
  } catch (const std::bad_alloc&) {
    return static_cast<Number>(Fail(kNoMemory));
  }
}

}  // namespace tetraphone
