#include "packing.h"

#include <cmath>
#include <initializer_list>

namespace tetraphone {
namespace {

constexpr std::uint32_t kMagicNumber = 0x42515054;  // "TPQB", little-endian like everything in a block
constexpr std::uint16_t kVersionNumber = 2;
constexpr std::uint16_t kTileNumber = kTileRows << 8 | kGroup;
constexpr std::int64_t kLargestSize = 1 << 16;  // reals; a quantised sum of 127 * 127 * size stays in 31 bits
constexpr std::uint64_t kLargestBlock = 0x7fffffff;

struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t tile;
  std::uint8_t kind;
  std::uint8_t format;
  std::uint16_t zero;
  std::uint32_t inputs;
  std::uint32_t outputs;
  std::uint32_t bytes;
  std::uint32_t offsets[7];  // values, scales and sums of input and hidden, then the bias
  std::uint32_t zeros[2];
  std::uint32_t checksum;  // of the words before it: sizes that fill the same tiles differ in nothing else
};
static_assert(sizeof(Header) == 64);

// FNV-1a by words.
std::uint32_t Checksum(const Header& header) {
  std::uint32_t words[offsetof(Header, checksum) / 4];
  std::memcpy(words, &header, sizeof words);
  std::uint32_t hash = 0x811c9dc5;
  for (const std::uint32_t word : words) hash = (hash ^ word) * 0x01000193;
  return hash;
}

Header MakeHeader(const Shape& shape, const Layout& layout) {
  Header header{};
  header.magic = kMagicNumber;
  header.version = kVersionNumber;
  header.tile = kTileNumber;
  header.kind = static_cast<std::uint8_t>(shape.kind);
  header.format = static_cast<std::uint8_t>(shape.format);
  header.inputs = static_cast<std::uint32_t>(shape.inputs);
  header.outputs = static_cast<std::uint32_t>(shape.outputs);
  header.bytes = static_cast<std::uint32_t>(layout.bytes);
  const std::size_t offsets[7] = {layout.input.values,  layout.input.scales, layout.input.sums, layout.hidden.values,
                                  layout.hidden.scales, layout.hidden.sums,  layout.bias};
  for (int i = 0; i < 7; ++i) header.offsets[i] = static_cast<std::uint32_t>(offsets[i]);
  header.checksum = Checksum(header);
  return header;
}

// Walks over every weight of a matrix that is not padding: visit(component, row as given, column, offset of its byte or
// float in the packed values, shift of its nibble).
template <typename Visit>
void ForEachWeight(const Shape& shape, const Layout& layout, const MatrixLayout& matrix, Visit visit) {
  const std::int64_t bits = Info(shape.format).bits;
  const std::int64_t tile_bytes = matrix.groups * ValueBytes(static_cast<int>(bits));
  for (int component = 0; component < layout.components; ++component) {
    for (std::int64_t gate = 0; gate < layout.gates; ++gate) {
      for (std::int64_t unit = 0; unit < layout.units; ++unit) {
        const std::int64_t packed_row = gate * layout.padded_units + unit;
        const std::int64_t row = packed_row % kTileRows;
        for (std::int64_t column = 0; column < matrix.columns; ++column) {
          const std::int64_t step = layout.quaternion ? column / kStep * kSteps + component : column / kStep;
          const std::int64_t k = column % kStep;
          std::int64_t offset = packed_row / kTileRows * tile_bytes;
          int shift = 0;
          const std::int64_t in_half = row % 8 * kStep + k;
          if (bits == 32) {
            offset += ((step * kStep + k) * kTileRows + row) * 4;
          } else if (bits == 8) {
            offset += (row / 8 * matrix.groups * kSteps + step) * 64 + in_half;
          } else {
            offset += (row / 8 * matrix.groups * kSteps / 2 + step / 2) * 64 + in_half;
            shift = static_cast<int>(step % 2) * 4;
          }
          visit(component, gate * layout.units + unit, column, offset, shift);
        }
      }
    }
  }
}

// visit(row as given, group, offset in the packed scales); the group is 0 for kInt8.
template <typename Visit>
void ForEachScale(const Shape& shape, const Layout& layout, const MatrixLayout& matrix, Visit visit) {
  for (std::int64_t gate = 0; gate < layout.gates; ++gate) {
    for (std::int64_t unit = 0; unit < layout.units; ++unit) {
      const std::int64_t packed_row = gate * layout.padded_units + unit;
      const std::int64_t row = gate * layout.units + unit;
      if (shape.format == Format::kInt8) visit(row, std::int64_t{0}, packed_row * 4);
      if (shape.format != Format::kInt4) continue;
      for (std::int64_t group = 0; group < matrix.groups; ++group) {
        const std::int64_t tile = packed_row / kTileRows;
        visit(row, group, ((tile * matrix.groups + group) * kTileRows + packed_row % kTileRows) * 2);
      }
    }
  }
}

// visit(index in the bias as given, offset in the block).
template <typename Visit>
void ForEachBias(const Layout& layout, Visit visit) {
  for (std::int64_t gate = 0; gate < layout.gates; ++gate) {
    for (std::int64_t component = 0; component < layout.components; ++component) {
      for (std::int64_t unit = 0; unit < layout.units; ++unit) {
        const std::int64_t packed = component * layout.rows + gate * layout.padded_units + unit;
        visit((gate * layout.components + component) * layout.units + unit,
              layout.bias + static_cast<std::size_t>(packed) * 4);
      }
    }
  }
}

std::int64_t GivenIndex(const Layout& layout, const MatrixLayout& matrix, int component, std::int64_t row,
                        std::int64_t column) {
  return (component * layout.gates * layout.units + row) * matrix.columns + column;
}

void PackSums(const Layout& layout, const MatrixLayout& matrix, std::uint8_t* block) {
  const std::int64_t steps = matrix.groups * kSteps;
  for (std::int64_t row = 0; row < layout.rows; ++row) {
    std::int32_t sum = 0;
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::uint8_t* from = block + matrix.values + (row / 8 * steps + step) * 64 + row % 8 * kStep;
      for (int k = 0; k < kStep; ++k) sum += static_cast<std::int8_t>(from[k]);
    }
    std::memcpy(block + matrix.sums + row * 4, &sum, 4);
  }
}

