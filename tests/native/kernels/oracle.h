// What a layer gives, in double precision, with bounds of the error.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cases.h"

namespace tetraphone {

constexpr double kEpsilon = 0x1p-24;

inline double ActivationError(Format format) { return format == Format::kFloat32 ? 4e-7 : 1e-4; }

// The quaternion rule i^2 = j^2 = k^2 = ijk = -1, written out once more, independently of the kernels' table: the real
// matrix of a weight, entry [output component][input component].
inline double BlockEntry(const Given& w, std::int64_t row, std::int64_t column, int to, int from) {
  static constexpr int kComponent[4][4] = {{0, 1, 2, 3}, {1, 0, 3, 2}, {2, 3, 0, 1}, {3, 2, 1, 0}};
  static constexpr int kSign[4][4] = {{1, -1, -1, -1}, {1, 1, -1, 1}, {1, 1, 1, -1}, {1, -1, 1, 1}};
  return kSign[to][from] * w.Value(kComponent[to][from], row, column);
}

struct Sum {
  double value;
  double magnitude;  // sum of absolute products, for the bound
};

// Row `row`, output component `to` of the product with planar values x, each worth `scale`.
inline Sum Product(const Case& test, const Given& w, std::int64_t row, int to, const std::vector<double>& x,
                   double scale) {
  Sum sum{0, 0};
  for (std::int64_t column = 0; column < w.columns; ++column) {
    const double weight_scale = w.Scale(row, column * test.components / 32);
    for (int from = 0; from < test.components; ++from) {
      const double weight = test.quaternion ? BlockEntry(w, row, column, to, from) : w.Value(0, row, column);
      const double product = weight * weight_scale * scale * x[static_cast<std::size_t>(from * w.columns + column)];
      sum.value += product;
      sum.magnitude += std::fabs(product);
    }
  }
  return sum;
}

struct Quantized {
  std::vector<double> values;
  double scale;
};

inline Quantized QuantizeInput(const Case& test, const float* x, std::int64_t count, bool state) {
  Quantized q{std::vector<double>(static_cast<std::size_t>(count)), 1};
  if (test.shape.format == Format::kFloat32) {
    for (std::int64_t i = 0; i < count; ++i) q.values[static_cast<std::size_t>(i)] = x[i];
    return q;
  }
  float greatest = state ? 1 : 0;
  for (std::int64_t i = 0; i < count && !state; ++i) greatest = std::max(greatest, std::fabs(x[i]));
  if (greatest < kSmallest) return q;
  const float factor = 127 / greatest;
  q.scale = greatest / 127;
  for (std::int64_t i = 0; i < count; ++i) {
    q.values[static_cast<std::size_t>(i)] = std::nearbyint(std::clamp(x[i], -greatest, greatest) * factor);
  }
  return q;
}

inline double SigmoidOracle(double x) { return 1 / (1 + std::exp(-x)); }

// Checks one frame that began in state (h, c) and ended in (y, c_next).
inline void CheckFrame(const Case& test, const float* x, const std::vector<float>& h, const std::vector<float>& c,
                       const float* y, const std::vector<float>& c_next) {
  const Quantized input = QuantizeInput(test, x, test.shape.inputs, false);
  Quantized hidden{{}, 1};
  if (test.recurrent) hidden = QuantizeInput(test, h.data(), test.shape.outputs, true);
  const double activation_error = ActivationError(test.shape.format);
  const double terms = static_cast<double>(test.components * (test.input.columns + test.hidden.columns)) + 8;
  for (int component = 0; component < test.components; ++component) {
    for (std::int64_t unit = 0; unit < test.units; ++unit) {
      const std::size_t at = static_cast<std::size_t>(component * test.units + unit);
      double a[4], bound[4];
      for (std::int64_t gate = 0; gate < test.gates; ++gate) {
        const std::int64_t row = gate * test.units + unit;
        const Sum from_input = Product(test, test.input, row, component, input.values, input.scale);
        Sum from_hidden{0, 0};
        if (test.recurrent) from_hidden = Product(test, test.hidden, row, component, hidden.values, hidden.scale);
        const double bias = test.bias[static_cast<std::size_t>(gate * test.shape.outputs) + at];
        a[gate] = from_input.value + from_hidden.value + bias;
        bound[gate] = terms * kEpsilon * (from_input.magnitude + from_hidden.magnitude + std::fabs(bias));
      }
      double expected = a[0], error = bound[0];
      if (test.shape.kind == Kind::kRnn) {
        expected = std::tanh(a[0]);
        error = bound[0] + activation_error;
      } else if (test.shape.kind == Kind::kLstm) {
        const double cell = SigmoidOracle(a[1]) * c[at] + SigmoidOracle(a[0]) * std::tanh(a[2]);
        const double cell_error = (bound[1] / 4 + activation_error) * std::fabs(c[at]) +
                                  (bound[0] / 4 + activation_error) + (bound[2] + activation_error) +
                                  4 * kEpsilon * (1 + std::fabs(c[at]));
        ASSERT_LE(std::fabs(c_next[at] - cell), cell_error) << "cell " << at << ": " << c_next[at] << " for " << cell;
        expected = SigmoidOracle(a[3]) * std::tanh(cell);
        error = cell_error + bound[3] / 4 + 3 * activation_error;
      } else {
        ASSERT_FALSE(test.recurrent) << "the cell of this kind is missing here";
      }
      ASSERT_LE(std::fabs(y[at] - expected), error) << "output " << at << ": " << y[at] << " for " << expected;
    }
  }
}

}  // namespace tetraphone
