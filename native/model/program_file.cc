#include "program_file.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "../common/heap_bytes.h"
#include "../common/limits.h"
#include "../operators/arguments.h"
#include "flat_buffer.h"
#include "trailer.h"

namespace tetraphone {
namespace {

constexpr std::size_t kMostValues = 1024;
constexpr std::size_t kMostFrames = 4096;
constexpr std::size_t kMostMethods = 64;
constexpr std::size_t kMostConstantBytes = std::size_t{1} << 20;           // of a constant method
constexpr std::uint64_t kMostPlannedBytes = std::uint64_t{1} << 26;        // of all that a call works in
constexpr std::uint64_t kMostFrameBytes = std::uint64_t{1} << 24;          // of the frames of one operator
constexpr std::uint64_t kLeastAlignment = 16;                              // ExecuTorch's

enum : std::uint8_t { kInt = 2, kDouble = 4, kTensor = 5, kString = 6, kTensorList = 10 };  // KernelTypes
enum : std::int8_t { kByteType = 0, kFloatType = 6 };                                       // ScalarType

struct Range {
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
};

struct TensorInfo {
  std::int8_t type;
  std::vector<std::size_t> sizes;
  std::uint64_t bytes;
  bool constant;
  bool planned;
  bool grows;                             // its first size is a bound
  Range memory;                           // planned: where in the working memory
  const std::uint8_t* content = nullptr;  // constant
};

class Reader {
 public:
  Reader(const std::uint8_t* data, std::size_t size)
      : bytes_{data, size}, flat_{Flat(bytes_)}, root_(flat_, flat_.Follow(0)) {
    Require(root_.Scalar<std::uint32_t>(0) == 0, "it has an unknown schema version");
    for (std::size_t field : {2, 3, 6, 7}) {  // inline constants, delegates' data, mutable segments, named data
      Require(root_.Tables(field).size() == 0, "it holds data that no program of ours has");
    }
    FindConstants();
  }

  ProgramFile Read() {
    const Vector plans = root_.Tables(1);
    Require(plans.size() <= kMostMethods, "it has too many methods");
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const Table plan = plans.Table(i);
      const std::string name(plan.Text(0));
      // ExecuTorch compares up to the first zero: it would take another plan for this one.
      Require(name.find('\0') == name.npos, "a method's name holds a zero");
      Require(plan.Tables(7).size() == 0, "a method uses a delegate");
      Require(file_.programs.count(name) == 0 && file_.metadata.count(name) == 0, "two methods have one name");
      if (plan.List<std::int32_t>(3).size() == 0) {
        file_.metadata.emplace(name, Constant(plan));
      } else {
        ReadProgram(plan, &file_.programs[name]);
      }
    }
    Require(file_.Find(kForward) != nullptr, "it has no program forward");
    return std::move(file_);
  }

 private:
  // The flatbuffer's part of the file, from the extended header at byte 8 (ExecuTorch's ExtendedHeader).
  static FlatBytes Flat(const FlatBytes& file) {
    Require(file.size >= 40 && std::memcmp(file.data + 4, "ET12eh00", 8) == 0, "its header is not ExecuTorch's");
    const auto program_size = file.At<std::uint64_t>(16);
    Require(program_size >= 40 && program_size <= file.size, "its header says another size");
    return {file.data, static_cast<std::size_t>(program_size)};
  }

  void FindConstants() {
    const auto base = bytes_.At<std::uint64_t>(24);
    const Table constants = root_.Child(5);
    offsets_ = constants.List<std::uint64_t>(1);
    const Vector segments = root_.Tables(4);
    Require(segments.size() == 1 && constants.Scalar<std::uint32_t>(0) == 0,
            "it has other segments than its constants");
    const auto offset = segments.Table(0).Scalar<std::uint64_t>(0);
    const auto bytes = segments.Table(0).Scalar<std::uint64_t>(1);
    Require(base >= flat_.size && base <= bytes_.size && offset <= bytes_.size - base &&
                bytes <= bytes_.size - base - offset,
            "its constants reach beyond the file");
    constants_ = {bytes_.data + base + offset, static_cast<std::size_t>(bytes)};
  }