bool FiniteHalf(std::uint16_t half) { return (half & 0x7c00) != 0x7c00; }

Status PackMatrix(const Shape& shape, const Layout& layout, const MatrixLayout& matrix, const Matrix& given,
                  std::uint8_t* block) {
  bool good = true;
  ForEachWeight(shape, layout, matrix,
                [&](int component, std::int64_t row, std::int64_t column, std::int64_t offset, int shift) {
                  const std::int64_t index = GivenIndex(layout, matrix, component, row, column);
                  std::uint8_t* to = block + matrix.values + offset;
                  if (shape.format == Format::kFloat32) {
                    const float value = static_cast<const float*>(given.values)[index];
                    good &= std::isfinite(value);
                    std::memcpy(to, &value, 4);
                    return;
                  }
                  const int value = static_cast<const std::int8_t*>(given.values)[index];
                  const int limit = Info(shape.format).greatest;
                  good &= value >= -limit && value <= limit;
                  if (shape.format == Format::kInt8) {
                    *to = static_cast<std::uint8_t>(value);
                  } else {
                    *to = static_cast<std::uint8_t>(*to | (value & 15) << shift);
                  }
                });
  ForEachScale(shape, layout, matrix, [&](std::int64_t row, std::int64_t group, std::int64_t offset) {
    std::uint8_t* to = block + matrix.scales + offset;
    if (shape.format == Format::kInt8) {
      const float scale = static_cast<const float*>(given.scales)[row];
      good &= std::isfinite(scale);
      std::memcpy(to, &scale, 4);
    } else {
      const std::uint16_t scale = static_cast<const std::uint16_t*>(given.scales)[row * matrix.groups + group];
      good &= FiniteHalf(scale);
      std::memcpy(to, &scale, 2);
    }
  });
  if (shape.format == Format::kInt8) PackSums(layout, matrix, block);
  return good ? Status::kOk : Status::kValue;
}

