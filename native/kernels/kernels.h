// The contract between the drivers (layers.cc) and the kernels of one instruction set. README.md draws the layouts.
//
// Every product has the shape [rows, depth] x [depth, 4]. The four columns are
//   a quaternion layer: the expanded activation X^ of one frame, one column for each component of an output;
//   a real layer:       four frames.
// The depth is cut into groups of 32 = 4 steps of 8. In a quaternion layer, step b of group g is weight component b of
// the input quaternions 8g..8g+7; in a real layer it is the inputs 32g+8b..32g+8b+7. Rows are cut into tiles of 16.
// What is missing in the last tile or group is zero.
//
// Packed values of one tile (read at any address):
//   float32  [depth][16 rows]
//   int8     [2 halves][depth / 8][4 pairs][2 rows][8]      row = 8 * half + 2 * pair + row
//   int4     [2 halves][groups][2][64 bytes], two steps of int8's 64 bytes in one: steps 0 and 2 in the low nibbles, 1
//            and 3 in the high ones, two's complement
// Packed scales: int8 float[rows]; int4 half[tiles][groups][16 rows]. Packed sums: int8 int32[rows], each row's sum of
// weights.
// X^: float32 [depth][4 columns]; quantised [depth / 8][4 columns][8], or as the set's product likes it best.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kinds.h"

namespace tetraphone {

constexpr int kTileRows = 16;
constexpr int kColumns = 4;
constexpr int kStep = 8;
constexpr int kSteps = 4;
constexpr int kGroup = kStep * kSteps;

// X^: weight component b meets kSigns[b][c] * (component b ^ c of the input) in column c, the output's component c.
// This is the block matrix [r -x -y -z; x r -z y; y z r -x; z -y x r], read by weights.
constexpr int kSigns[4][4] = {
    {+1, +1, +1, +1},
    {-1, +1, -1, +1},
    {-1, +1, +1, -1},
    {-1, -1, +1, +1},
};

// out[c * out_stride + row] = fma(sum, multiplier[c], init[c * init_stride + row]) for 16 * tiles rows, where
//   float32  sum = fma chain over the depth, ascending, from 0
//   int8     sum = float(integer sum) * scale[row]
//   int4     sum = fma(float(integer sum of the group), float(scale[group][row]), sum) over the groups, ascending,
//            from 0
// init may be out.
struct Gemv {
  const std::uint8_t* values;
  const std::uint8_t* scales;
  const std::uint8_t* sums;  // int8 only
  std::int64_t tiles;
  std::int64_t groups;
  const void* xhat;
  const float* multiplier;
  const float* init;
  std::int64_t init_stride;
  float* out;
  std::int64_t out_stride;
};

// Builds X^ and the four multipliers from planes [4][stride] of floats (components of one frame, or four frames), zero
// beyond their end; stride is a multiple of 16, and of 32 for a real layer, so that it covers the last group. float32:
// the multipliers are 1. Quantised: q = round-half-even(x * (127 / m)), multiplier m / 127, with m the greatest |x| of
// the frame, or both zero where m < kSmallest; a state has m = 1, and q is clamped to [-127, 127]. A frame with a value
// that is not finite has the multiplier NaN.
struct Expand {
  const float* planes;
  std::int64_t stride;
  std::int64_t groups;
  bool quaternion;
  bool state;
  void* xhat;
  float* multiplier;
  std::int8_t* quantized;  // working space: [2][4][stride]
};
constexpr float kSmallest = 0x1p-100f;

// One frame's element-wise part. sums: [4 components][rows], rows = gates * units, gate after gate; state (h, then c)
// before the frame and behind it: planes [4][units] each, as many as the kind has; units is a multiple of 16. next[i]
// may be state[i].
struct Gates {
  const float* sums;
  std::int64_t units;
  const float* state[kMostStates];
  float* next[kMostStates];
};

// By kind (IndexOf); null for a kind without state.
struct GateKernels {
  void (*accurate[kKinds])(const Gates&);  // float32
  void (*quick[kKinds])(const Gates&);     // int8 and int4
};

struct Kernels {
  const char* name;
  std::int64_t tiles;  // that its products take side by side
  void (*gemv_f32)(const Gemv&);
  void (*gemv_s8)(const Gemv&);
  void (*gemv_s4)(const Gemv&);
  void (*expand_f32)(const Expand&);
  void (*expand_s8)(const Expand&);
  void (*expand_s4)(const Expand&);
  const GateKernels* gates;
};

// Of a tile and group.
constexpr std::int64_t ValueBytes(int bits) { return std::int64_t{kTileRows} * kGroup * bits / 8; }

}  // namespace tetraphone
