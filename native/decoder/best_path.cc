// CTC's best path: the greatest score of each frame, repetitions merged and blanks dropped.

#include <cstddef>
#include <memory>
#include <vector>

#include "../common/numerics.h"
#include "runs.h"
#include "search.h"

namespace tetraphone {
namespace {

class BestPath final : public Search {
 public:
  using Search::Search;

 private:
  void Step(const float* scores) override {
    const std::size_t best = Greatest(scores, outputs_);
    const int phone = static_cast<int>(best) - 1;
    if (phone != run_.phone) {
      if (run_.phone != kNone) Give(run_.Finished());
      run_ = Run{phone, frames_, frames_, 0.0};
    }
    if (phone != kNone) run_.Extend(frames_, Posterior(scores, best));
  }

  double Posterior(const float* scores, std::size_t best) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < outputs_; ++i) sum += Exp(Bounded(scores[i]) - Bounded(scores[best]));
    return 1.0 / sum;
  }

  std::vector<Token> Pending() const override {
    return run_.phone == kNone ? std::vector<Token>() : std::vector<Token>{run_.Finished()};
  }

  void Clear() override { run_ = Run(); }

  Run run_;  // of the last frame
};

}  // namespace

std::unique_ptr<Search> NewBestPath(std::size_t phones, const DecoderOptions& options) {
  return std::make_unique<BestPath>(phones, options);
}

}  // namespace tetraphone
