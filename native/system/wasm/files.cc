#include "../files.h"

#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

namespace tetraphone {

std::optional<std::string> Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::FILE* OpenFile(const std::string& path, const char* mode) { return std::fopen(path.c_str(), mode); }

int OpenToRead(const std::string& path) { return open(path.c_str(), O_RDONLY); }

bool AwaitReading(int) { return errno == EINTR; }
bool AwaitWriting(int) { return errno == EINTR; }

bool IsNoRoom(int error) { return error == ENOSPC || error == EDQUOT; }

double ParseDouble(const char* text, char** end) {
  static const locale_t classic = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(text, end, classic);
}

// There is nothing to map with: the bytes are copied.
Result<Mapping> MapFile(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(OpenFile(path, "rb"), std::fclose);
  struct stat status;
  if (file == nullptr) return Error{ErrorCode::kUnreadable, std::strerror(errno)};
  if (fstat(fileno(file.get()), &status) != 0 || !S_ISREG(status.st_mode)) {
    return Error{ErrorCode::kUnreadable, "it is no file"};
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return Mapping{};
  std::unique_ptr<std::uint8_t[]> data(new (std::nothrow) std::uint8_t[size]);
  if (data == nullptr) return Error{ErrorCode::kOutOfMemory, std::strerror(ENOMEM)};
  if (std::fread(data.get(), 1, size, file.get()) != size) {
    return Error{ErrorCode::kUnreadable, std::strerror(errno)};
  }
  return Mapping{data.release(), size};
}

void UnmapFile(const Mapping& mapping) { delete[] mapping.data; }

}  // namespace tetraphone
