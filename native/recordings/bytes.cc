#include "bytes.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "../system/files.h"

namespace tetraphone {
namespace {

std::string Why() { return std::generic_category().message(errno); }

}  // namespace

const char* MendOfWriting(int error, const char* otherwise) {
  if (IsNoRoom(error)) return "make room for it";
  if (error == EFBIG) return "raise the limit of the size of files (ulimit -f)";
  return otherwise;
}

Result<ReadBytes> OpenBytes(const std::string& path) {
  const int descriptor = path == "-" ? STDIN_FILENO : OpenToRead(path);
  auto fault = [path] {
    return Error{ErrorCode::kUnreadable, "cannot read the recording " + path + ": " + Why() + "; give a readable file"};
  };
  if (descriptor < 0) return fault();
  const std::shared_ptr<const int> file(new int(descriptor), [](const int* number) {
    if (*number != STDIN_FILENO) close(*number);
    delete number;
  });
  return ReadBytes([file, fault](std::uint8_t* to, std::size_t size) -> Result<std::size_t> {
    ssize_t count;
    do {
      count = read(*file, to, size);
    } while (count < 0 && AwaitReading(*file));
    if (count < 0) return fault();
    return static_cast<std::size_t>(count);
  });
}

Failure WriteBytes(int descriptor, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t count = write(descriptor, bytes.data() + done, bytes.size() - done);
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (!AwaitWriting(descriptor)) {
      const char* const mend = MendOfWriting(errno, "send it elsewhere");
      return Error{ErrorCode::kUnreadable, "cannot write to standard output: " + Why() + "; " + mend};
    }
  }
  return std::nullopt;
}

Result<ByteQueue> ByteQueue::Make(ReadBytes read) {
  std::unique_ptr<std::uint8_t[]> bytes(new (std::nothrow) std::uint8_t[kCapacity]());
  if (!bytes) return Error{ErrorCode::kOutOfMemory, "no memory for a recording; close other programs"};
  return ByteQueue(std::move(read), std::move(bytes));
}

bool ByteQueue::More() {
  if (first_ > 0) {
    std::memmove(bytes_.get(), data(), size());
    last_ -= first_;
    first_ = 0;
  }
  if (last_ == kCapacity || failure_) return false;
  const Result<std::size_t> count = read_(bytes_.get() + last_, kCapacity - last_);
  if (!count) failure_ = count.error();
  const std::size_t more = count ? std::min(*count, kCapacity - last_) : 0;
  last_ += more;
  return more > 0;
}

bool ByteQueue::Need(std::size_t count) {
  while (size() < count && More()) {
  }
  return size() >= count;
}

void ByteQueue::Drop(std::size_t count) {
  first_ += count;
  position_ += count;
}

std::uint64_t ByteQueue::Skip(std::uint64_t count) {
  std::uint64_t done = 0;
  do {
    const std::size_t here = std::min<std::uint64_t>(count - done, size());
    Drop(here);
    done += here;
  } while (done < count && More());
  return done;
}

}  // namespace tetraphone