  TensorInfo Tensor(const Table& value) {
    Require(value.Scalar<std::uint8_t>(0) == kTensor, "a value is of another type");
    const Table tensor = value.Child(1);
    TensorInfo info;
    info.type = tensor.Scalar<std::int8_t>(0);
    Require(info.type == kByteType || info.type == kFloatType, "a tensor has another type");
    info.bytes = info.type == kFloatType ? 4 : 1;
    const Vector sizes = tensor.List<std::int32_t>(2);
    const Vector order = tensor.List<std::uint8_t>(3);
    Require((sizes.size() == 1 || sizes.size() == 2) && order.size() == sizes.size(), "a tensor has another rank");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto size = sizes.Scalar<std::int32_t>(i);
      Require(size > 0 && order.Scalar<std::uint8_t>(i) == i, "a tensor has an impossible size or order");
      info.sizes.push_back(static_cast<std::size_t>(size));
      info.bytes *= static_cast<std::uint64_t>(size);  // below 2^2 * 2^31 * 2^31
    }
    const auto dynamism = tensor.Scalar<std::int8_t>(8);
    Require(tensor.Scalar<std::int32_t>(1) == 0 && tensor.Scalar<std::int8_t>(7) == 0 && !tensor.Has(9) &&
                tensor.Scalar<std::uint8_t>(4) == 0 && (dynamism == 0 || dynamism == 1),
            "a tensor has an unknown layout");
    info.grows = dynamism == 1;
    const auto buffer = tensor.Scalar<std::uint32_t>(5);
    info.constant = buffer != 0;
    info.planned = tensor.Has(6);
    Require(!(info.constant && (info.planned || info.grows)), "a constant tensor has working memory");
    if (info.constant) {
      const auto offset = offsets_.Scalar<std::uint64_t>(buffer);
      Require(offset <= constants_.size && info.bytes <= constants_.size - offset,
              "a constant reaches beyond its segment");
      info.content = constants_.data + offset;
      Require(static_cast<std::uint64_t>(info.content - bytes_.data) % kLeastAlignment == 0, "a constant lies askew");
    }
    if (info.planned) {
      const Table place = tensor.Child(6);
      info.memory = {place.Scalar<std::uint32_t>(1), info.bytes};
      Require(place.Scalar<std::uint32_t>(0) == 1 && place.Scalar<std::uint32_t>(2) == 0, "a tensor has no memory");
    }
    return info;
  }

  ProgramFile::Value Constant(const Table& plan) {
    const Vector outputs = plan.List<std::int32_t>(4);
    Require(outputs.size() == 1, "a constant method is no constant");
    const Table value = plan.Tables(2).Table(static_cast<std::size_t>(outputs.Scalar<std::int32_t>(0)));
    switch (value.Scalar<std::uint8_t>(0)) {
      case kInt:
        return value.Child(1).Scalar<std::int64_t>(0);
      case kDouble:
        return value.Child(1).Scalar<double>(0);
      case kString: {
        const std::string_view text = value.Child(1).Text(0);
        Require(text.size() <= kMostConstantBytes, "a constant method is too long");
        return std::string(text);
      }
      default: {
        const TensorInfo info = Tensor(value);
        Require(info.constant && info.type == kFloatType && info.sizes.size() == 1, "a constant method is no constant");
        Require(info.bytes <= kMostConstantBytes, "a constant method is too long");
        std::vector<float> values(static_cast<std::size_t>(info.bytes / 4));
        std::memcpy(values.data(), info.content, values.size() * sizeof(float));
        return values;
      }
    }
  }

