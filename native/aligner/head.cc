#include "head.h"

#include <utility>

namespace tetraphone {

AlignmentHead::AlignmentHead(const Model& model, std::unique_ptr<Network> network)
    : inputs_of_network_(model.program().inputs),
      shown_(model.info().align_features),
      hidden_(model.program().hidden()),
      window_(static_cast<std::size_t>(model.info().align_rows)),
      delay_(static_cast<std::size_t>(model.info().align_delay)),
      network_(std::move(network)) {
  Reset();
}

Result<AlignmentHead> AlignmentHead::Make(const std::shared_ptr<const Model>& model) {
  if (!model->info().aligns) {
    return Error{ErrorCode::kInvalidArgument, model->name() + " cannot align words; take one that can, such as "
                                                              "english-int8, or give it a head that does"};
  }
  Result<std::unique_ptr<Network>> network = Network::Make(model, kAlign);
  if (!network) return network.error();
  return AlignmentHead(*model, *std::move(network));
}

// Of the window of frame t, the last row is t + delay; rows before the first are zeros.
void AlignmentHead::Reset() {
  const std::size_t before = window_ - 1;
  rows_.assign((before > delay_ ? before - delay_ : 0) * hidden_, 0.0f);
  skip_ = before > delay_ ? 0 : delay_ - before;
  features_.clear();
}

}  // namespace tetraphone
