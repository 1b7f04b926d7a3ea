// Bytes of files and pipes, read and written.

#include "recordings/bytes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "../command/folder.h"
#include "recordings.h"

namespace tetraphone {
namespace {

TEST(Bytes, WhatDoesNotBlockIsWaitedFor) {
  int ends[2];
  const int before = dup(STDIN_FILENO);
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  ASSERT_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  const std::string sent(1 << 20, 'x');
  std::thread writer([&] {
    EXPECT_FALSE(WriteBytes(ends[1], sent));
    close(ends[1]);
  });
  auto read = OpenBytes("-");
  ASSERT_TRUE(read);
  std::string received;
  std::uint8_t block[5000];
  for (std::size_t count = 1; count > 0;) {
    const auto some = (*read)(block, sizeof block);
    EXPECT_TRUE(some) << some.error().message;
    count = some ? *some : 0;
    received.append(block, block + count);
  }
  std::signal(SIGPIPE, SIG_IGN);  // should the reader have failed
  dup2(before, STDIN_FILENO);
  close(before);
  close(ends[0]);
  writer.join();
  EXPECT_EQ(received, sent);
}

TEST(Bytes, AFullDiskIsNamed) {
  const int full = open("/dev/full", O_WRONLY);
  const Failure failure = WriteBytes(full, "text");
  close(full);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->message,
            "cannot write to standard output: No space left on device; make room for it");
}

using Files = Folder;

TEST_F(Files, AFileIsRead) {
  Write("tone.wav", Plain());
  auto bytes = OpenBytes(path_ + "/tone.wav");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(Drain(SampleReader::Wav(*bytes, "tone.wav"), 10).samples, Expected());
}

TEST_F(Files, AMissingFileAndAFolderAreNamed) {
  const auto missing = OpenBytes(path_ + "/missing.wav");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find(path_ + "/missing.wav: No such file"), std::string::npos);
  auto folder = OpenBytes(path_);
  ASSERT_TRUE(folder);
  const Outcome outcome = Drain(SampleReader::Wav(*folder, path_), 10);
  EXPECT_NE(outcome.error.find("cannot read the recording " + path_ + ": Is a directory"), std::string::npos);
}

}  // namespace
}  // namespace tetraphone
