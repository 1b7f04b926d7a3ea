#include "../process.h"

#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <shellapi.h>  // after windows.h

#include "wide.h"

namespace tetraphone {
namespace {

UINT code_page = 0;  // of the console, as it was

}  // namespace

void PrepareProcess() {
  for (const int descriptor : {0, 1, 2}) _setmode(descriptor, _O_BINARY);
  code_page = GetConsoleOutputCP();
  if (code_page == 0 || !SetConsoleOutputCP(CP_UTF8)) return;
  std::atexit([] { SetConsoleOutputCP(code_page); });
}

std::vector<std::string> Arguments(int, char**) {
  int count = 0;
  wchar_t** arguments = CommandLineToArgvW(GetCommandLineW(), &count);
  std::vector<std::string> narrow;
  for (int i = 0; i < count; ++i) narrow.push_back(Narrow(arguments[i]));
  LocalFree(arguments);
  return narrow;
}

std::string ProgramFolder() {
  std::wstring path(32768, L'\0');
  path.resize(GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size())));
  const std::size_t slash = path.find_last_of(L"\\/");
  return slash == std::wstring::npos ? "" : Narrow(path.substr(0, slash).c_str());
}

bool IsTerminal(int descriptor) {
  const auto console = reinterpret_cast<HANDLE>(_get_osfhandle(descriptor));
  DWORD mode = 0;
  return GetConsoleMode(console, &mode) && SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

std::size_t TerminalColumns(int descriptor) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  const auto console = reinterpret_cast<HANDLE>(_get_osfhandle(descriptor));
  const int columns = GetConsoleScreenBufferInfo(console, &info) ? info.srWindow.Right - info.srWindow.Left + 1 : 80;
  return static_cast<std::size_t>(columns);
}

bool TerminalHasBlocks() { return true; }  // PrepareProcess sees to it

}  // namespace tetraphone
