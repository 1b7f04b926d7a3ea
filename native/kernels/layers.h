// Quaternion recurrent layers on packed weights: the whole interface of this folder.
//
// A layer is one packed block of bytes (header, scales, weights, biases) that is read where it lies, in a memory-mapped
// file for instance. Open() checks a block once; Run() computes frames. Nothing here allocates, throws, or keeps state;
// the one global is the table of kernels, chosen at the first call from what the processor offers (see InstructionSet).
//
// A quaternion vector of n quaternions is planar: [r | x | y | z], 4n reals. Sizes count reals unless a name says
// "quaternions".

#pragma once

#include <cstddef>
#include <cstdint>

#include "kinds.h"

namespace tetraphone {

enum class Format : std::uint8_t {
  kFloat32 = 1,
  kInt8 = 2,  // one float32 scale for each output quaternion (each output for kLinear), values in [-127, 127]
  kInt4 = 3,  // one float16 scale for each group of 32 weights (8 input quaternions, or 32 inputs for kLinear), [-7, 7]
};

struct FormatInfo {
  Format format;
  const char* name;
  int bits;      // of a weight
  int greatest;  // of an integer's magnitude; 0: weights are no integers
  int group;     // weights of an output that share a scale; 0: all of them
};
constexpr std::size_t kFormats = 3;
const FormatInfo* Formats();  // in the order of their numbers, which begin at 1; quant/formats.py has the same

struct Shape {
  Kind kind;
  Format format;
  std::int64_t inputs;   // reals; a multiple of 4 for a quaternion layer
  std::int64_t outputs;  // reals: the hidden size of a recurrent layer; a multiple of 4 for a quaternion layer
};

enum class Status : int {
  kOk = 0,
  kShape,      // a size is below 1, too large, or not a multiple of 4 where quaternions are counted
  kTruncated,  // the block is shorter than its header says
  kMagic,      // not a packed block
  kVersion,    // packed by an older version of this library
  kTile,       // packed for another tile
  kHeader,     // kind, format, sizes or offsets contradict one another
  kValue,      // a weight to pack lies outside its format's range, or a scale or bias is not finite
  kNewer,      // packed by a newer version of this library
};
const char* StatusText(Status status);  // one sentence that says what is wrong and how to mend it

// One weight matrix as Python holds it. `values` are float (kFloat32) or int8 (kInt8, kInt4), of shape
// [components, rows, columns] in C order: components is 4 (r, x, y, z) for a quaternion layer and 1 for kLinear; rows
// are output quaternions (reals for kLinear), gate after gate of a recurrent kind, so gates * hidden quaternions;
// columns are input quaternions (reals for kLinear). `scales`: null (kFloat32), float[rows] (kInt8), or IEEE half
// [rows, groups] (kInt4).
struct Matrix {
  const void* values;
  const void* scales;
};

// Bytes of a packed block, or 0 for a shape that Status::kShape refuses.
std::size_t PackedBytes(const Shape& shape);

// `hidden` is read for recurrent kinds only. bias: gates * outputs reals, gate after gate, planar within a gate,
// or null for none (packed as zeros).
Status Pack(const Shape& shape, const Matrix& input, const Matrix& hidden, const float* bias, std::uint8_t* block);

// The exact inverse of Pack: values, scales and bias as they were given.
struct MutableMatrix {
  void* values;
  void* scales;
};
Status Unpack(const std::uint8_t* block, std::size_t bytes, const MutableMatrix& input, const MutableMatrix& hidden,
              float* bias);

// A checked view of a packed block; valid as long as the block's memory.
struct Layer {
  Shape shape;
  const std::uint8_t* block;
};
Status Open(const std::uint8_t* block, std::size_t bytes, Layer* layer);

// What a call says about its layer, to be compared with the packed block's header before anything runs.
inline bool Fits(const Layer& layer, Kind kind, std::int64_t inputs, std::int64_t outputs) {
  return layer.shape.kind == kind && layer.shape.inputs == inputs && layer.shape.outputs == outputs;
}

// Bytes of scratch that Run needs for `frames` frames; bounded: it does not grow beyond one block of frames.
std::size_t ScratchBytes(const Layer& layer, std::int64_t frames);
constexpr std::size_t kScratchAlignment = 64;

// Computes `frames` frames: x [frames, inputs] -> y [frames, outputs]. Recurrent kinds read the state h [outputs] (and
// c, if they have two) and write the state after the last frame to h_out, c_out, which may be h, c themselves; other
// kinds ignore all four. With frames == 0 the state is copied. y may not overlap any other buffer. scratch:
// ScratchBytes(layer, frames) bytes, aligned to kScratchAlignment; no other pointer needs more alignment than its
// element's.
//
// A frame's result depends neither on `frames` nor on how frames are grouped. Every instruction set gives the same bits
// (a NaN is a NaN). kInt8 and kInt4 quantise each frame of x by its own scale, and h by 1 / 127 after clamping it to
// [-1, 1]; where x or h is not finite, the frame's results are NaN.
void Run(const Layer& layer, const float* x, std::int64_t frames, const float* h, const float* c, float* y,
         float* h_out, float* c_out, void* scratch);

// The instruction set in use ("scalar", "neon", "dotprod", "i8mm", "avx2", "avxvnni", "avx512vnni"). TETRAPHONE_ISA
// forces one; a name that this build or processor lacks is ignored with a line on stderr.
const char* InstructionSet();

// Takes another set for all layers of the process, from the next Run on; false, and no change, for a name that this
// build or processor lacks. At any time, from any thread: all sets read the same blocks and give the same bits.
bool ChooseInstructionSet(const char* name);

}  // namespace tetraphone
