// ARMv8.2-A with SMMLA: a pair of rows times a pair of columns.

#include "../instruction_sets.h"
#include "neon.h"

namespace tetraphone {
namespace {

// Four rows of the first and of the second column of a pair, from the products of two pairs of rows.
inline int32x4_t FirstColumn(int32x4_t low, int32x4_t high) { return vuzp1q_s32(low, high); }
inline int32x4_t SecondColumn(int32x4_t low, int32x4_t high) { return vuzp2q_s32(low, high); }

void hamilton_gemv_s8_16x4_i8mm(const Gemv& g) {
  const End end(g);
  const std::int64_t half_bytes = g.groups * kSteps * 64;
  const std::int8_t* weights = Signed(g.values);
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += kTileRows) {
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    const std::int8_t* second = weights + half_bytes;
    int32x4_t sums[2][8] = {};  // [pair of columns][pair of rows]
    for (std::int64_t group = 0; group < g.groups; ++group) {
      Repeat<kSteps / 2>([&](auto) {
        const int8x16x4_t x = Next64(xhat);  // two steps
        Repeat<2>([&](auto step) {
          const int8x16x4_t w0 = Next64(weights), w1 = Next64(second);
          Repeat<2>([&](auto c) {
            Repeat<4>([&](auto pair) {
              sums[c][pair] = vmmlaq_s32(sums[c][pair], w0.val[pair], x.val[2 * step + c]);
              sums[c][4 + pair] = vmmlaq_s32(sums[c][4 + pair], w1.val[pair], x.val[2 * step + c]);
            });
          });
          KeepOrder(sums[0]);
          KeepOrder(sums[1]);
        });
      });
    }
    weights = second;
    const float32x4_t multipliers = end.Multipliers();
    Repeat<4>([&](auto quarter) {
      const std::int64_t at = row + 4 * quarter;
      const float32x4_t scales = end.LoadScales(at);
      Repeat<2>([&](auto c) {
        const int32x4_t low = sums[c][2 * quarter], high = sums[c][2 * quarter + 1];
        end.StoreS8(at, Index<2 * c>(), FirstColumn(low, high), scales, multipliers);
        end.StoreS8(at, Index<2 * c + 1>(), SecondColumn(low, high), scales, multipliers);
      });
    });
  }
}

// Sums stay as SMMLA leaves them, two rows of two columns, until the end: the scales are doubled instead.
void hamilton_gemv_s4_16x4_i8mm(const Gemv& g) {
  const End end(g);
  const std::int8_t* weights = Signed(g.values);
  for (std::int64_t row = 0; row < g.tiles * kTileRows; row += 8) {
    const std::uint8_t* scales = HalfScales(g, row);
    const std::int8_t* xhat = static_cast<const std::int8_t*>(g.xhat);
    const std::int8_t* const last = xhat + g.groups * kGroup * kColumns;
    float32x4_t sums[2][4] = {};  // [pair of columns][pair of rows]
    while (xhat != last) {
      int32x4_t parts[2][4] = {};
      Repeat<2>([&](auto) {
        const int8x16x4_t w = Next64(weights), x = Next64(xhat);
        Repeat<4>([&](auto pair) {
          Repeat<2>([&](auto c) {
            parts[c][pair] = vmmlaq_s32(parts[c][pair], LowNibbles(w.val[pair]), x.val[c]);
            parts[c][pair] = vmmlaq_s32(parts[c][pair], HighNibbles(w.val[pair]), x.val[2 + c]);
          });
        });
      });
      const uint16x8_t halves = vreinterpretq_u16_f16(NextEightScales(scales));
      const float16x8_t doubled[2] = {vreinterpretq_f16_u16(vzip1q_u16(halves, halves)),
                                      vreinterpretq_f16_u16(vzip2q_u16(halves, halves))};
      Repeat<2>([&](auto quarter) {
        const float32x4_t scale[2] = {vcvt_f32_f16(vget_low_f16(doubled[quarter])),
                                      vcvt_high_f32_f16(doubled[quarter])};
        Repeat<2>([&](auto c) {
          Repeat<2>([&](auto i) {
            constexpr Index<2 * quarter + i> pair;
            sums[c][pair] = AddGroup(sums[c][pair], parts[c][pair], scale[i]);
          });
        });
      });
    }
    const float32x4_t multipliers = end.Multipliers();
    Repeat<2>([&](auto c) {
      Repeat<2>([&](auto quarter) {
        const float32x4_t low = sums[c][2 * quarter], high = sums[c][2 * quarter + 1];
        end.Store(row + 4 * quarter, Index<2 * c>(), vuzp1q_f32(low, high), multipliers);
        end.Store(row + 4 * quarter, Index<2 * c + 1>(), vuzp2q_f32(low, high), multipliers);
      });
    });
  }
}

}  // namespace

const Kernels kernels_i8mm = {"i8mm",
                              1,
                              hamilton_gemv_f32_16x4_neon,
                              hamilton_gemv_s8_16x4_i8mm,
                              hamilton_gemv_s4_16x4_i8mm,
                              expand_f32_neon,
                              expand_s8_4x1_neon,
                              expand_s8_4x1_neon,
                              &gates_neon};

}  // namespace tetraphone
