#include "../files.h"

#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

#include <cerrno>
#include <cstring>

namespace tetraphone {
namespace {

bool Await(int descriptor, short events) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
  pollfd ready{descriptor, events, 0};
  return poll(&ready, 1, -1) > 0 || errno == EINTR;
}

}  // namespace

std::optional<std::string> Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::FILE* OpenFile(const std::string& path, const char* mode) { return std::fopen(path.c_str(), mode); }

int OpenToRead(const std::string& path) { return open(path.c_str(), O_RDONLY | O_CLOEXEC); }

bool AwaitReading(int descriptor) { return Await(descriptor, POLLIN); }
bool AwaitWriting(int descriptor) { return Await(descriptor, POLLOUT); }

bool IsNoRoom(int error) { return error == ENOSPC || error == EDQUOT; }

double ParseDouble(const char* text, char** end) {
  static const locale_t classic = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(text, end, classic);
}

Result<Mapping> MapFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return Error{ErrorCode::kUnreadable, std::strerror(errno)};
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    return Error{ErrorCode::kUnreadable, "it is no file"};
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  const int error = errno;
  close(file);
  if (data == MAP_FAILED) return Error{ErrorCode::kOutOfMemory, std::strerror(error)};
  return Mapping{static_cast<const std::uint8_t*>(data), size};
}

void UnmapFile(const Mapping& mapping) {
  if (mapping.data != nullptr) munmap(const_cast<std::uint8_t*>(mapping.data), mapping.size);
}

}  // namespace tetraphone
