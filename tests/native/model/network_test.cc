// Programs by their names, and the rows that the network's last layer reads, in every engine.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "model/engine.h"
#include "model/model.h"

namespace tetraphone {
namespace {

const std::string kCorpus = TETRAPHONE_CORPUS;  // tests/native/fuzz/corpus/model

using Shared = std::shared_ptr<const Model>;

std::vector<std::string> EngineNames() {
  std::vector<std::string> names;
  for (std::size_t i = 0; EngineAt(i) != nullptr; ++i) names.emplace_back(EngineAt(i)->name);
  return names;
}

Shared Loaded(const std::string& path, const std::string& engine) {
  EXPECT_FALSE(ChooseEngine(engine.c_str()));
  auto model = Model::Load(path);
  return model ? *model : (ADD_FAILURE() << model.error().message, nullptr);
}

std::vector<float> Noise(std::size_t count) {
  std::mt19937 draw(static_cast<unsigned>(count));
  std::vector<float> noise(count);
  for (float& value : noise) value = static_cast<float>(static_cast<double>(draw()) / draw.max() * 4 - 2);
  return noise;
}

struct Rows {
  std::vector<float> scores;
  std::vector<float> hidden;
};

// Of x, in calls of so many frames.
Rows Computed(const Shared& model, const char* name, const std::vector<float>& x, std::size_t chunk, bool tapped) {
  auto network = Network::Make(model, name);
  if (!network) return ADD_FAILURE() << network.error().message, Rows{};
  const Program& program = (*network)->program();
  const std::size_t frames = x.size() / program.inputs, hidden = tapped ? program.hidden() : 0;
  Rows rows{std::vector<float>(frames * program.outputs), std::vector<float>(frames * hidden)};
  for (std::size_t i = 0; i < frames; i += chunk) {
    const Failure failure =
        (*network)->Run(x.data() + i * program.inputs, std::min(chunk, frames - i),
                        rows.scores.data() + i * program.outputs, tapped ? rows.hidden.data() + i * hidden : nullptr);
    if (failure) ADD_FAILURE() << failure->message;
  }
  return rows;
}

// What the last layer makes of hidden rows.
std::vector<float> Scores(const Program& program, const std::vector<float>& hidden) {
  const Layer& layer = program.steps.back().layer;
  const auto frames = static_cast<std::int64_t>(hidden.size() / program.hidden());
  std::vector<float> scores(static_cast<std::size_t>(frames) * program.outputs);
  std::vector<std::uint8_t> scratch(ScratchBytes(layer, frames) + kScratchAlignment);
  void* aligned = scratch.data();
  std::size_t space = scratch.size();
  std::align(kScratchAlignment, space - kScratchAlignment, aligned, space);
  Run(layer, hidden.data(), frames, nullptr, nullptr, scores.data(), nullptr, nullptr, aligned);
  return scores;
}

TEST(Network, HiddenRowsAreThoseThatTheScoresAreMadeOf) {
  std::vector<std::string> paths;
  for (const std::string folder : {kCorpus, std::string(TETRAPHONE_MODELS)}) {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      if (file.path().extension() == ".pte" && file.path().stem() != "energy") paths.push_back(file.path().string());
    }
  }
  ASSERT_GT(paths.size(), 6u);
  for (const std::string& path : paths) {
    Rows first;
    for (const std::string& engine : EngineNames()) {
      SCOPED_TRACE(path + " in " + engine);
      const Shared model = Loaded(path, engine);
      ASSERT_NE(model, nullptr);
      ASSERT_GT(model->program().hidden(), 0u);
      const std::vector<float> x = Noise(150 * model->program().inputs);
      const Rows plain = Computed(model, kForward, x, model->program().most_frames, false);
      for (const std::size_t chunk : {std::size_t{1}, std::size_t{7}, model->program().most_frames}) {
        const Rows rows = Computed(model, kForward, x, chunk, true);
        EXPECT_EQ(rows.scores, plain.scores) << chunk;
        EXPECT_EQ(Scores(model->program(), rows.hidden), plain.scores) << chunk;
        if (first.hidden.empty()) first = rows;
        EXPECT_EQ(rows.hidden, first.hidden) << chunk;
      }
    }
  }
}

TEST(Network, HiddenRowsOfNoRecurrentLayerAreRefused) {
  for (const std::string& engine : EngineNames()) {
    const Shared model = Loaded(kCorpus + "/energy.pte", engine);
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->program().hidden(), 0u);
    auto network = Network::Make(model);
    ASSERT_TRUE(network);
    std::vector<float> x(model->program().inputs), scores(model->program().outputs), hidden(1000);
    const Failure failure = (*network)->Run(x.data(), 1, scores.data(), hidden.data());
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->message,
              model->name() + " cannot align, since no recurrent layer gives what its scores are made of");
    EXPECT_FALSE((*network)->Run(x.data(), 1, scores.data()));
  }
}

// programs.pte (seeds.py): forward, align, those that score, and `other`, which has states.
TEST(Network, EachProgramOfAFileRunsByItsName) {
  std::vector<std::vector<float>> found;
  for (const std::string& engine : EngineNames()) {
    const Shared model = Loaded(kCorpus + "/programs.pte", engine);
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->info().align_rows, 3);
    EXPECT_EQ(model->info().align_features, 2u);
    EXPECT_EQ(model->info().align_delay, 1);
    EXPECT_EQ(model->info().align_shift, 0.0125);
    std::vector<float> all;
    for (const auto& [name, program] : model->file().programs) {
      for (const std::size_t chunk : {std::size_t{1}, std::size_t{5}, program.most_frames}) {
        const Rows rows = Computed(model, name.c_str(), Noise(40 * program.inputs), chunk, false);
        EXPECT_EQ(rows.scores.size(), 40 * program.outputs);
        all.insert(all.end(), rows.scores.begin(), rows.scores.end());
      }
    }
    EXPECT_EQ(model->file().programs.size(), 6u);
    found.push_back(all);
    const auto missing = Network::Make(model, "guess");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message,
              model->name() + " lacks the program guess; give a model that was exported with it");
  }
  for (const auto& other : found) EXPECT_EQ(other, found[0]);
}

}  // namespace
}  // namespace tetraphone
