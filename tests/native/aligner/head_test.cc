// The head's windows of hidden rows, and features of a frame.

#include "aligner/head.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "recognizer/recognizer.h"

namespace tetraphone {
namespace {

// Of each frame t the program's scores of the rows t + delay − k + 1 to t + delay, zeros beyond both ends, and of the
// first of its inputs.
std::vector<float> Defined(const std::shared_ptr<const Model>& model, const std::vector<float>& inputs,
                           const std::vector<float>& rows, std::size_t hidden) {
  const auto network = *Network::Make(model, kAlign);
  const auto window = static_cast<std::ptrdiff_t>(model->info().align_rows);
  const std::ptrdiff_t count = static_cast<std::ptrdiff_t>(rows.size() / hidden);
  std::vector<float> scores, frame(network->program().outputs);
  for (std::ptrdiff_t t = 0; t < count; ++t) {
    std::vector<float> x;
    for (std::ptrdiff_t at = t + model->info().align_delay - window + 1; at <= t + model->info().align_delay; ++at) {
      for (std::size_t i = 0; i < hidden; ++i) {
        x.push_back(at < 0 || at >= count ? 0.0f : rows[static_cast<std::size_t>(at) * hidden + i]);
      }
    }
    const auto own = inputs.begin() + t * static_cast<std::ptrdiff_t>(model->program().inputs);
    x.insert(x.end(), own, own + static_cast<std::ptrdiff_t>(model->info().align_features));
    EXPECT_FALSE(network->Run(x.data(), 1, frame.data()));
    scores.insert(scores.end(), frame.begin(), frame.end());
  }
  return scores;
}

TEST(Head, ReadsTheRowsAroundEachFrame) {
  const auto recognizer = Recognizer::Load(TETRAPHONE_MODELS "/programs.pte");
  ASSERT_TRUE(recognizer) << recognizer.error().message;
  const std::shared_ptr<const Model> model = recognizer->shared_model();
  const std::size_t hidden = model->program().hidden(), outputs = model->info().phones.size() + 1;
  const auto drawn = [](std::size_t count, std::size_t step) {
    std::vector<float> found(count);
    for (std::size_t i = 0; i < count; ++i) found[i] = static_cast<float>(i * step % 2001) / 1000.0f - 1.0f;
    return found;
  };
  const std::size_t width = model->program().inputs;
  const std::vector<float> rows = drawn(40 * hidden, 7919), inputs = drawn(40 * width, 7907);
  const std::vector<float> expected = Defined(model, inputs, rows, hidden);
  auto head = AlignmentHead::Make(model);
  ASSERT_TRUE(head) << head.error().message;
  for (const std::size_t piece : {1u, 2u, 7u, 40u}) {
    std::vector<float> scores;
    const auto take = [&](const float* frame) { scores.insert(scores.end(), frame, frame + outputs); };
    for (std::size_t first = 0; first < 40; first += piece) {
      const std::size_t count = std::min<std::size_t>(piece, 40 - first);
      ASSERT_FALSE(head->Accept(inputs.data() + first * width, rows.data() + first * hidden, count, take));
    }
    ASSERT_FALSE(head->Finish(take));
    EXPECT_EQ(scores, expected) << piece;
    head->Reset();
  }
}

}  // namespace
}  // namespace tetraphone
