#include "recognizer_c.h"

#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../decoder/grammar.h"
#include "../model/engine.h"
#include "../recognizer/recognizer.h"
#include "errors.h"
#include "handles.h"

namespace {

using tetraphone::Checked;
using tetraphone::CheckSize;
using tetraphone::CopyText;
using tetraphone::Error;
using tetraphone::ErrorCode;
using tetraphone::Fail;
using tetraphone::Failure;
using tetraphone::FieldAt;
using tetraphone::Handles;
using tetraphone::kNoHandle;
using tetraphone::kNoMemory;
using tetraphone::Lock;
using tetraphone::Phone;
using tetraphone::Recognizer;
using tetraphone::Recognizers;
using tetraphone::Result;
using tetraphone::Stream;
using tetraphone::With;

thread_local std::string last_error;
thread_local int last_code = 0;

using OpenStream = tetraphone::OpenStream<Stream, Phone>;

using HeapCounter = std::uint64_t (*)();

Handles<const HeapCounter>& HeapCounters() {
  static auto* counters = new Handles<const HeapCounter>;
  return *counters;
}

Handles<OpenStream>& Streams() {
  static auto* handles = new Handles<OpenStream>;
  return *handles;
}

template <typename Load>
tetraphone_handle Loaded(Load load) {
  try {
    Result<Recognizer> recognizer = load();
    if (!recognizer) return Fail(recognizer.error()), 0;
    return Recognizers().Add(std::make_shared<const Recognizer>(std::move(*recognizer)));
  } catch (const std::bad_alloc&) {
    return Fail(kNoMemory), 0;
  }
}

tetraphone_phone ToC(const Phone& phone) { return {phone.index, phone.start, phone.end, phone.confidence}; }

}  // namespace

Handles<const Recognizer>& tetraphone::Recognizers() {
  static auto* handles = new Handles<const Recognizer>;  // never destroyed: threads may outlive main
  return *handles;
}

void tetraphone::CountHeap(std::uint64_t (*bytes)()) {
  HeapCounters().Add(std::make_shared<const HeapCounter>(bytes));
}

int tetraphone::Fail(const Error& error) {
  last_error = error.message;
  return last_code = -static_cast<int>(error.code);
}

TETRAPHONE_C_ABI const char* tetraphone_error(void) { return last_error.c_str(); }

TETRAPHONE_C_ABI int tetraphone_error_code(void) { return last_code; }

TETRAPHONE_C_ABI const char* tetraphone_engine() {
  const char* name = nullptr;
  Checked([&]() -> Failure {
    const Result<const tetraphone::EngineEntry*> active = tetraphone::ActiveEngine();
    if (!active) return active.error();
    name = (*active)->name;
    return std::nullopt;
  });
  return name;
}

TETRAPHONE_C_ABI const char* tetraphone_engine_at(std::size_t index) {
  const tetraphone::EngineEntry* entry = tetraphone::EngineAt(index);
  return entry == nullptr ? nullptr : entry->name;
}

TETRAPHONE_C_ABI int tetraphone_choose_engine(const char* name) {
  return Checked([&] { return tetraphone::ChooseEngine(name); });
}

TETRAPHONE_C_ABI tetraphone_handle tetraphone_recognizer_load(const char* path) {
  return Loaded([&] { return Recognizer::Load(path); });
}

TETRAPHONE_C_ABI tetraphone_handle tetraphone_recognizer_load_bytes(const uint8_t* data, size_t size,
                                                                    const char* name) {
  return Loaded([&] { return Recognizer::Load(data, size, name); });
}

TETRAPHONE_C_ABI int tetraphone_model_info_at(size_t index, tetraphone_field* field) {
#define TETRAPHONE_ROW(kind, name, value, help) {#name, #kind, "", help, 0, 0, 0, 0},
  static constexpr tetraphone_field kFields[] = {TETRAPHONE_MODEL_INFO(TETRAPHONE_ROW)};
#undef TETRAPHONE_ROW
  return FieldAt(kFields, index, field);
}

TETRAPHONE_C_ABI int tetraphone_stream_option_at(size_t index, tetraphone_field* field) {
  constexpr const char* kKinds[] = {"Whole", "Real", "Switch", "File"};  // of OptionKind
  if (index >= std::size(tetraphone::kOptionRows)) return 0;
  const tetraphone::OptionRow& row = tetraphone::kOptionRows[index];
  const char* kind = kKinds[static_cast<int>(row.kind)];
  *field = {row.name, kind, row.flag, row.help, row.initial, row.least, row.greatest, row.needs_beam};
  return 1;
}

