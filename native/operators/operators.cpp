#include "operators.h"

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <cstring>

#include "../kernels/layers.h"
#include "arguments.h"

namespace tetraphone {
namespace {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Kernel;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Span;

bool IsTensor(const EValue& value, ScalarType type, std::int64_t rank) {
  if (!value.isTensor()) return false;
  const Tensor& tensor = value.toTensor();
  return tensor.scalar_type() == type && tensor.dim() == rank && tensor.const_data_ptr() != nullptr &&
         executorch::runtime::tensor_is_contiguous(tensor);
}

template <Kind kind, std::size_t kStates>
void Operator(KernelRuntimeContext& context, Span<EValue*> arguments) {
  constexpr Arguments kAt = ArgumentsOf(kStates);
  ET_KERNEL_CHECK(context, arguments.size() == kAt.count, InvalidProgram, );

  bool typed = IsTensor(*arguments[0], ScalarType::Float, 2) && IsTensor(*arguments[kAt.y], ScalarType::Float, 2) &&
               IsTensor(*arguments[kAt.weights], ScalarType::Byte, 1);
  for (std::size_t i = 0; i < kStates; ++i) {
    typed = typed && IsTensor(*arguments[kAt.states + i], ScalarType::Float, 1) &&
            IsTensor(*arguments[kAt.new_states + i], ScalarType::Float, 1) &&
            arguments[kAt.states + i]->toTensor().size(0) == arguments[kAt.states]->toTensor().size(0);
  }
  if constexpr (kStates == 0) typed = typed && arguments[kAt.outputs]->isInt();
  ET_KERNEL_CHECK_MSG(context, typed, InvalidArgument, ,
                      "x is float [T, inputs], a state float [hidden], weights uint8");

  const Tensor& x = arguments[0]->toTensor();
  const Tensor& weights = arguments[kAt.weights]->toTensor();
  std::int64_t outputs;
  if constexpr (kStates == 0) {
    outputs = arguments[kAt.outputs]->toInt();
  } else {
    outputs = arguments[kAt.states]->toTensor().size(0);
  }
  Layer layer;
  const Status status = Open(weights.const_data_ptr<std::uint8_t>(), weights.nbytes(), &layer);
  ET_KERNEL_CHECK_MSG(context, status == Status::kOk, InvalidArgument, , "%s", StatusText(status));
  ET_KERNEL_CHECK_MSG(context, Fits(layer, kind, x.size(1), outputs), InvalidArgument, ,
                      "%lld inputs, %lld outputs are not the sizes or the kind of the packed weights",
                      static_cast<long long>(x.size(1)), static_cast<long long>(outputs));

  const SizesType sizes[] = {static_cast<SizesType>(x.size(0)), static_cast<SizesType>(outputs)};
  bool resized = executorch::runtime::resize_tensor(arguments[kAt.y]->toTensor(), {sizes, 2}) == Error::Ok;
  for (std::size_t i = kAt.new_states; i < kAt.returned; ++i) {
    resized = resized && executorch::runtime::resize_tensor(arguments[i]->toTensor(), {sizes + 1, 1}) == Error::Ok;
  }
  ET_KERNEL_CHECK_MSG(context, resized, InvalidArgument, , "an output is too small");

  const auto scratch = context.allocate_temp(ScratchBytes(layer, x.size(0)), kScratchAlignment);
  ET_KERNEL_CHECK(context, scratch.ok(), MemoryAllocationFailed, );
  const auto state = [&](std::size_t i) {
    return i < kStates ? arguments[kAt.states + i]->toTensor().const_data_ptr<float>() : nullptr;
  };
  const auto new_state = [&](std::size_t i) {
    return i < kStates ? arguments[kAt.new_states + i]->toTensor().mutable_data_ptr<float>() : nullptr;
  };
  Run(layer, x.const_data_ptr<float>(), x.size(0), state(0), state(1),
      arguments[kAt.y]->toTensor().mutable_data_ptr<float>(), new_state(0), new_state(1), scratch.get());
}

// Asking for one kernel by name would log an error where there is none.
bool IsRegistered(const char* name) {
  for (const Kernel& kernel : executorch::runtime::get_registered_kernels()) {
    if (std::strcmp(kernel.name_, name) == 0) return true;
  }
  return false;
}

}  // namespace

void RegisterOperators() {
  const Kernel kernels[] = {
#define TETRAPHONE_KERNEL(name, number, quaternion, gates, states, operator_name, layer) \
  Kernel("quaternion::" operator_name ".out", Operator<Kind::k##name, states>),
      TETRAPHONE_LAYER_KINDS(TETRAPHONE_KERNEL)
#undef TETRAPHONE_KERNEL
  };
  for (const Kernel& kernel : kernels) {
    if (IsRegistered(kernel.name_)) continue;
    (void)executorch::runtime::register_kernel(kernel);  // never returns an error: it aborts
  }
}

}  // namespace tetraphone
