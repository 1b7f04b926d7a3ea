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

// Two steps of 8 rows and all columns, of nibbles that Quads has put in order.
[[gnu::always_inline]] inline void MultiplyS4(int8x16_t low_k, int8x16_t high_k, int8x16_t x01, int8x16_t x23,
                                              int32x4_t (&parts)[4]) {
  parts[0] = vdotq_laneq_s32(vdotq_laneq_s32(parts[0], low_k, x01, 0), high_k, x01, 1);
  parts[1] = vdotq_laneq_s32(vdotq_laneq_s32(parts[1], low_k, x01, 2), high_k, x01, 3);
  parts[2] = vdotq_laneq_s32(vdotq_laneq_s32(parts[2], low_k, x23, 0), high_k, x23, 1);
  parts[3] = vdotq_laneq_s32(vdotq_laneq_s32(parts[3], low_k, x23, 2), high_k, x23, 3);
}

// The first and the last four k of each of four rows, of two pairs.
inline int8x16_t LowQuads(int8x16_t pair0, int8x16_t pair1) {
  return vreinterpretq_s8_s32(vuzp1q_s32(vreinterpretq_s32_s8(pair0), vreinterpretq_s32_s8(pair1)));
}
inline int8x16_t HighQuads(int8x16_t pair0, int8x16_t pair1) {
  return vreinterpretq_s8_s32(vuzp2q_s32(vreinterpretq_s32_s8(pair0), vreinterpretq_s32_s8(pair1)));
}

// A lane has a whole row: nothing is left to add up at the end of each group.
void hamilton_gemv_s4_16x4_dotprod(const Gemv& g) {
  const End end(g);
  const std::int8_t* weights = Signed(g.values);
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += 8) {
    const std::uint8_t* scales = HalfScales(g, row);
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    const std::int8_t* const last = xhat + g.groups * kGroup * kColumns;
    float32x4_t sums[2][4] = {};  // [four rows][column]
    while (xhat != last) {
      int32x4_t parts[2][4] = {};
      Repeat<2>([&](auto) {
        const int8x16x4_t w = Next64(weights), x = Next64(xhat);
        Repeat<2>([&](auto quarter) {
          const int8x16_t low_k = LowQuads(w.val[2 * quarter], w.val[2 * quarter + 1]);
          const int8x16_t high_k = HighQuads(w.val[2 * quarter], w.val[2 * quarter + 1]);
          MultiplyS4(LowNibbles(low_k), LowNibbles(high_k), x.val[0], x.val[1], parts[quarter]);
          MultiplyS4(HighNibbles(low_k), HighNibbles(high_k), x.val[2], x.val[3], parts[quarter]);
        });
      });
      const float16x8_t halves = NextEightScales(scales);
      const float32x4_t scale[2] = {vcvt_f32_f16(vget_low_f16(halves)), vcvt_high_f32_f16(halves)};
      Repeat<2>([&](auto quarter) {
        Repeat<kColumns>(
            [&](auto c) { sums[quarter][c] = AddGroup(sums[quarter][c], parts[quarter][c], scale[quarter]); });
      });
    }
    const float32x4_t multipliers = end.Multipliers();
    Repeat<2>([&](auto quarter) {
      Repeat<kColumns>([&](auto c) { end.Store(row + 4 * quarter, c, sums[quarter][c], multipliers); });
    });
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
                                 expand_s8_4x1_neon,
                                 &gates_neon};

}  // namespace tetraphone