TETRAPHONE_C_ABI int tetraphone_command_option_at(size_t index, tetraphone_field* field) {
#define TETRAPHONE_ROW(kind, name, flag, help) {#name, #kind, flag, help, 0, 0, 0, 0},
  static constexpr tetraphone_field kFields[] = {TETRAPHONE_COMMAND_OPTIONS(TETRAPHONE_ROW)};
#undef TETRAPHONE_ROW
  return FieldAt(kFields, index, field);
}

TETRAPHONE_C_ABI int tetraphone_recognizer_info(tetraphone_handle recognizer, tetraphone_model_info* info) {
  return With(Recognizers(), recognizer, [&](const Recognizer& found) {
    if (Failure failure = CheckSize(*info, "tetraphone_model_info")) return Fail(*failure);
    const tetraphone::Model& model = found.model();
#define TETRAPHONE_VALUE(kind, name, value, ...) info->name = static_cast<decltype(info->name)>(value);
    TETRAPHONE_MODEL_INFO(TETRAPHONE_VALUE)
#undef TETRAPHONE_VALUE
    return 0;
  });
}

TETRAPHONE_C_ABI int64_t tetraphone_phone_symbol(tetraphone_handle recognizer, int32_t index, char* symbol,
                                                 size_t capacity) {
  return With(Recognizers(), recognizer, [&](const Recognizer& found) -> std::int64_t {
    const std::vector<std::string>& phones = found.info().phones;
    if (index < 0 || static_cast<std::size_t>(index) >= phones.size()) {
      return Fail(
          {ErrorCode::kInvalidArgument, "phone " + std::to_string(index) + " of " + std::to_string(phones.size())});
    }
    return CopyText(phones[static_cast<std::size_t>(index)], symbol, capacity);
  });
}

TETRAPHONE_C_ABI int tetraphone_recognizer_close(tetraphone_handle recognizer) {
  return Recognizers().Remove(recognizer) == nullptr ? Fail(kNoHandle) : 0;
}

