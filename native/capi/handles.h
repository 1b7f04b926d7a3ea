// Objects that callers of the C ABI know by numbers, and what is done for those that are streams.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "../system/mutex.h"
#include "errors.h"

namespace tetraphone {

// Numbers for objects. An object lives on while a call uses it.
template <typename T>
class Handles {
 public:
  std::uint64_t Add(std::shared_ptr<T> object) {
    const Lock lock(mutex_);
    objects_.emplace(++last_, std::move(object));
    return last_;
  }
  std::shared_ptr<T> Find(std::uint64_t handle) {
    const Lock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  std::shared_ptr<T> Remove(std::uint64_t handle) {
    const Lock lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }
  std::vector<std::shared_ptr<T>> All() {
    const Lock lock(mutex_);
    std::vector<std::shared_ptr<T>> all;
    for (const auto& [handle, object] : objects_) all.push_back(object);
    return all;
  }

 private:
  Mutex mutex_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::shared_ptr<T>> objects_;
};

inline const Error kNoHandle{ErrorCode::kClosed,
                             "no such recogniser, stream, aligner or lexicon: it was closed, or never opened"};

// Runs `call` on the object behind a handle; nothing is thrown out of the library.
template <typename T, typename Call>
auto With(Handles<T>& handles, std::uint64_t handle, Call call) -> decltype(call(*handles.Find(handle))) {
  using Number = decltype(call(*handles.Find(handle)));
  try {
    const std::shared_ptr<T> object = handles.Find(handle);
    return object == nullptr ? static_cast<Number>(Fail(kNoHandle)) : call(*object);
  } catch (const std::bad_alloc&) {
    return static_cast<Number>(Fail(kNoMemory));
  }
}

// Copies a text, cut to `capacity` with its final 0; its length.
inline std::int64_t CopyText(const std::string& text, char* target, std::size_t capacity) {
  if (target == nullptr || capacity == 0) {
    return Fail({ErrorCode::kInvalidArgument, "there is no room for the text; give at least a byte"});
  }
  const std::size_t size = std::min(text.size(), capacity - 1);
  std::memcpy(target, text.data(), size);
  target[size] = 0;
  return static_cast<std::int64_t>(text.size());
}

template <typename Field>
int FieldAt(const Field* fields, std::size_t size, std::size_t index, Field* field) {
  if (index >= size) return 0;
  *field = fields[index];
  return 1;
}

// The index-th row of a list: 1, or 0 behind the last.
template <typename Field, std::size_t size>
int FieldAt(const Field (&fields)[size], std::size_t index, Field* field) {
  return FieldAt(&fields[0], size, index, field);
}

// Appends what the stream has to what waits, and hands over as much as fits.
template <typename T, typename Item, typename Convert>
std::int64_t Hand(Result<std::vector<T>> fresh, std::deque<T>* waiting, Item* items, std::size_t capacity,
                  Convert convert) {
  if (!fresh) return Fail(fresh.error());
  waiting->insert(waiting->end(), fresh->begin(), fresh->end());
  const std::size_t count = std::min(capacity, waiting->size());
  std::transform(waiting->begin(), waiting->begin() + static_cast<std::ptrdiff_t>(count), items, convert);
  waiting->erase(waiting->begin(), waiting->begin() + static_cast<std::ptrdiff_t>(count));
  return static_cast<std::int64_t>(count);
}

inline float Same(float value) { return value; }

// A stream, and what it computed that did not fit the caller's memory yet.
template <typename Of, typename Item>
struct OpenStream {
  std::shared_ptr<Of> stream;
  Mutex mutex;
  std::deque<Item> phones;
  std::deque<float> bands;
  std::deque<float> scores;

  int Reset() {
    phones.clear();
    bands.clear();
    scores.clear();
    return Code(stream->Reset());
  }
};

template <typename Open>
std::uint64_t HeapBytesOf(Handles<Open>& handles) {
  std::uint64_t bytes = 0;
  for (const auto& open : handles.All()) {
    bytes += open->stream->HeapBytes();
    const Lock lock(open->mutex);
    bytes += sizeof *open + open->phones.size() * sizeof open->phones[0] +
             (open->bands.size() + open->scores.size()) * sizeof(float);
  }
  return bytes;
}

template <typename Open>
int AcceptSound(Handles<Open>& handles, std::uint64_t handle, const float* samples, std::size_t frames,
                std::int32_t rate, std::int32_t channels) {
  return With(handles, handle,
              [&](Open& open) { return Code(open.stream->Accept(samples, frames, rate, channels)); });
}

template <typename Open>
int FinishSound(Handles<Open>& handles, std::uint64_t handle) {
  return With(handles, handle, [](Open& open) { return Code(open.stream->Finish()); });
}

template <typename Open>
int CloseStream(Handles<Open>& handles, std::uint64_t handle) {
  const std::shared_ptr<Open> open = handles.Remove(handle);
  if (open == nullptr) return Fail(kNoHandle);
  open->stream->Close();
  return 0;
}

template <typename Open>
int SecondsOf(Handles<Open>& handles, std::uint64_t handle, double* seconds) {
  return With(handles, handle, [&](Open& open) {
    *seconds = open.stream->Seconds();
    return 0;
  });
}

template <typename Open, typename Item, typename Convert>
std::int64_t PollPhones(Handles<Open>& handles, std::uint64_t handle, Item* phones, std::size_t capacity,
                        Convert convert) {
  return With(handles, handle, [&](Open& open) {
    const Lock lock(open.mutex);
    return Hand(open.stream->Poll(), &open.phones, phones, capacity, convert);
  });
}

template <typename Open, typename Item, typename Convert>
std::int64_t ProvisionalPhones(Handles<Open>& handles, std::uint64_t handle, Item* phones, std::size_t capacity,
                               Convert convert) {
  return With(handles, handle, [&](Open& open) {
    decltype(open.phones) none;
    return Hand(open.stream->Provisional(), &none, phones, capacity, convert);
  });
}

template <typename Open>
std::int64_t TakeBands(Handles<Open>& handles, std::uint64_t handle, float* bands, std::size_t capacity) {
  return With(handles, handle, [&](Open& open) {
    const Lock lock(open.mutex);
    return Hand(open.stream->TakeBands(), &open.bands, bands, capacity, Same);
  });
}

template <typename Open>
std::int64_t TakeScores(Handles<Open>& handles, std::uint64_t handle, float* scores, std::size_t capacity) {
  return With(handles, handle, [&](Open& open) {
    const Lock lock(open.mutex);
    return Hand(open.stream->TakeScores(), &open.scores, scores, capacity, Same);
  });
}

// What callers have open, of one file for others.
class Lexicon;
class Recognizer;
Handles<const Recognizer>& Recognizers();  // recognizer_c.cc
Handles<const Lexicon>& Lexicons();        // lexicon_c.cc
// Of heap that a file's objects hold: tetraphone_heap_bytes counts it from then on. Not every library has every file.
void CountHeap(std::uint64_t (*bytes)());  // recognizer_c.cc

}  // namespace tetraphone
