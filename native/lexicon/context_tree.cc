#include "context_tree.h"

#include <algorithm>

namespace tetraphone {
namespace {

constexpr int kDeepest = 64;

}  // namespace

ContextTree::ContextTree(Bytes* bytes, std::size_t features, std::size_t symbols)
    : root_(Read(bytes, features, symbols, 0)) {}

// A node is a number, 0 for a leaf, else a feature's, counted from 1; then its branches, each a value and a node, and
// the node of the rest.
std::uint32_t ContextTree::Read(Bytes* bytes, std::size_t features, std::size_t symbols, int depth) {
  const std::uint32_t kind = bytes->Number(0, static_cast<std::uint32_t>(features));
  if (depth > kDeepest) bytes->Fail();
  if (kind == 0 || bytes->failed()) return ReadLeaf(bytes, symbols);
  Node node{static_cast<std::int32_t>(kind) - 1};
  const std::uint32_t count = bytes->Count();
  std::vector<Branch> branches;  // grows as they are read: the count is not to be trusted with memory
  std::uint32_t least = 0;
  while (branches.size() < count && !bytes->failed()) {
    const auto value = static_cast<std::uint16_t>(bytes->Number(least, 0xFFFF));
    least = value + 1u;
    branches.push_back({value, Read(bytes, features, symbols, depth + 1)});
  }
  node.rest = Read(bytes, features, symbols, depth + 1);
  node.first = static_cast<std::uint32_t>(branches_.size());
  node.count = static_cast<std::uint32_t>(branches.size());
  branches_.insert(branches_.end(), branches.begin(), branches.end());
  nodes_.push_back(node);
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

// A leaf is a count of symbols, and each with its frequency.
std::uint32_t ContextTree::ReadLeaf(Bytes* bytes, std::size_t symbols) {
  Node node{-1, static_cast<std::uint32_t>(entries_.size())};
  node.count = bytes->Count();
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < node.count; ++i) {
    const std::uint32_t symbol = bytes->Number(0, static_cast<std::uint32_t>(symbols) - 1);
    const std::uint32_t frequency = bytes->Number(1, 1u << kFrequencyBits);
    entries_.push_back({static_cast<std::uint16_t>(symbol), static_cast<std::uint16_t>(frequency)});
    sum += frequency;
  }
  if (sum != 1u << kFrequencyBits) bytes->Fail();
  nodes_.push_back(node);
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

ContextTree::Leaf ContextTree::Find(const std::vector<std::uint16_t>& context) const {
  const Node* node = &nodes_[root_];
  while (node->feature >= 0) {
    const std::uint16_t value = context[static_cast<std::size_t>(node->feature)];
    const Branch* first = branches_.data() + node->first;
    const Branch* last = first + node->count;
    const Branch* found =
        std::lower_bound(first, last, value, [](const Branch& branch, std::uint16_t v) { return branch.value < v; });
    node = &nodes_[found != last && found->value == value ? found->node : node->rest];
  }
  return {entries_.data() + node->first, entries_.data() + node->first + node->count};
}

std::size_t ContextTree::HeapBytes() const {
  return nodes_.capacity() * sizeof(Node) + branches_.capacity() * sizeof(Branch) + entries_.capacity() * sizeof(Entry);
}

}  // namespace tetraphone
