// What the ARM instruction sets share: the kernels of neon.cc that the others keep, and the ends of the products.

#pragma once

#include <arm_neon.h>

#include "../kernels.h"
#include "../repeat.h"

namespace tetraphone {

void hamilton_gemv_f32_16x4_neon(const Gemv& g);
void expand_f32_neon(const Expand& e);
void expand_s8_4x1_neon(const Expand& e);  // [columns together]x[copies]
void expand_s8_4x2_neon(const Expand& e);
extern const GateKernels gates_neon;

namespace {

// The end of a product. The multipliers are loaded tile by tile (Multipliers): the loops need the registers.
struct End {
  explicit End(const Gemv& g)
      : scales(g.scales),
        multiplier(g.multiplier),
        init(g.init),
        init_stride(g.init_stride),
        out(g.out),
        out_stride(g.out_stride) {}

  // Four rows of a column.
  template <int kColumn>
  void Store(std::int64_t row, Index<kColumn>, float32x4_t sum, float32x4_t multipliers) const {
    const float32x4_t from = vld1q_f32(init + kColumn * init_stride + row);
    vst1q_f32(out + kColumn * out_stride + row, vfmaq_laneq_f32(from, sum, multipliers, kColumn));
  }
  template <int kColumn>
  void StoreS8(std::int64_t row, Index<kColumn> column, int32x4_t sum, float32x4_t scale,
               float32x4_t multipliers) const {
    Store(row, column, vmulq_f32(vcvtq_f32_s32(sum), scale), multipliers);
  }
  float32x4_t Multipliers() const { return vld1q_f32(multiplier); }
  float32x4_t LoadScales(std::int64_t row) const { return vreinterpretq_f32_u8(vld1q_u8(scales + row * 4)); }

  const std::uint8_t* scales;
  const float* multiplier;
  const float* init;
  std::int64_t init_stride;
  float* out;
  std::int64_t out_stride;
};

// Reads 64 bytes and advances. The empty statement keeps the compiler from adding to the pointer once for each read:
// the read itself advances it.
inline int8x16x4_t Next64(const std::int8_t*& from) {
  const int8x16x4_t read = vld1q_s8_x4(from);
  from += 64;
  asm("" : "+r"(from));
  return read;
}

// Reads that follow stay behind the products in `sums`: clang moves them up, and runs out of registers.
inline void KeepOrder([[maybe_unused]] int32x4_t (&sums)[8]) {
#ifdef __clang__
  asm volatile(""
               : "+w"(sums[0]), "+w"(sums[1]), "+w"(sums[2]), "+w"(sums[3]), "+w"(sums[4]), "+w"(sums[5]),
                 "+w"(sums[6]), "+w"(sums[7]));
#endif
}

inline const std::int8_t* Signed(const std::uint8_t* bytes) { return reinterpret_cast<const std::int8_t*>(bytes); }

// int4: weights are used 16 times too large, which the conversion to float takes back.
inline int8x16_t LowNibbles(int8x16_t pair) { return vshlq_n_s8(pair, 4); }
inline int8x16_t HighNibbles(int8x16_t pair) { return vandq_s8(pair, vdupq_n_s8(-16)); }
inline float32x4_t AddGroup(float32x4_t sum, int32x4_t part, float32x4_t scales) {
  return vfmaq_f32(sum, vcvtq_n_f32_s32(part, 4), scales);
}

// The scales of four or eight rows of a group; moves on to the next group.
inline float32x4_t NextFourScales(const std::uint8_t*& from) {
  const float32x4_t scales = vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(from)));
  from += kTileRows * 2;
  asm("" : "+r"(from));
  return scales;
}
inline float16x8_t NextEightScales(const std::uint8_t*& from) {
  const float16x8_t scales = vreinterpretq_f16_u8(vld1q_u8(from));
  from += kTileRows * 2;
  asm("" : "+r"(from));
  return scales;
}
inline const std::uint8_t* HalfScales(const Gemv& g, std::int64_t row) {
  return g.scales + (row / kTileRows * g.groups * kTileRows + row % kTileRows) * 2;
}

}  // namespace
}  // namespace tetraphone
