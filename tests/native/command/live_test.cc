// The line that shows a microphone's level and phones.

#include "command/live.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace tetraphone {
namespace {

TEST(Levels, AreDecibelsOfFullScale) {
  const std::vector<float> full = {1, -1, 1, -1}, tenth = {0.1f, -0.1f}, faint = {1e-9f}, loud = {10};
  EXPECT_DOUBLE_EQ(Level(full.data(), full.size()), 0);
  EXPECT_NEAR(Level(tenth.data(), tenth.size()), -20, 1e-5);
  EXPECT_EQ(Level(faint.data(), faint.size()), -60);
  EXPECT_NEAR(Level(loud.data(), loud.size()), 20, 1e-5);
  EXPECT_EQ(Level(nullptr, 0), -60);
}

TEST(Live, ShowsTheLevelAndTheLastPhones) {
  const std::vector<std::string> phones = {"DH", "AH", "K", "AE", "T"};
  EXPECT_EQ(LiveText(-18, phones, 100, true), "███████░░░  -18 dB  DH AH K AE T");
  EXPECT_EQ(LiveText(-18, phones, 100, false), "#######...  -18 dB  DH AH K AE T");
  EXPECT_EQ(LiveText(-60, {}, 100, false), "..........  -60 dB ");
  EXPECT_EQ(LiveText(12, {}, 100, false), "##########   12 dB ");
  for (std::size_t width = 0; width < 40; ++width) {
    const std::string line = LiveText(-18, phones, width, false);
    EXPECT_LE(line.size(), width);
    if (width >= 21) {
      EXPECT_EQ(line.substr(line.size() - 2), " T");
    }
  }
  EXPECT_EQ(LiveText(-18, phones, 26, false), "#######...  -18 dB  K AE T");
  EXPECT_EQ(LiveText(-18, phones, 27, false), "#######...  -18 dB  K AE T");
  EXPECT_EQ(LiveText(-18, {"t", "ʃ", "ʃ"}, 23, false), "#######...  -18 dB  ʃ ʃ") << "columns, not bytes";
}

// The two ends of a new terminal.
struct Terminal {
  Terminal() {
    program = posix_openpt(O_RDWR | O_NOCTTY);
    EXPECT_EQ(grantpt(program) + unlockpt(program), 0);
    screen = open(ptsname(program), O_RDWR | O_NOCTTY);
  }
  ~Terminal() {
    close(screen);
    close(program);
  }
  std::string Seen() const {
    std::string text;
    char piece[1000];
    pollfd ready = {program, POLLIN, 0};
    while (poll(&ready, 1, 100) > 0) {
      const ssize_t count = read(program, piece, sizeof piece);
      if (count <= 0) break;
      text.append(piece, static_cast<std::size_t>(count));
    }
    return text;
  }
  int program, screen;
};

TEST(Live, IsRewrittenOnATerminalOfItsWidth) {
  const Terminal terminal;
  winsize size{};
  size.ws_col = 24;  // the last stays free
  ASSERT_EQ(ioctl(terminal.program, TIOCSWINSZ, &size), 0);
  setenv("TERM", "xterm", 1);
  setenv("LC_ALL", "C", 1);
  {
    LiveLine line(terminal.screen);
    line.Show(-18, {"DH", "AH", "K"});
    EXPECT_EQ(terminal.Seen(), "\r#######...  -18 dB  K\x1b[K");
    line.Clear();
    EXPECT_EQ(terminal.Seen(), "\r\x1b[K");
    line.Clear();
    EXPECT_EQ(terminal.Seen(), "") << "nothing is shown any more";
    setenv("LC_ALL", "C.UTF-8", 1);
    LiveLine blocks(terminal.screen);
    blocks.Show(0, {});
    EXPECT_EQ(terminal.Seen(), "\r██████████    0 dB \x1b[K");
  }
  EXPECT_EQ(terminal.Seen(), "\r\x1b[K") << "the line goes with the object";
}

TEST(Live, IsNothingElsewhere) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  char piece[10];
  setenv("TERM", "xterm", 1);
  { LiveLine(ends[1]).Show(-18, {"DH"}); }
  EXPECT_EQ(read(ends[0], piece, sizeof piece), -1) << "a pipe";
  close(ends[0]);
  close(ends[1]);
  const Terminal terminal;
  for (const char* kind : {"dumb", static_cast<const char*>(nullptr)}) {
    if (kind == nullptr) unsetenv("TERM");
    if (kind != nullptr) setenv("TERM", kind, 1);
    LiveLine(terminal.screen).Show(-18, {"DH"});
    EXPECT_EQ(terminal.Seen(), "");
  }
}

}  // namespace
}  // namespace tetraphone
