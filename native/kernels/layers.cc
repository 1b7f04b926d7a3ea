#include "layers.h"

#include <cstring>
#include <type_traits>

#include "contracts.h"
#include "instruction_sets.h"
#include "packing.h"
#include "run.h"

namespace tetraphone {
namespace {

constexpr std::int64_t kBlock = 16;  // frames whose input products share one reading of the weights

// Columns of the product come in fours: a frame's components, or four frames.
std::int64_t FramesInColumns(const Layout& layout) { return layout.quaternion ? 1 : kColumns; }

std::int64_t PlaneStride(const Layout& layout, std::int64_t columns) {
  return RoundUp(columns, layout.quaternion ? kTileRows : kGroup);
}

// Room for two copies of a quantised X^, or for one and the sums of its columns.
std::size_t XhatBytes(Format format, std::int64_t groups) {
  return static_cast<std::size_t>(groups) * kGroup * kColumns * (format == Format::kFloat32 ? sizeof(float) : 2);
}

// Scratch, cut up. Every part begins at a multiple of 64 bytes.
struct Scratch {
  std::int64_t input_stride;
  std::int64_t hidden_stride;
  std::size_t input_xhat_bytes;
  float* planes;             // [4][input_stride]: the input of one frame (or of four)
  float* h;                  // [4][padded_units]
  float* c;                  // [4][padded_units]
  float* multipliers;        // [block][4]
  float* hidden_multiplier;  // [4]
  std::int8_t* quantized;    // [2][4][greater stride]
  std::uint8_t* input_xhat;  // [block]
  std::uint8_t* hidden_xhat;
  float* sums;  // [block][4][rows]
  std::size_t bytes;
};

Scratch CutScratch(const Shape& shape, const Layout& layout, std::int64_t frames, void* memory) {
  const std::int64_t per = FramesInColumns(layout);
  const std::int64_t block = RoundUp(frames < kBlock ? frames : kBlock, per) / per;
  Scratch s;
  std::size_t end = 0;
  const auto part = [&](auto** pointer, std::int64_t count) {
    *pointer =
        memory == nullptr
            ? nullptr
            : reinterpret_cast<std::remove_reference_t<decltype(*pointer)>>(static_cast<std::uint8_t*>(memory) + end);
    end += static_cast<std::size_t>(RoundUp(count * static_cast<std::int64_t>(sizeof(**pointer)), 64));
  };
  const std::int64_t state = layout.recurrent ? layout.padded_units : 0;
  s.input_stride = PlaneStride(layout, layout.input.columns);
  s.input_xhat_bytes = XhatBytes(shape.format, layout.input.groups);
  part(&s.planes, 4 * s.input_stride);
  part(&s.h, 4 * state);
  part(&s.c, 4 * state);
  part(&s.multipliers, kColumns * block);
  part(&s.hidden_multiplier, kColumns);
  part(&s.quantized, 8 * (s.input_stride > state ? s.input_stride : state));
  part(&s.input_xhat, static_cast<std::int64_t>(s.input_xhat_bytes) * block);
  part(&s.hidden_xhat, static_cast<std::int64_t>(XhatBytes(shape.format, layout.hidden.groups)));
  part(&s.sums, block * kColumns * layout.rows);
  s.bytes = end;
  return s;
}

// The kernels of one format and kind.
struct Parts {
  void (*gemv)(const Gemv&);
  void (*expand)(const Expand&);
  void (*gates)(const Gates&);
};

Parts PartsOf(const Kernels& k, const Shape& shape) {
  const std::size_t kind = IndexOf(shape.kind);
  if (shape.format == Format::kFloat32) return {k.gemv_f32, k.expand_f32, k.gates->accurate[kind]};
  const auto gates = k.gates->quick[kind];
  if (shape.format == Format::kInt8) return {k.gemv_s8, k.expand_s8, gates};
  return {k.gemv_s4, k.expand_s4, gates};
}

// Copies planes [4][units] between strides.
void CopyPlanes(const float* from, std::int64_t from_stride, std::int64_t units, float* to, std::int64_t to_stride) {
  if (from_stride == units && to_stride == units) {
    std::memcpy(to, from, static_cast<std::size_t>(4 * units) * sizeof(float));
    return;
  }
  for (int component = 0; component < 4; ++component) {
    std::memcpy(to + component * to_stride, from + component * from_stride,
                static_cast<std::size_t>(units) * sizeof(float));
  }
}

// Clears what four planes hold beyond their `units`.
void ZeroPadding(float* planes, std::int64_t stride, std::int64_t units) {
  if (stride == units) return;
  for (int component = 0; component < 4; ++component) {
    std::memset(planes + component * stride + units, 0, static_cast<std::size_t>(stride - units) * sizeof(float));
  }
}

}  // namespace

std::size_t ScratchBytes(const Layer& layer, std::int64_t frames) {
  Layout layout;
  MakeLayout(layer.shape, &layout);
  return CutScratch(layer.shape, layout, frames, nullptr).bytes;
}

void RunWith(const Kernels& kernels, const Layer& layer, const float* x, std::int64_t frames, const float* h,
             const float* c, float* y, float* h_out, float* c_out, void* scratch) {
  const Shape& shape = layer.shape;
  Layout layout;
  MakeLayout(shape, &layout);
  const bool cell_state = layout.states == 2;  // c, beside h
  const std::size_t state_bytes = static_cast<std::size_t>(shape.outputs) * sizeof(float);
  if (frames == 0) {
    if (layout.recurrent) std::memmove(h_out, h, state_bytes);
    if (cell_state) std::memmove(c_out, c, state_bytes);
    return;
  }
  const Scratch s = CutScratch(shape, layout, frames, scratch);
  const Parts parts = PartsOf(kernels, shape);
  const std::int64_t units = layout.units;
  const std::int64_t padded = layout.padded_units;
  const std::int64_t tiles = layout.rows / kTileRows;
  const std::int64_t per = FramesInColumns(layout);

  ZeroPadding(s.planes, s.input_stride, layout.input.columns);
  // The state lives in the caller's memory (h in y) where that has no padding, otherwise in scratch.
  const bool in_place = padded == units;
  const float* h_now = h;
  const float* c_now = c;
  float* c_next = c_out;
  if (layout.recurrent && !in_place) {
    CopyPlanes(h, units, units, s.h, padded);
    ZeroPadding(s.h, padded, units);
    h_now = s.h;
  }
  if (cell_state && !in_place) {
    CopyPlanes(c, units, units, s.c, padded);
    ZeroPadding(s.c, padded, units);
    c_now = c_next = s.c;
  }
  const std::uint8_t* block = layer.block;
  const float* bias = reinterpret_cast<const float*>(block + layout.bias);

  for (std::int64_t begin = 0; begin < frames; begin += kBlock) {
    const std::int64_t count = frames - begin < kBlock ? frames - begin : kBlock;
    const std::int64_t columns = RoundUp(count, per) / per;
    for (std::int64_t i = 0; i < columns; ++i) {
      const float* from = x + (begin + i * per) * shape.inputs;
      const float* planes = s.planes;
      if (layout.quaternion && s.input_stride == layout.input.columns) {
        planes = from;
      } else if (layout.quaternion) {
        CopyPlanes(from, layout.input.columns, layout.input.columns, s.planes, s.input_stride);
      } else {
        for (std::int64_t frame = 0; frame < kColumns; ++frame) {
          float* to = s.planes + frame * s.input_stride;
          if (i * per + frame < count) {
            std::memcpy(to, from + frame * shape.inputs, static_cast<std::size_t>(shape.inputs) * sizeof(float));
          } else {
            std::memset(to, 0, static_cast<std::size_t>(shape.inputs) * sizeof(float));
          }
        }
      }
      Call(parts.expand,
           Expand{planes, s.input_stride, layout.input.groups, layout.quaternion, false,
                  s.input_xhat + static_cast<std::size_t>(i) * s.input_xhat_bytes, s.multipliers + kColumns * i,
                  s.quantized});
    }
    // One frame: all tiles in one call. Several: no more than need be, so that their weights stay near for all frames.
    const std::int64_t most = columns == 1 ? tiles : kernels.tiles;
    for (std::int64_t tile = 0; tile < tiles; tile += most) {
      const std::int64_t together = tiles - tile < most ? tiles - tile : most;
      for (std::int64_t i = 0; i < columns; ++i) {
        Call(parts.gemv,
             Gemv{block + layout.input.values + tile * layout.input.groups * ValueBytes(Info(shape.format).bits),
                  block + layout.input.scales + tile * ScaleBytes(shape.format, layout.input.groups),
                  block + layout.input.sums + tile * kTileRows * 4, together, layout.input.groups,
                  s.input_xhat + static_cast<std::size_t>(i) * s.input_xhat_bytes,
                  s.multipliers + kColumns * i, bias + tile * kTileRows, layout.quaternion ? layout.rows : 0,
                  s.sums + i * kColumns * layout.rows + tile * kTileRows, layout.rows});
      }
    }
    for (std::int64_t frame = 0; frame < count; ++frame) {
      float* sums = s.sums + frame / per * kColumns * layout.rows;
      float* to = y + (begin + frame) * shape.outputs;
      if (!layout.quaternion) {
        std::memcpy(to, sums + frame % per * layout.rows, state_bytes);
        continue;
      }
      if (!layout.recurrent) {
        CopyPlanes(sums, layout.rows, units, to, units);
        continue;
      }
      Call(parts.expand, Expand{h_now, padded, layout.hidden.groups, true, true, s.hidden_xhat, s.hidden_multiplier,
                                s.quantized});
      Call(parts.gemv, Gemv{block + layout.hidden.values, block + layout.hidden.scales, block + layout.hidden.sums,
                            tiles, layout.hidden.groups, s.hidden_xhat, s.hidden_multiplier, sums, layout.rows, sums,
                            layout.rows});
      Call(parts.gates, Gates{sums, padded, {h_now, c_now}, {in_place ? to : s.h, c_next}});
      c_now = c_next;
      h_now = to;
      if (in_place) continue;
      CopyPlanes(s.h, padded, units, to, units);
      ZeroPadding(s.h, padded, units);  // what became NaN there (0 * inf) must not reach the next frame
      h_now = s.h;
    }
  }
  if (layout.recurrent) std::memcpy(h_out, y + (frames - 1) * shape.outputs, state_bytes);
  if (cell_state && !in_place) CopyPlanes(s.c, padded, units, c_out, units);
}

void Run(const Layer& layer, const float* x, std::int64_t frames, const float* h, const float* c, float* y,
         float* h_out, float* c_out, void* scratch) {
  RunWith(ActiveKernels(), layer, x, frames, h, c, y, h_out, c_out, scratch);
}

}  // namespace tetraphone
