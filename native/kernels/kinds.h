// The one list of layer kinds. A recurrent kind is a row here and its cell in cells.h: the packed block, the kernels of
// every instruction set, ExecuTorch's operators, the checks of files and networks, and the C ABI follow.
//
// X(name, number, quaternion, gates, states, operator, layer)
//   name        Kind::k<name>, and <name>Cell in cells.h
//   number      in the header of a packed block: never another, counted from 1 without a gap
//   quaternion  whether its products are Hamilton products
//   gates       blocks of rows in its weights, as many as its cell has sums
//   states      tensors of its state: h, then c; 0 for a layer without
//   operator    quaternion::<operator> in a program
//   layer       its name in train/network/kinds.py; empty for a layer that is no kind of a network

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#define TETRAPHONE_RECURRENT_KINDS(X)       \
  X(Rnn, 3, true, 1, 1, "rnn", "qrnn")      \
  X(Lstm, 4, true, 4, 2, "lstm", "qlstm")

#define TETRAPHONE_LAYER_KINDS(X)                         \
  X(HamiltonLinear, 1, true, 1, 0, "hamilton_linear", "") \
  X(Linear, 2, false, 1, 0, "linear", "")                 \
  TETRAPHONE_RECURRENT_KINDS(X)

namespace tetraphone {

enum class Kind : std::uint8_t {
#define TETRAPHONE_ENUMERATOR(name, number, ...) k##name = number,
  TETRAPHONE_LAYER_KINDS(TETRAPHONE_ENUMERATOR)
#undef TETRAPHONE_ENUMERATOR
};

struct LayerKind {
  Kind kind;
  bool quaternion;
  int gates;
  int states;
  const char* operator_name;
  const char* layer_name;
};

inline constexpr LayerKind kLayerKinds[] = {
#define TETRAPHONE_ROW(name, number, ...) {Kind::k##name, __VA_ARGS__},
    TETRAPHONE_LAYER_KINDS(TETRAPHONE_ROW)
#undef TETRAPHONE_ROW
};
constexpr std::size_t kKinds = sizeof(kLayerKinds) / sizeof(kLayerKinds[0]);
constexpr int kMostStates = 2;

// Where a kind stands in the list: its number counts from 1.
constexpr std::size_t IndexOf(Kind kind) { return static_cast<std::size_t>(kind) - 1; }

// Null for a number that no kind has.
constexpr const LayerKind* FindKind(Kind kind) {
  return IndexOf(kind) < kKinds ? &kLayerKinds[IndexOf(kind)] : nullptr;
}

// By the name of its operator; null for none.
constexpr const LayerKind* FindOperator(std::string_view name) {
  for (const LayerKind& row : kLayerKinds) {
    if (name == row.operator_name) return &row;
  }
  return nullptr;
}

// A kind of recurrent layers by its name in training; null for none.
constexpr const LayerKind* FindLayer(std::string_view name) {
  for (const LayerKind& row : kLayerKinds) {
    if (row.states > 0 && name == row.layer_name) return &row;
  }
  return nullptr;
}

constexpr bool KindsAreInOrder() {
  for (std::size_t i = 0; i < kKinds; ++i) {
    const LayerKind& row = kLayerKinds[i];
    if (IndexOf(row.kind) != i || row.gates < 1 || row.states < 0 || row.states > kMostStates) return false;
    if (row.states > 0 && !row.quaternion) return false;  // the drivers hold a state in four planes
  }
  return true;
}
static_assert(KindsAreInOrder());

}  // namespace tetraphone
