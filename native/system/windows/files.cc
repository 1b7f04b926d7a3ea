#include "../files.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/locking.h>
#include <sys/stat.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <cstring>

#include "wide.h"

namespace tetraphone {
namespace {

std::string Why() {
  const DWORD code = GetLastError();
  switch (code) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
      return "No such file or directory";
    case ERROR_ACCESS_DENIED:
      return "Permission denied, or it is a folder";
    case ERROR_SHARING_VIOLATION:
      return "another program uses it";
    default:
      return "Windows gives error " + std::to_string(code);
  }
}

}  // namespace

std::wstring Wide(const std::string& text) {
  const int length = MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), nullptr, 0);
  std::wstring wide(static_cast<std::size_t>(length), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), static_cast<int>(text.size()), wide.data(), length);
  return wide;
}

std::string Narrow(const wchar_t* text) {
  const int length = WideCharToMultiByte(CP_UTF8, 0, text, -1, nullptr, 0, nullptr, nullptr);  // with the zero
  std::string narrow(static_cast<std::size_t>(length), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text, -1, narrow.data(), length, nullptr, nullptr);
  narrow.resize(narrow.empty() ? 0 : narrow.size() - 1);
  return narrow;
}

std::optional<std::string> Environment(const char* name) {
  const wchar_t* value = _wgetenv(Wide(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(Narrow(value));
}

std::FILE* OpenFile(const std::string& path, const char* mode) {
  return _wfopen(Wide(path).c_str(), Wide(mode).c_str());
}

int OpenToRead(const std::string& path) { return _wopen(Wide(path).c_str(), _O_RDONLY | _O_BINARY | _O_NOINHERIT); }

std::optional<FileStamp> StampOf(const std::string& path) {
  const HANDLE file = CreateFileW(Wide(path).c_str(), 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                  nullptr, OPEN_EXISTING, 0, nullptr);  // which opens no folder
  if (file == INVALID_HANDLE_VALUE) return std::nullopt;
  BY_HANDLE_FILE_INFORMATION found{};
  const bool is_file = GetFileType(file) == FILE_TYPE_DISK && GetFileInformationByHandle(file, &found);
  CloseHandle(file);
  if (!is_file) return std::nullopt;
  const auto joined = [](DWORD high, DWORD low) { return static_cast<std::uint64_t>(high) << 32 | low; };
  constexpr std::int64_t k1970 = 116444736000000000;  // in units of 100 ns since 1601
  const FILETIME& time = found.ftLastWriteTime;
  const auto modified = static_cast<std::int64_t>(joined(time.dwHighDateTime, time.dwLowDateTime));
  return FileStamp{joined(found.nFileSizeHigh, found.nFileSizeLow), (modified - k1970) * 100};
}

Result<std::optional<FolderLock>> FolderLock::Take(const std::string& folder) {
  const std::string path = folder + "/.lock";
  const int flags = _O_RDWR | _O_CREAT | _O_BINARY | _O_NOINHERIT;
  FolderLock lock(path, _wopen(Wide(path).c_str(), flags, _S_IREAD | _S_IWRITE));
  if (lock.file_ < 0) return Error{ErrorCode::kUnreadable, std::strerror(errno)};
  if (_locking(lock.file_, _LK_NBLCK, 1) == 0) return std::optional<FolderLock>(std::move(lock));
  _close(std::exchange(lock.file_, -1));
  return std::optional<FolderLock>();
}

FolderLock::~FolderLock() {
  if (file_ < 0) return;
  _close(file_);  // what is open cannot be removed
  _wunlink(Wide(path_).c_str());
}

bool AwaitReading(int) { return false; }
bool AwaitWriting(int) { return false; }

bool IsNoRoom(int error) { return error == ENOSPC; }

double ParseDouble(const char* text, char** end) {
  static const _locale_t classic = _create_locale(LC_ALL, "C");
  return _strtod_l(text, end, classic);
}

Result<Mapping> MapFile(const std::string& path) {
  constexpr DWORD kShared = FILE_SHARE_READ | FILE_SHARE_DELETE;
  const HANDLE file = CreateFileW(Wide(path).c_str(), GENERIC_READ, kShared, nullptr, OPEN_EXISTING, 0, nullptr);
  if (file == INVALID_HANDLE_VALUE) return Error{ErrorCode::kUnreadable, Why()};
  LARGE_INTEGER size{};
  if (GetFileType(file) != FILE_TYPE_DISK || !GetFileSizeEx(file, &size)) {
    CloseHandle(file);
    return Error{ErrorCode::kUnreadable, "it is no file"};
  }
  void* data = nullptr;
  if (size.QuadPart != 0) {  // which cannot be mapped
    const HANDLE mapping = CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
    if (mapping != nullptr) data = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
    if (data == nullptr) {
      const Error error{ErrorCode::kOutOfMemory, Why()};
      if (mapping != nullptr) CloseHandle(mapping);
      CloseHandle(file);
      return error;
    }
    CloseHandle(mapping);
  }
  CloseHandle(file);
  return Mapping{static_cast<const std::uint8_t*>(data), static_cast<std::size_t>(size.QuadPart)};
}

void UnmapFile(const Mapping& mapping) {
  if (mapping.data != nullptr) UnmapViewOfFile(mapping.data);
}

}  // namespace tetraphone
