// How functions of the C ABI fail.

#pragma once

#include <exception>
#include <new>
#include <string>

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
  } catch (const std::exception& error) {
    return Fail({ErrorCode::kInvalidArgument, std::string("the call failed: ") + error.what()});
  }
}

// Refuses a struct of another version.
template <typename Struct>
Failure CheckSize(const Struct& given, const std::string& name) {
  if (given.size == sizeof given) return std::nullopt;
  return Error{ErrorCode::kInvalidArgument, "a " + name + " of " + std::to_string(given.size) + " bytes, here it has " +
                                                std::to_string(sizeof given) +
                                                "; build the caller and the library from one version"};
}

}  // namespace tetraphone
