// The C ABI that export/operators.py calls through ctypes.
//
// Codes are Status (0: done) and the two below. Sizes, operator and block are checked against one another; that each
// pointer holds as many elements as the sizes say is the caller's part. Contracts: ../kernels/layers.h.

#include <algorithm>
#include <new>

#include "../kernels/layers.h"
#include "../model/trailer.h"
#include "../operators/arguments.h"
#include "errors.h"

namespace {

using tetraphone::Layer;
using tetraphone::Shape;
using tetraphone::Status;

constexpr int kMismatch = -1;
constexpr int kNoScratch = -2;

}  // namespace

// The number of the index-th number format of weights, and what follows from it (FormatInfo); -1 behind the last.
TETRAPHONE_C_ABI int tetraphone_format_at(std::size_t index, const char** name, int* greatest, int* group) {
  if (index >= tetraphone::kFormats) return -1;
  const tetraphone::FormatInfo& format = tetraphone::Formats()[index];
  *name = format.name;
  *greatest = format.greatest;
  *group = format.group;
  return static_cast<int>(format.format);
}

// Writes the trailer of a program file with this content, cut to `capacity`, and returns its size.
TETRAPHONE_C_ABI std::size_t tetraphone_trailer(const std::uint8_t* content, std::size_t size, std::uint8_t* trailer,
                                                std::size_t capacity) {
  const auto made = tetraphone::MakeTrailer(content, size);
  std::copy_n(made.begin(), std::min(capacity, made.size()), trailer);
  return made.size();
}

// The number of the index-th row of kernels/kinds.h, and what stands in it; -1 behind the last.
TETRAPHONE_C_ABI int tetraphone_layer_kind_at(std::size_t index, const char** operator_name, const char** layer_name,
                                              int* quaternion, int* gates, int* states) {
  if (index >= tetraphone::kKinds) return -1;
  const tetraphone::LayerKind& row = tetraphone::kLayerKinds[index];
  *operator_name = row.operator_name;
  *layer_name = row.layer_name;
  *quaternion = row.quaternion;
  *gates = row.gates;
  *states = row.states;
  return static_cast<int>(row.kind);
}

// Where the arguments of the operator of such a row stand.
TETRAPHONE_C_ABI int tetraphone_arguments_at(std::size_t index, tetraphone::Arguments* arguments) {
  if (index >= tetraphone::kKinds) return -1;
  *arguments = tetraphone::ArgumentsOf(static_cast<std::size_t>(tetraphone::kLayerKinds[index].states));
  return 0;
}

TETRAPHONE_C_ABI const char* tetraphone_status_text(int code) {
  switch (code) {
    case kMismatch:
      return "the sizes or the operator of the call are not those of the packed weights";
    case kNoScratch:
      return "out of memory";
    default:
      return tetraphone::StatusText(static_cast<Status>(code));
  }
}

TETRAPHONE_C_ABI std::size_t tetraphone_packed_bytes(const Shape* shape) { return tetraphone::PackedBytes(*shape); }

TETRAPHONE_C_ABI int tetraphone_pack(const Shape* shape, const tetraphone::Matrix* input,
                                     const tetraphone::Matrix* hidden, const float* bias, std::uint8_t* block) {
  return static_cast<int>(tetraphone::Pack(*shape, *input, *hidden, bias, block));
}

TETRAPHONE_C_ABI int tetraphone_shape(const std::uint8_t* block, std::size_t bytes, Shape* shape) {
  Layer layer;
  const Status status = tetraphone::Open(block, bytes, &layer);
  if (status == Status::kOk) *shape = layer.shape;
  return static_cast<int>(status);
}

TETRAPHONE_C_ABI int tetraphone_unpack(const std::uint8_t* block, std::size_t bytes,
                                       const tetraphone::MutableMatrix* input, const tetraphone::MutableMatrix* hidden,
                                       float* bias) {
  return static_cast<int>(tetraphone::Unpack(block, bytes, *input, *hidden, bias));
}

TETRAPHONE_C_ABI int tetraphone_run(int kind, const std::uint8_t* block, std::size_t bytes, const float* x,
                                    std::int64_t frames, std::int64_t inputs, const float* h, const float* c,
                                    std::int64_t outputs, float* y, float* h_out, float* c_out) {
  Layer layer;
  const Status status = tetraphone::Open(block, bytes, &layer);
  if (status != Status::kOk) return static_cast<int>(status);
  if (!tetraphone::Fits(layer, static_cast<tetraphone::Kind>(kind), inputs, outputs)) return kMismatch;
  constexpr std::align_val_t kAlignment{tetraphone::kScratchAlignment};
  void* scratch = ::operator new(tetraphone::ScratchBytes(layer, frames), kAlignment, std::nothrow);
  if (scratch == nullptr) return kNoScratch;
  tetraphone::Run(layer, x, frames, h, c, y, h_out, c_out, scratch);
  ::operator delete(scratch, kAlignment);
  return 0;
}
