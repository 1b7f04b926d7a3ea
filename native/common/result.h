// A value or a typed error: nothing of the recogniser throws or aborts.

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tetraphone {

enum class ErrorCode : int {
  kInvalidArgument = 1,  // the caller's mistake: a rate, a count, an option, a sample that is not a number
  kUnreadable,           // no such file, or it cannot be read
  kNotAModel,            // not a file of `tetraphone export`, or cut short
  kVersion,              // written for another version of the library
  kDamaged,              // a checksum, size or index is wrong
  kOutOfMemory,
  kClosed,  // the stream was closed or finished, or the handle is none
};

struct Error {
  ErrorCode code;
  std::string message;  // one sentence: what is wrong, with the value and the mend
};

// Empty on success.
using Failure = std::optional<Error>;

template <typename T>
class Result {
 public:
  Result(T value) : content_(std::move(value)) {}
  Result(Error error) : content_(std::move(error)) {}

  explicit operator bool() const { return std::holds_alternative<T>(content_); }
  T& operator*() & { return *std::get_if<T>(&content_); }
  const T& operator*() const& { return *std::get_if<T>(&content_); }
  T operator*() && {
    return std::move(*std::get_if<T>(&content_));
  }  // by value: `for (x : *Poll())` outlives the Result
  T* operator->() { return std::get_if<T>(&content_); }
  const T* operator->() const { return std::get_if<T>(&content_); }
  const Error& error() const { return *std::get_if<Error>(&content_); }

 private:
  std::variant<T, Error> content_;
};

}  // namespace tetraphone
