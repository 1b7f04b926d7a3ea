// ARMv8.2-A with SDOT: a lane adds four products. A pair of rows times a column, twice, gives each row's sum in two
// lanes.

#include "../instruction_sets.h"
#include "neon.h"

namespace tetraphone {
namespace {

// Four rows from the lanes of two pairs.
inline int32x4_t Reduce(int32x4_t low, int32x4_t high) { return vpaddq_s32(low, high); }

void hamilton_gemv_s8_16x4_dotprod(const Gemv& g) {
  const End end(g);
  const std::int8_t* weights = Signed(g.values);
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += 8) {
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    int32x4_t sums[4][4] = {};  // [column][pair]
    for (std::int64_t group = 0; group < g.groups; ++group) {
      Repeat<kSteps>([&](auto) {
        const int8x16x4_t w = Next64(weights), x = Next64(xhat);
        Repeat<kColumns>([&](auto c) {
          Repeat<4>([&](auto pair) { sums[c][pair] = vdotq_s32(sums[c][pair], w.val[pair], x.val[c]); });
        });
      });
    }
    const float32x4_t multipliers = end.Multipliers();
    Repeat<2>([&](auto half) {
      const float32x4_t scales = end.LoadScales(row + 4 * half);
      Repeat<kColumns>([&](auto c) {
        end.StoreS8(row + 4 * half, c, Reduce(sums[c][2 * half], sums[c][2 * half + 1]), scales, multipliers);
      });
    });
  }
}

void hamilton_gemv_s4_16x4_dotprod(const Gemv& g) {
  const End end(g);
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += 4) {
    const std::int8_t* weights = Signed(g.values) + row / 8 * g.groups * 128 + row / 4 % 2 * 32;
    const std::uint8_t* scales = g.scales + (row / kTileRows * g.groups * kTileRows + row % kTileRows) * 2;
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    float32x4_t sums[4] = {};
    for (std::int64_t group = 0; group < g.groups; ++group) {
      int32x4_t parts[4][2] = {};  // [column][pair]
      Repeat<2>([&](auto) {
        const int8x16_t w0 = vld1q_s8(weights), w1 = vld1q_s8(weights + 16);
        const int8x16x4_t x0 = vld1q_s8_x4(xhat), x1 = vld1q_s8_x4(xhat + 64);
        Repeat<kColumns>([&](auto c) {
          parts[c][0] = vdotq_s32(vdotq_s32(parts[c][0], LowNibbles(w0), x0.val[c]), HighNibbles(w0), x1.val[c]);
          parts[c][1] = vdotq_s32(vdotq_s32(parts[c][1], LowNibbles(w1), x0.val[c]), HighNibbles(w1), x1.val[c]);
        });
        weights += 64;
        xhat += 128;
      });
      const float32x4_t scale = LoadHalfScales(scales + group * kTileRows * 2);
      Repeat<kColumns>([&](auto c) { sums[c] = AddGroup(sums[c], Reduce(parts[c][0], parts[c][1]), scale); });
    }
    const float32x4_t multipliers = end.Multipliers();
    Repeat<kColumns>([&](auto c) { end.Store(row, c, sums[c], multipliers); });
  }
}

}  // namespace

const Kernels kernels_dotprod = {"dotprod",
                                 1,
                                 hamilton_gemv_f32_16x4_neon,
                                 hamilton_gemv_s8_16x4_dotprod,
                                 hamilton_gemv_s4_16x4_dotprod,
                                 expand_f32_neon,
                                 expand_s8_4x2_neon,
                                 expand_s8_4x2_neon,
                                 &gates_neon};

}  // namespace tetraphone