namespace {

void Convert(int32_t from, int* to) { *to = from; }
void Convert(double from, double* to) { *to = from; }
void Convert(int32_t from, bool* to) { *to = from != 0; }
void Convert(const char*, std::shared_ptr<const tetraphone::Grammar>*) {}

// All but the grammar.
tetraphone::StreamOptions OptionsOf(const tetraphone_stream_options& options) {
  tetraphone::StreamOptions how;
#define TETRAPHONE_CONVERT(kind, name, ...) Convert(options.name, &how.decoder.name);
  TETRAPHONE_DECODER_OPTIONS(TETRAPHONE_CONVERT)
#undef TETRAPHONE_CONVERT
#define TETRAPHONE_CONVERT(kind, name, ...) Convert(options.name, &how.name);
  TETRAPHONE_OTHER_OPTIONS(TETRAPHONE_CONVERT)
#undef TETRAPHONE_CONVERT
  return how;
}

Failure CheckSize(const tetraphone_stream_options& options) {
  return tetraphone::CheckSize(options, "tetraphone_stream_options");
}

// Calls set(kind, field) for the option of that name; the first argument has the kind's type.
template <typename Set>
Failure SetOption(tetraphone_stream_options* options, const std::string& option, Set set) {
  if (Failure failure = CheckSize(*options)) return failure;
#define TETRAPHONE_SET(kind, name, ...) \
  if (option == #name) return set(&options->name);
  TETRAPHONE_STREAM_OPTIONS(TETRAPHONE_SET)
#undef TETRAPHONE_SET
  return Error{ErrorCode::kInvalidArgument, "there is no stream option " + option};
}

}  // namespace

TETRAPHONE_C_ABI int tetraphone_check_options(const tetraphone_stream_options* options) {
  return Checked([&]() -> Failure {
    if (Failure failure = CheckSize(*options)) return failure;
    tetraphone::StreamOptions how = OptionsOf(*options);
    if (options->grammar != nullptr) how.decoder.grammar = std::make_shared<const tetraphone::Grammar>();
    return CheckOptions(how);
  });
}

TETRAPHONE_C_ABI int tetraphone_default_options(tetraphone_stream_options* options) {
  return Checked([&]() -> Failure {
    if (Failure failure = CheckSize(*options)) return failure;
#define TETRAPHONE_DEFAULT(kind, name, initial, ...) options->name = initial;
    TETRAPHONE_STREAM_OPTIONS(TETRAPHONE_DEFAULT)
#undef TETRAPHONE_DEFAULT
    return std::nullopt;
  });
}

TETRAPHONE_C_ABI int tetraphone_set_number(tetraphone_stream_options* options, const char* name, double value) {
  return Checked([&] {
    return SetOption(options, name, [&](auto* field) -> Failure {
      if constexpr (std::is_pointer_v<std::remove_pointer_t<decltype(field)>>) {
        return Error{ErrorCode::kInvalidArgument, std::string(name) + " is a file, not a number"};
      } else {
        if (Failure failure = tetraphone::CheckOption(name, value)) return failure;
        *field = static_cast<std::remove_pointer_t<decltype(field)>>(value);
        return std::nullopt;
      }
    });
  });
}

TETRAPHONE_C_ABI int tetraphone_set_file(tetraphone_stream_options* options, const char* name, const char* file) {
  return Checked([&] {
    return SetOption(options, name, [&](auto* field) -> Failure {
      if constexpr (std::is_pointer_v<std::remove_pointer_t<decltype(field)>>) {
        *field = file;
        return std::nullopt;
      } else {
        return Error{ErrorCode::kInvalidArgument, std::string(name) + " is a number, not a file"};
      }
    });
  });
}

TETRAPHONE_C_ABI tetraphone_handle tetraphone_stream_open(tetraphone_handle recognizer,
                                                          const tetraphone_stream_options* options) {
  tetraphone_handle handle = 0;
  With(Recognizers(), recognizer, [&](const Recognizer& found) {
    if (Failure failure = CheckSize(*options)) return Fail(*failure);
    tetraphone::StreamOptions how = OptionsOf(*options);
    if (options->grammar != nullptr) {
      auto grammar = tetraphone::ReadGrammar(options->grammar, found.info().phones);
      if (!grammar) return Fail(grammar.error());
      how.decoder.grammar = *grammar;
    }
    auto stream = found.NewStream(how);
    if (!stream) return Fail(stream.error());
    auto open = std::make_shared<OpenStream>();
    open->stream = *stream;
    handle = Streams().Add(std::move(open));
    return 0;
  });
  return handle;
}

TETRAPHONE_C_ABI int tetraphone_stream_accept(tetraphone_handle stream, const float* samples, size_t frames,
                                              int32_t rate, int32_t channels) {
  return AcceptSound(Streams(), stream, samples, frames, rate, channels);
}

TETRAPHONE_C_ABI int tetraphone_stream_finish(tetraphone_handle stream) {
  return FinishSound(Streams(), stream);
}

TETRAPHONE_C_ABI int tetraphone_stream_reset(tetraphone_handle stream) {
  return With(Streams(), stream, [&](OpenStream& open) {
    const Lock lock(open.mutex);
    return open.Reset();
  });
}

TETRAPHONE_C_ABI int tetraphone_stream_close(tetraphone_handle stream) {
  return CloseStream(Streams(), stream);
}

TETRAPHONE_C_ABI int tetraphone_stream_paused(tetraphone_handle stream) {
  return With(Streams(), stream, [&](OpenStream& open) { return static_cast<int>(open.stream->Paused()); });
}

TETRAPHONE_C_ABI int tetraphone_stream_seconds(tetraphone_handle stream, double* seconds) {
  return SecondsOf(Streams(), stream, seconds);
}

TETRAPHONE_C_ABI uint64_t tetraphone_heap_bytes(void) {
  try {
    std::uint64_t bytes = HeapBytesOf(Streams());
    for (const auto& other : HeapCounters().All()) bytes += (*other)();
    for (const auto& recognizer : Recognizers().All()) bytes += recognizer->model().heap_bytes();
    return bytes;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

TETRAPHONE_C_ABI int64_t tetraphone_stream_poll(tetraphone_handle stream, tetraphone_phone* phones, size_t capacity) {
  return PollPhones(Streams(), stream, phones, capacity, ToC);
}

TETRAPHONE_C_ABI int64_t tetraphone_stream_provisional(tetraphone_handle stream, tetraphone_phone* phones,
                                                       size_t capacity) {
  return ProvisionalPhones(Streams(), stream, phones, capacity, ToC);
}

TETRAPHONE_C_ABI int64_t tetraphone_stream_bands(tetraphone_handle stream, float* bands, size_t capacity) {
  return TakeBands(Streams(), stream, bands, capacity);
}

TETRAPHONE_C_ABI int64_t tetraphone_stream_scores(tetraphone_handle stream, float* scores, size_t capacity) {
  return TakeScores(Streams(), stream, scores, capacity);
}