void UnpackMatrix(const Shape& shape, const Layout& layout, const MatrixLayout& matrix, const std::uint8_t* block,
                  const MutableMatrix& given) {
  ForEachWeight(shape, layout, matrix,
                [&](int component, std::int64_t row, std::int64_t column, std::int64_t offset, int shift) {
                  const std::int64_t index = GivenIndex(layout, matrix, component, row, column);
                  const std::uint8_t* from = block + matrix.values + offset;
                  if (shape.format == Format::kFloat32) {
                    std::memcpy(static_cast<float*>(given.values) + index, from, 4);
                  } else {
                    const int byte = static_cast<std::int8_t>(*from);
                    const int nibble = ((*from >> shift & 15) ^ 8) - 8;
                    static_cast<std::int8_t*>(given.values)[index] =
                        static_cast<std::int8_t>(shape.format == Format::kInt8 ? byte : nibble);
                  }
                });
  ForEachScale(shape, layout, matrix, [&](std::int64_t row, std::int64_t group, std::int64_t offset) {
    const std::uint8_t* from = block + matrix.scales + offset;
    if (shape.format == Format::kInt8) {
      std::memcpy(static_cast<float*>(given.scales) + row, from, 4);
    } else {
      std::memcpy(static_cast<std::uint16_t*>(given.scales) + row * matrix.groups + group, from, 2);
    }
  });
}

}  // namespace

const char* StatusText(Status status) {
  switch (status) {
    case Status::kOk:
      return "no error";
    case Status::kShape:
      return "a size is below 1, too large, or not a multiple of 4 where quaternions are counted: change the layer's "
             "sizes";
    case Status::kTruncated:
      return "the packed block is shorter than its header says: export the model again";
    case Status::kMagic:
      return "this is not a packed block: export the model again";
    case Status::kVersion:
      return "the block was packed by an older Tetraphone: export the model again";
    case Status::kTile:
      return "the block was packed for another tile: export the model again";
    case Status::kHeader:
      return "the header of the packed block contradicts itself: export the model again";
    case Status::kValue:
      return "a weight lies outside its format's range, or a weight, scale or bias is not finite: quantise the model "
             "again";
    case Status::kNewer:
      return "the block was packed by a newer Tetraphone: update Tetraphone";
  }
  return "unknown status";
}

const FormatInfo* Formats() {
  static constexpr FormatInfo kTable[kFormats] = {
      {Format::kFloat32, "float32", 32, 0, 0},
      {Format::kInt8, "int8", 8, 127, 0},
      {Format::kInt4, "int4", 4, 7, kGroup},
  };
  return kTable;
}

const FormatInfo& Info(Format format) { return Formats()[static_cast<std::size_t>(format) - 1]; }

std::int64_t ScaleBytes(Format format, std::int64_t groups) {
  if (Info(format).greatest == 0) return 0;
  return Info(format).group == 0 ? kTileRows * 4 : kTileRows * groups * 2;
}

