#include "head.h"

#include <utility>

namespace tetraphone {

AlignmentHead::AlignmentHead(const ModelInfo& info, std::size_t hidden, std::unique_ptr<Network> network)
    : hidden_(hidden),
      window_(info.align_rows),
      delay_(static_cast<std::size_t>(info.align_delay)),
      network_(std::move(network)) {
  Reset();
}

Result<AlignmentHead> AlignmentHead::Make(const std::shared_ptr<const Model>& model) {
  if (model->info().align_rows == 0) {
    return Error{ErrorCode::kInvalidArgument, model->name() + " cannot align words; take one that can, such as "
                                                              "english-int8, or give it a head that does"};
  }
  Result<std::unique_ptr<Network>> network = Network::Make(model, kAlign);
  if (!network) return network.error();
  return AlignmentHead(model->info(), model->program().hidden(), *std::move(network));
}

// Of the window of frame t, the last row is t + delay; rows before the first are zeros.
void AlignmentHead::Reset() {
  const std::size_t before = window_ - 1;
  rows_.assign((before > delay_ ? before - delay_ : 0) * hidden_, 0.0f);
  skip_ = before > delay_ ? 0 : delay_ - before;
}

}  // namespace tetraphone
