// Where things lie in a packed block; internal to this folder.

#pragma once

#include "kernels.h"
#include "layers.h"

namespace tetraphone {

// One matrix, or nothing (groups == 0).
struct MatrixLayout {
  std::int64_t columns;  // input quaternions, or reals for kLinear
  std::int64_t groups;
  std::size_t values;  // offsets from the block's start, multiples of 64
  std::size_t scales;
  std::size_t sums;
};

struct Layout {
  bool quaternion;
  bool recurrent;
  int states;
  int components;  // of a weight: 4 or 1
  std::int64_t gates;
  std::int64_t units;         // output quaternions of a gate, or reals for kLinear
  std::int64_t padded_units;  // a multiple of kTileRows
  std::int64_t rows;          // gates * padded_units
  MatrixLayout input;
  MatrixLayout hidden;
  std::size_t bias;  // float[components][rows]
  std::size_t bytes;
};

// False for a shape that is refused.
bool MakeLayout(const Shape& shape, Layout* layout);

const FormatInfo& Info(Format format);

std::int64_t ScaleBytes(Format format, std::int64_t groups);  // of a tile

constexpr std::int64_t RoundUp(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace tetraphone
