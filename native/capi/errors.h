// How functions of the C ABI fail.

#pragma once

#include <new>

#include "../common/result.h"

#define TETRAPHONE_C_ABI extern "C" __attribute__((visibility("default")))

namespace tetraphone {

inline const Error kNoMemory{ErrorCode::kOutOfMemory, "out of memory"};

// Keeps the message for tetraphone_error() of this thread; the code to return.
int Fail(const Error& error);

inline int Code(const Failure& failure) { return failure ? Fail(*failure) : 0; }

template <typename Check>
int Checked(Check check) {
  try {
    return Code(check());
  } catch (const std::bad_alloc&) {
    return Fail(kNoMemory);
  }
}

}  // namespace tetraphone