bool MakeLayout(const Shape& shape, Layout* layout) {
  const LayerKind* kind = FindKind(shape.kind);
  const std::size_t format = static_cast<std::size_t>(shape.format);
  if (kind == nullptr || format < 1 || format > kFormats) return false;
  layout->quaternion = kind->quaternion;
  layout->states = kind->states;
  layout->recurrent = kind->states > 0;
  layout->components = layout->quaternion ? 4 : 1;
  layout->gates = kind->gates;
  for (const std::int64_t size : {shape.inputs, shape.outputs}) {
    if (size < 1 || size > kLargestSize || size % layout->components != 0) return false;
  }
  layout->units = shape.outputs / layout->components;
  layout->padded_units = RoundUp(layout->units, kTileRows);
  layout->rows = layout->gates * layout->padded_units;

  // No product below overflows: sizes are at most 2^16, so a matrix has at most 2^38 bytes.
  std::uint64_t end = sizeof(Header);
  const auto section = [&end](std::int64_t bytes) {
    const std::uint64_t begin = end;
    end += static_cast<std::uint64_t>(RoundUp(bytes, 64));
    return static_cast<std::size_t>(begin);
  };
  const auto matrix = [&](std::int64_t columns) {
    MatrixLayout m{};
    m.columns = columns;
    m.groups = RoundUp(columns, kGroup / layout->components) / (kGroup / layout->components);
    m.values = section(layout->rows / kTileRows * m.groups * ValueBytes(Info(shape.format).bits));
    m.scales = section(layout->rows / kTileRows * ScaleBytes(shape.format, m.groups));
    m.sums = section(m.groups > 0 && shape.format == Format::kInt8 ? layout->rows * 4 : 0);
    return m;
  };
  layout->input = matrix(shape.inputs / layout->components);
  layout->hidden = matrix(layout->recurrent ? layout->units : 0);
  layout->bias = section(layout->components * layout->rows * 4);
  layout->bytes = static_cast<std::size_t>(end);
  return end <= kLargestBlock;
}

std::size_t PackedBytes(const Shape& shape) {
  Layout layout;
  return MakeLayout(shape, &layout) ? layout.bytes : 0;
}

Status Pack(const Shape& shape, const Matrix& input, const Matrix& hidden, const float* bias, std::uint8_t* block) {
  Layout layout;
  if (!MakeLayout(shape, &layout)) return Status::kShape;
  std::memset(block, 0, layout.bytes);
  Status status = PackMatrix(shape, layout, layout.input, input, block);
  if (status == Status::kOk && layout.recurrent) status = PackMatrix(shape, layout, layout.hidden, hidden, block);
  if (bias != nullptr) {
    ForEachBias(layout, [&](std::int64_t index, std::size_t offset) {
      if (!std::isfinite(bias[index])) status = Status::kValue;
      std::memcpy(block + offset, bias + index, 4);
    });
  }
  if (status != Status::kOk) return status;  // without a header, the block stays refused
  const Header header = MakeHeader(shape, layout);
  std::memcpy(block, &header, sizeof header);
  return Status::kOk;
}

Status Open(const std::uint8_t* block, std::size_t bytes, Layer* layer) {
  Header header;
  if (bytes < sizeof header) return Status::kTruncated;
  std::memcpy(&header, block, sizeof header);
  if (header.magic != kMagicNumber) return Status::kMagic;
  if (header.version > kVersionNumber) return Status::kNewer;
  if (header.version < kVersionNumber) return Status::kVersion;
  if (header.tile != kTileNumber) return Status::kTile;
  const Shape shape = {static_cast<Kind>(header.kind), static_cast<Format>(header.format), header.inputs,
                       header.outputs};
  Layout layout;
  if (!MakeLayout(shape, &layout)) return Status::kHeader;
  const Header expected = MakeHeader(shape, layout);
  if (std::memcmp(&header, &expected, sizeof header) != 0) return Status::kHeader;
  if (bytes < layout.bytes) return Status::kTruncated;
  if (bytes > layout.bytes) return Status::kHeader;
  *layer = {shape, block};
  return Status::kOk;
}

Status Unpack(const std::uint8_t* block, std::size_t bytes, const MutableMatrix& input, const MutableMatrix& hidden,
              float* bias) {
  Layer layer;
  const Status status = Open(block, bytes, &layer);
  if (status != Status::kOk) return status;
  Layout layout;
  MakeLayout(layer.shape, &layout);
  UnpackMatrix(layer.shape, layout, layout.input, block, input);
  if (layout.recurrent) UnpackMatrix(layer.shape, layout, layout.hidden, block, hidden);
  ForEachBias(layout, [&](std::int64_t index, std::size_t offset) { std::memcpy(bias + index, block + offset, 4); });
  return Status::kOk;
}

}  // namespace tetraphone
