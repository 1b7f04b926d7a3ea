// Run with a given set of kernels, for tests and benchmarks; internal to this folder.

#pragma once

#include "kernels.h"
#include "layers.h"

namespace tetraphone {

void RunWith(const Kernels& kernels, const Layer& layer, const float* x, std::int64_t frames, const float* h,
             const float* c, float* y, float* h_out, float* c_out, void* scratch);

}  // namespace tetraphone
