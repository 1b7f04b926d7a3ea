// Phones' times from their sub-frames.

#include "aligner/timeline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace tetraphone {
namespace {

using Frames = std::vector<std::pair<std::int64_t, std::int64_t>>;

std::vector<Span> Times(const Frames& frames, double seconds, double shift) {
  ModelInfo info;
  info.frame_shift = 0.03;
  info.frame_offset = 0.005;
  info.align_shift = shift;
  Timeline timeline(info);
  for (const auto& [first, end] : frames) timeline.Add(first, end);
  timeline.Finish(seconds);
  return timeline.spans();
}

void ExpectTimes(const std::vector<Span>& spans, const std::vector<double>& expected) {
  ASSERT_EQ(2 * spans.size(), expected.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    EXPECT_NEAR(spans[i].start, expected[2 * i], 1e-12) << i;
    EXPECT_NEAR(spans[i].end, expected[2 * i + 1], 1e-12) << i;
  }
}

TEST(Timeline, AddsTheOffsetAndTheShift) {
  ExpectTimes(Times({{3, 7}, {7, 10}, {15, 20}}, 1, 0), {0.035, 0.075, 0.075, 0.105, 0.155, 0.205});
  ExpectTimes(Times({{3, 7}, {7, 10}, {15, 20}}, 1, -0.01), {0.025, 0.065, 0.065, 0.095, 0.145, 0.195});
}

TEST(Timeline, StartsAndEndsWithTheSound) {
  ExpectTimes(Times({{0, 3}, {3, 5}}, 1, 0), {0, 0.035, 0.035, 0.055});
  ExpectTimes(Times({{0, 2}, {2, 4}, {4, 20}}, 1, -0.045), {0, 0.001, 0.001, 0.002, 0.002, 0.16});
  ExpectTimes(Times({{0, 4}, {4, 6}, {6, 8}}, 0.05, 0), {0, 0.045, 0.045, 0.049, 0.049, 0.05});
  ExpectTimes(Times({{0, 4}, {5, 7}, {8, 10}}, 0.04, 0), {0, 0.038, 0.038, 0.039, 0.039, 0.04});
}

TEST(Timeline, LeavesNoPhoneWithoutLength) {
  for (const double seconds : {0.0005, 0.003, 0.02, 0.3}) {
    for (const double shift : {-0.5, 0.0, 0.5}) {
      Frames frames;
      for (std::int64_t i = 0; i < 30; ++i) frames.emplace_back(2 * i, 2 * i + 2);
      double last = 0;
      for (const Span& span : Times(frames, seconds, shift)) {
        EXPECT_GE(span.start, last - 1e-15);
        EXPECT_GT(span.end, span.start);
        last = span.end;
      }
      EXPECT_LE(last, seconds);
    }
  }
}

TEST(Timeline, KeepsPhonesWithinTheirSpans) {
  ModelInfo info;
  info.frame_shift = 0.03;
  info.frame_offset = 0.005;
  Timeline timeline(info);
  const Span within{0.102, 0.148};
  for (const double place : {9.6, 11.0, 12.0, 13.7}) timeline.Add(place, place + 1, within);
  ExpectTimes(timeline.spans(), {0.102, 0.111, 0.115, 0.125, 0.125, 0.135, 0.142, 0.148});
  for (const double seconds : {0.0, 0.104, 0.106, 0.25}) {
    EXPECT_LE(std::abs(timeline.At(static_cast<double>(timeline.Nearest(seconds))) - seconds), 0.005 + 1e-12);
  }
}

TEST(Timeline, SettledPhonesStay) {
  ModelInfo info;
  info.frame_shift = 0.03;
  Timeline timeline(info);
  for (std::int64_t i = 0; i < 60; ++i) timeline.Add(2 * i, 2 * i + 2);
  const std::size_t settled = timeline.Settled(1.0);
  EXPECT_EQ(settled, 45u);
  const std::vector<Span> before = timeline.spans();
  timeline.Finish(1.0);
  for (std::size_t i = 0; i < settled; ++i) {
    EXPECT_EQ(timeline.spans()[i].start, before[i].start);
    EXPECT_EQ(timeline.spans()[i].end, before[i].end);
  }
  EXPECT_EQ(timeline.spans().back().end, 1.0);
}

}  // namespace
}  // namespace tetraphone
