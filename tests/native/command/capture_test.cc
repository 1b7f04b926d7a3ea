// Recorders that are shell scripts.

#include "command/capture.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "folder.h"
#include "../recordings/recordings.h"

namespace tetraphone {
namespace {

Outcome Drain(Result<Capture>& capture) {
  Outcome outcome;
  float block[100];
  for (;;) {
    const auto count = capture->Read(block, 100);
    if (!count) {
      outcome.error = count.error().message;
      return outcome;
    }
    if (*count == 0) return outcome;
    outcome.samples.insert(outcome.samples.end(), block, block + *count);
  }
}

using Recorders = Folder;

TEST_F(Recorders, NoneIsInstalled) {
  for (int i = 0; i < 2; ++i) {
    const auto capture = Start();
    ASSERT_FALSE(capture);
    EXPECT_NE(capture.error().message.find("no recorder is installed; install pw-record"), std::string::npos);
    Write("arecord", "not executable");
    std::filesystem::create_directory(path_ + "/parecord");
  }
}

TEST_F(Recorders, SamplesArriveInOddPieces) {
  Write("samples", Pcm());
  Recorder("arecord", "echo \"$@\" > " + path_ + "/arguments; dd if=" + path_ + "/samples bs=7 2>/dev/null");
  auto capture = Start();
  ASSERT_TRUE(capture) << capture.error().message;
  EXPECT_EQ(capture->recorder(), "arecord");
  const Outcome outcome = Drain(capture);
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.samples, Expected());
  EXPECT_EQ(Content("arguments"), "-q -t raw -f S16_LE -c 1 -F 50000 -r 16000\n");
}

TEST_F(Recorders, TheFirstThatDeliversSoundIsTaken) {
  Recorder("pw-record", "test $1 = --raw && exit 1; exec cat /dev/zero");  // an old one
  Recorder("parecord", "exec cat /dev/zero");
  EXPECT_EQ(Start()->recorder(), "pw-record");
  Recorder("pw-record", "echo 'Host is down' >&2; exit 1");
  EXPECT_EQ(Start()->recorder(), "parecord");
  Recorder("arecord", "exec cat /dev/zero");
  Recorder("parecord", "exit 1");
  EXPECT_EQ(Start()->recorder(), "arecord");
}

TEST_F(Recorders, WhatEndsAtOnceIsQuoted) {
  Recorder("pw-record", "echo usage >&2; echo 'error: Host is down' >&2; exit 1");
  Recorder("parecord", "kill -9 $$");
  Recorder("arecord", "seq 100000 >&2; printf 'no\\tsoundcards found\\n\\n' >&2; exit 3");
  const auto capture = Start();
  ASSERT_FALSE(capture);
  EXPECT_EQ(capture.error().message,
            "cannot record (arecord ended at once: \"no soundcards found\", parecord ended at once: signal 9, "
            "pw-record ended at once: \"error: Host is down\"); connect a microphone, or give a recording");
}

TEST_F(Recorders, OneThatEndsInBetweenIsQuotedAfterItsSound) {
  Write("samples", Pcm());
  Recorder("arecord", "cat " + path_ + "/samples; sleep 0.1; echo 'device disconnected' >&2; exit 1");
  auto capture = Start();
  ASSERT_TRUE(capture) << capture.error().message;
  const Outcome outcome = Drain(capture);
  EXPECT_EQ(outcome.samples, Expected());
  EXPECT_EQ(outcome.error,
            "the recording ended: arecord says \"device disconnected\"; see to the microphone and start again");
  EXPECT_EQ(Drain(capture).error, outcome.error) << "asked again";
}

TEST_F(Recorders, OneWithoutSoundIsNotWaitedForLong) {
  Recorder("pw-record", "while :; do echo waiting >&2; sleep 0.01; done");
  const auto capture = Start(0.3);
  ASSERT_FALSE(capture);
  EXPECT_NE(capture.error().message.find("pw-record delivers no sound for 300 ms"), std::string::npos);
}

TEST_F(Recorders, AStallLosesNothing) {
  Recorder("arecord", "dd if=/dev/zero bs=1000 count=600 oflag=nonblock 2>/dev/null");  // no room: lost
  auto capture = Start();
  ASSERT_TRUE(capture) << capture.error().message;
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_EQ(Drain(capture).samples.size(), 300000u);
}

bool Gone(const std::string& number) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (kill(std::stoi(number), 0) == 0) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

TEST_F(Recorders, TheRecorderEndsWithTheObject) {
  for (const char* trap : {"", "trap '' TERM INT;"}) {  // the second does not listen
    Recorder("arecord", trap + ("echo $$ > " + path_) + "/number; printf abcd; while :; do sleep 0.01; done");
    {
      auto capture = Start();
      ASSERT_TRUE(capture) << capture.error().message;
      EXPECT_FALSE(Capture::Start(kRate)) << "a second one at the same time";
    }
    EXPECT_TRUE(Gone(Content("number")));
  }
}

TEST_F(Recorders, ASignalEndsTheRecordingAndNotTheProcess) {
  for (const int number : {SIGINT, SIGTERM}) {
    Recorder("arecord", "echo $$ > " + path_ + "/number; head -c 64000 /dev/zero; while :; do sleep 0.01; done");
    auto capture = Start();
    ASSERT_TRUE(capture) << capture.error().message;
    std::thread signal([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      kill(getpid(), number);
    });
    const auto start = std::chrono::steady_clock::now();
    const Outcome outcome = Drain(capture);
    signal.join();
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.samples.size(), 32000u) << "what was heard before the signal is read";
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
    EXPECT_TRUE(Gone(Content("number")));
  }
}

TEST_F(Recorders, ARecorderThatIgnoresSignalsIsEnded) {
  Recorder("arecord",
           "trap '' TERM; echo $$ > " + path_ + "/number; while :; do head -c 3200 /dev/zero; sleep 0.05; done");
  auto capture = Start();
  ASSERT_TRUE(capture) << capture.error().message;
  std::thread signal([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(getpid(), SIGINT);
  });
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = Drain(capture);
  signal.join();
  EXPECT_EQ(outcome.error, "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
  EXPECT_TRUE(Gone(Content("number")));
}

TEST_F(Recorders, SignalsDoAgainWhatTheyDid) {
  Recorder("arecord", "exec cat /dev/zero");
  struct sigaction action = {}, after = {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGINT, &action, nullptr);
  {
    ASSERT_TRUE(Start());
  }
  sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
  action.sa_handler = SIG_DFL;
  sigaction(SIGINT, &action, nullptr);
}

TEST_F(Recorders, AHundredLeaveNothingOpen) {
  Recorder("arecord", "exec cat /dev/zero");
  auto open = [] {
    const auto files = std::filesystem::directory_iterator("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const auto before = open();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(Start());
  EXPECT_EQ(open(), before);
}

}  // namespace
}  // namespace tetraphone
