// How likely each symbol is in a context: a tree that asks for one feature of the context after another and has the
// frequencies of symbols at its leaves. Trees are learned by corpora/lexicon/tree.py.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bytes.h"

namespace tetraphone {

constexpr std::uint32_t kFrequencyBits = 12;  // the frequencies of a leaf add up to 2^12

class ContextTree {
 public:
  struct Entry {
    std::uint16_t symbol;
    std::uint16_t frequency;
  };
  // The symbols of a leaf, the most frequent first; at least one.
  struct Leaf {
    const Entry* first;
    const Entry* last;
    const Entry* begin() const { return first; }
    const Entry* end() const { return last; }
  };

  // Reads a tree whose contexts have `features` values, over symbols below `symbols`; `bytes` fails if it is none.
  ContextTree(Bytes* bytes, std::size_t features, std::size_t symbols);

  // Where the context leads that has these values.
  Leaf Find(const std::vector<std::uint16_t>& context) const;

  std::size_t HeapBytes() const;

 private:
  struct Node {
    std::int32_t feature;     // that it asks for; −1: a leaf
    std::uint32_t first = 0;  // of its branches, or of the leaf's entries
    std::uint32_t count = 0;
    std::uint32_t rest = 0;   // the node for values without a branch
  };
  struct Branch {
    std::uint16_t value;
    std::uint32_t node;
  };

  std::uint32_t Read(Bytes* bytes, std::size_t features, std::size_t symbols, int depth);
  std::uint32_t ReadLeaf(Bytes* bytes, std::size_t symbols);

  std::vector<Node> nodes_;
  std::vector<Branch> branches_;  // of a node: sorted by value
  std::vector<Entry> entries_;
  std::uint32_t root_;
};

}  // namespace tetraphone
