#include "../process.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <mach-o/dyld.h>
#endif

#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstring>

namespace tetraphone {

void PrepareProcess() {
  std::setlocale(LC_CTYPE, "");
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of writing, told in a sentence
  std::signal(SIGPIPE, SIG_DFL);  // a reader that left ends the process quietly, also where a parent ignores the signal
}

std::vector<std::string> Arguments(int count, char** arguments) { return {arguments, arguments + count}; }

std::string ProgramFolder() {
  char path[4096];
#if defined(__APPLE__)
  char named[sizeof path];
  std::uint32_t size = sizeof named;
  if (_NSGetExecutablePath(named, &size) != 0 || realpath(named, path) == nullptr) return "";
#else
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length < 0 ? 0 : length] = 0;
#endif
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? "" : std::string(path, static_cast<std::size_t>(slash - path));
}

bool IsTerminal(int descriptor) {
  const char* kind = std::getenv("TERM");
  return isatty(descriptor) == 1 && kind != nullptr && std::strcmp(kind, "dumb") != 0;
}

std::size_t TerminalColumns(int descriptor) {
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool TerminalHasBlocks() {
  const char* locale = nullptr;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (locale == nullptr || *locale == 0) locale = std::getenv(name);
  }
  return locale != nullptr && (std::strstr(locale, "UTF-8") != nullptr || std::strstr(locale, "utf8") != nullptr);
}

}  // namespace tetraphone
