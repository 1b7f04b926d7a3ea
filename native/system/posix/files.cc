#include "../files.h"

#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/file.h>
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

std::FILE* OpenFile(const std::string& path, const char* mode) {
  if (mode[0] != 'r') return std::fopen(path.c_str(), mode);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  if (file < 0) return nullptr;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) return fdopen(file, mode);
  close(file);
  errno = EINVAL;
  return nullptr;
}

int OpenToRead(const std::string& path) { return open(path.c_str(), O_RDONLY | O_CLOEXEC); }

std::optional<FileStamp> StampOf(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
#if defined(__APPLE__)
  const timespec& time = status.st_mtimespec;
#else
  const timespec& time = status.st_mtim;
#endif
  return FileStamp{static_cast<std::uint64_t>(status.st_size), std::int64_t{time.tv_sec} * 1000000000 + time.tv_nsec};
}

Result<std::optional<FolderLock>> FolderLock::Take(const std::string& folder) {
  const std::string path = folder + "/.lock";
  while (true) {
    FolderLock lock(path, open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (lock.file_ < 0) return Error{ErrorCode::kUnreadable, std::strerror(errno)};
    struct stat held, there;
    if (flock(lock.file_, LOCK_EX | LOCK_NB) != 0) {
      close(std::exchange(lock.file_, -1));  // its file stays: it is the other's
      return std::optional<FolderLock>();
    }
    if (fstat(lock.file_, &held) == 0 && stat(path.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
        held.st_ino == there.st_ino) {
      return std::optional<FolderLock>(std::move(lock));
    }
    close(std::exchange(lock.file_, -1));  // who had it removed it meanwhile
  }
}

FolderLock::~FolderLock() {
  if (file_ < 0) return;
  unlink(path_.c_str());
  close(file_);
}

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
