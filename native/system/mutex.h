// Mutual exclusion, where a system has threads.

#pragma once

#include <mutex>

namespace tetraphone {

#if defined(__wasm__)
struct Mutex {  // there is one thread
  void lock() {}
  void unlock() {}
};
#else
using Mutex = std::mutex;
#endif
using Lock = std::lock_guard<Mutex>;

}  // namespace tetraphone
