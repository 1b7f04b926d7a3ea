// Runs of frames that belong to a phone, and the paths of a beam search as chains of them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../common/heap_bytes.h"
#include "decoder.h"

namespace tetraphone {

constexpr int kNone = -1;

// Frames in a row that belong to a phone.
struct Run {
  int phone = kNone;
  std::int64_t first = 0;
  std::int64_t last = 0;
  double posteriors = 0.0;  // their sum

  void Extend(std::int64_t frame, double posterior) {
    last = frame;
    posteriors += posterior;
  }
  Token Finished() const { return {phone, first, last, posteriors / static_cast<double>(last - first + 1)}; }
};

// Runs that ended, each linked to the one before it and shared by all paths that came through it. Those that are final
// have none before them; the first record stands for the stream's start.
class Runs {
 public:
  Runs() { Clear(); }

  void Clear() {
    records_.assign(1, Record{Run(), kNone, 0});
    free_.clear();
  }

  const Run& operator[](int record) const { return records_[static_cast<std::size_t>(record)].run; }
  int Before(int record) const { return records_[static_cast<std::size_t>(record)].before; }

  // A new record, held once.
  int Append(int before, const Run& run) {
    Hold(before);
    const Record record{run, before, 1};
    if (free_.empty()) {
      records_.push_back(record);
      return static_cast<int>(records_.size()) - 1;
    }
    const int place = free_.back();
    free_.pop_back();
    records_[static_cast<std::size_t>(place)] = record;
    return place;
  }

  void Hold(int record) { ++records_[static_cast<std::size_t>(record)].holders; }

  void Drop(int record) {
    while (record != kNone && --records_[static_cast<std::size_t>(record)].holders == 0) {
      free_.push_back(record);
      record = Before(record);
    }
  }

  void MakeFinal(int record) { Drop(std::exchange(records_[static_cast<std::size_t>(record)].before, kNone)); }

  // The oldest record that is not final of a path that ends with `record`.
  int Oldest(int record) const {
    int oldest = kNone;
    for (; Before(record) != kNone; record = Before(record)) oldest = record;
    return oldest;
  }

  std::size_t heap_bytes() const { return HeapBytes(records_, free_); }

 private:
  struct Record {
    Run run;
    int before;
    int holders;
  };

  std::vector<Record> records_;
  std::vector<int> free_;
};

}  // namespace tetraphone