  void ReadProgram(const Table& plan, Program* program) {
    const Vector values = plan.Tables(2);
    const Vector inputs = plan.List<std::int32_t>(3);
    const Vector outputs = plan.List<std::int32_t>(4);
    const Vector chains = plan.Tables(5);
    const Vector operators = plan.Tables(6);
    const Vector memory = plan.List<std::int64_t>(8);
    Require(values.size() <= kMostValues && operators.size() <= kMostValues, "it has too many values");
    Require(outputs.size() == inputs.size(), "its states are not those that it returns");
    Require(chains.size() == 1 && chains.Table(0).Tables(2).size() <= kMostValues,
            "it has another chain of instructions");
    Require(memory.size() >= 1 && memory.size() <= 2 && plan.Tables(9).size() == 0, "it has other working memory");
    const auto planned = memory.size() == 2 ? memory.Scalar<std::int64_t>(1) : 0;
    Require(
        memory.Scalar<std::int64_t>(0) == 0 && planned >= 0 && static_cast<std::uint64_t>(planned) <= kMostPlannedBytes,
        "it has other working memory");
    program->planned_bytes = static_cast<std::size_t>(planned);

    for (std::size_t i = 0; i < values.size(); ++i) CheckValue(values, i, *program);

    // The chain: each operator reads the frames that the one before wrote; states come and go in order.
    const auto at = [&](const Vector& list, std::size_t i) {
      return static_cast<std::size_t>(list.Scalar<std::int32_t>(i));
    };
    const auto tensor = [&](std::size_t index) { return Tensor(values.Table(index)); };
    const TensorInfo first = tensor(at(inputs, 0));
    CheckFrames(first);
    program->most_frames = first.sizes[0];
    program->inputs = first.sizes[1];
    std::size_t frames = at(inputs, 0);
    std::size_t state = 1;
    program->buffers.push_back(0);
    const Vector instructions = chains.Table(0).Tables(2);
    Require(instructions.size() <= kMostLayers + 1, "it has too many layers");
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      Require(instructions.Table(i).Scalar<std::uint8_t>(0) == 1, "an instruction is no call of an operator");
      const Table call = instructions.Table(i).Child(1);
      const Table callee = operators.Table(static_cast<std::size_t>(call.Scalar<std::int32_t>(0)));
      const LayerKind& kind = OperatorKind(callee);
      const std::size_t count = static_cast<std::size_t>(kind.states);
      const Vector args = call.List<std::int32_t>(1);
      const Arguments place = ArgumentsOf(count);
      Require(args.size() == place.count, "a call has another number of arguments");
      Require(at(args, 0) == frames, "an operator does not read what the one before it wrote");
      const TensorInfo x = tensor(frames);
      const TensorInfo packed = tensor(at(args, place.weights));
      const TensorInfo written = tensor(at(args, place.y));
      CheckFrames(written);
      Require(x.sizes[1] <= kMostWidth && written.sizes[1] <= kMostWidth, "a layer is too wide");
      Require(written.bytes <= kMostFrameBytes, "an operator writes too much");
      Require(written.sizes[0] == program->most_frames, "the numbers of frames differ");
      Require(packed.constant && packed.type == kByteType && packed.sizes.size() == 1,
              "an operator has no packed weights");
      // Weights of one call only: the work of a frame does not exceed the file.
      for (const Range& other : weights_) Require(Apart(other, Place(packed)), "two calls share weights");
      weights_.push_back(Place(packed));
      Layer layer;
      const Status status = Open(packed.content, static_cast<std::size_t>(packed.bytes), &layer);
      if (status != Status::kOk) throw Fault{StatusText(status), ""};
      Require(Fits(layer, kind.kind, static_cast<std::int64_t>(x.sizes[1]),
                   static_cast<std::int64_t>(written.sizes[1])),
              "packed weights are of another size than their call");
      program->steps.push_back({layer, i, i + 1, state - 1});
      program->buffers.push_back(static_cast<std::size_t>(written.planned ? written.memory.first : 0));
      for (std::size_t k = 0; k < count; ++k, ++state) {
        Require(state < inputs.size() && at(args, place.states + k) == at(inputs, state) &&
                    at(args, place.new_states + k) == at(outputs, state),
                "states are not in order");
        CheckState(tensor(at(args, place.states + k)), written.sizes[1]);
        CheckState(tensor(at(args, place.new_states + k)), written.sizes[1]);
        program->states.push_back(written.sizes[1]);
      }
      if (count == 0) {
        Require(at(args, place.returned) == at(args, place.y), "a call returns something else than it wrote");
        const Table size = values.Table(at(args, place.outputs));
        Require(size.Scalar<std::uint8_t>(0) == kInt && size.Child(1).Scalar<std::int64_t>(0) == layer.shape.outputs,
                "a call has another number of outputs");
      } else {
        CheckReturned(values.Table(at(args, place.returned)), args, place);
      }
      program->scratch_bytes =
          std::max(program->scratch_bytes, ScratchBytes(layer, static_cast<std::int64_t>(program->most_frames)));
      const bool last = i + 1 == instructions.size();
      Require(written.planned != last && !written.constant, "scores have no place");
      Require(!(x.planned && written.planned) || Apart(x.memory, written.memory), "an operator overwrites its input");
      Require(last == (at(args, place.y) == at(outputs, 0)), "the scores are not the last operator's");
      frames = at(args, place.y);
      program->outputs = written.sizes[1];
    }
    Require(instructions.size() >= 1 && state == inputs.size(), "states are not in order");
    Require(!first.planned && !first.constant && frames != at(inputs, 0), "the frames have a place of their own");
    CheckDistinct(inputs, outputs);
  }

  void CheckValue(const Vector& values, std::size_t index, const Program& program) {
    const Table value = values.Table(index);
    switch (value.Scalar<std::uint8_t>(0)) {
      case kInt:
        (void)value.Child(1);
        return;
      case kTensorList: {
        const Vector items = value.Child(1).List<std::int32_t>(0);
        Require(items.size() <= 3, "a list of tensors is too long");
        for (std::size_t i = 0; i < items.size(); ++i) {
          const auto item = static_cast<std::size_t>(items.Scalar<std::int32_t>(i));
          Require(item < index, "a list stands before its tensors");  // ExecuTorch reads values in their order
          (void)Tensor(values.Table(item));
        }
        return;
      }
      default: {
        const TensorInfo info = Tensor(value);
        Require(!info.planned || (info.memory.first % kLeastAlignment == 0 &&
                                  info.memory.first + info.memory.bytes <= program.planned_bytes),
                "a tensor lies askew in the working memory, or reaches beyond it");
      }
    }
  }

  static void CheckFrames(const TensorInfo& info) {
    Require(info.type == kFloatType && info.sizes.size() == 2 && info.grows && info.sizes[0] <= kMostFrames,
            "frames are not [T, n] of float32");
  }

  static void CheckState(const TensorInfo& info, std::size_t size) {
    Require(info.type == kFloatType && info.sizes.size() == 1 && info.sizes[0] == size && !info.grows &&
                !info.planned && !info.constant,
            "a state is not [hidden] of float32");
  }

  static void CheckReturned(const Table& list, const Vector& args, const Arguments& place) {
    Require(list.Scalar<std::uint8_t>(0) == kTensorList, "a call returns no list");
    const Vector items = list.Child(1).List<std::int32_t>(0);
    Require(items.size() == place.returned - place.y, "a call returns another list");
    for (std::size_t i = 0; i < items.size(); ++i) {
      Require(items.Scalar<std::int32_t>(i) == args.Scalar<std::int32_t>(place.y + i), "a call returns another list");
    }
  }

  static void CheckDistinct(const Vector& inputs, const Vector& outputs) {
    std::vector<bool> seen(kMostValues, false);
    for (const Vector* list : {&inputs, &outputs}) {
      for (std::size_t i = 0; i < list->size(); ++i) {
        const auto index = static_cast<std::size_t>(list->Scalar<std::int32_t>(i));
        Require(index < seen.size() && !seen[index], "an input or output stands twice");
        seen[index] = true;
      }
    }
  }

  static const LayerKind& OperatorKind(const Table& callee) {
    constexpr std::string_view kOurs = "quaternion::";
    if (callee.Text(0).substr(0, kOurs.size()) == kOurs && callee.Text(1) == "out") {
      if (const LayerKind* kind = FindOperator(callee.Text(0).substr(kOurs.size()))) return *kind;
    }
    std::string name = std::string(callee.Text(0).substr(0, 60)) + "." + std::string(callee.Text(1).substr(0, 20));
    std::replace_if(name.begin(), name.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    throw Fault{"it calls the operator " + name + ", which this library lacks"};
  }

  Range Place(const TensorInfo& constant) const {
    return {static_cast<std::uint64_t>(constant.content - bytes_.data), constant.bytes};
  }

  static bool Apart(const Range& a, const Range& b) {
    return a.first + a.bytes <= b.first || b.first + b.bytes <= a.first;
  }

  FlatBytes bytes_;
  FlatBytes flat_;
  Table root_;
  Vector offsets_;
  FlatBytes constants_{nullptr, 0};
  std::vector<Range> weights_;  // of all programs' calls so far
  ProgramFile file_;
};

}  // namespace

std::size_t Program::hidden() const {
  const auto states = [](const Step& step) { return FindKind(step.layer.shape.kind)->states; };
  const std::size_t count = steps.size();
  const bool tapped = count >= 2 && states(steps[count - 1]) == 0 && states(steps[count - 2]) != 0;
  return tapped ? static_cast<std::size_t>(steps[count - 1].layer.shape.inputs) : 0;
}

std::size_t Program::heap_bytes() const { return HeapBytes(states, steps, buffers); }

const Program* ProgramFile::Find(std::string_view name) const {
  const auto found = programs.find(name);
  return found == programs.end() ? nullptr : &found->second;
}

Result<ProgramFile> ReadProgramFile(const std::uint8_t* data, std::size_t size, const std::string& name) {
  if (Failure failure = CheckTrailer(data, size, name)) return *failure;
  try {
    return Reader(data, size - kTrailerBytes).Read();
  } catch (const Fault& fault) {
    return Error{ErrorCode::kDamaged, name + " is damaged or not a program of ours: " + fault.what + fault.mend};
  }
}

}  // namespace tetraphone
