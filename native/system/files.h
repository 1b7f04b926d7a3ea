// Files, the environment and numbers, where systems differ; names and values are UTF-8. posix/ and windows/ hold the
// two versions.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "../common/result.h"

namespace tetraphone {

// A variable of the environment; nullopt where it is not set.
std::optional<std::string> Environment(const char* name);

// As fopen, but what is read has to be a plain file: a pipe would be waited for.
std::FILE* OpenFile(const std::string& path, const char* mode);

// A descriptor of binary reading; -1 with errno.
int OpenToRead(const std::string& path);

// What tells one state of a plain file from another.
struct FileStamp {
  std::uint64_t size;
  std::int64_t modified;  // nanoseconds since 1970
};
// nullopt where there is no plain file of this name: neither a folder nor a pipe nor a device.
std::optional<FileStamp> StampOf(const std::string& path);

// Keeps other processes out of a folder while it lives, as common/files.py does in Python, by a file `.lock`; the
// system frees it when this process ends, however it does.
class FolderLock {
 public:
  // nullopt where another process has it; the error's message says why there can be none.
  static Result<std::optional<FolderLock>> Take(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  FolderLock(std::string path, int file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  int file_;  // a descriptor; -1: moved from
};

// Before a read or write that failed is made again: false, with errno as it is, where there is no use in that. Waits
// until a descriptor that does not block is ready.
bool AwaitReading(int descriptor);
bool AwaitWriting(int descriptor);

// Whether this errno of a write that failed says that there is no room.
bool IsNoRoom(int error);

// As strtod, in the C locale.
double ParseDouble(const char* text, char** end);

struct Mapping {
  const std::uint8_t* data = nullptr;  // nullptr if it is empty
  std::size_t size = 0;
};
// The bytes of a plain file; the error's message says why not, and names neither file nor mend.
Result<Mapping> MapFile(const std::string& path);
void UnmapFile(const Mapping& mapping);

}  // namespace tetraphone
