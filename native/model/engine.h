// What runs a verified program: ExecuTorch, or the kernels called directly. Both give the same bits.
//
// A build has those of TETRAPHONE_ENGINES (CMakeLists.txt), and uses the direct one where it has it. The environment's
// TETRAPHONE_ENGINE chooses another; ChooseEngine does so for what is loaded from then on.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../common/result.h"
#include "program_file.h"

namespace tetraphone {

// One stream's call of a program, with all the memory that it works in. Not for two threads at once.
class Call {
 public:
  virtual ~Call() = default;
  // x [frames, inputs] -> scores [frames, outputs] and, unless it is null, hidden [frames, hidden], the last recurrent
  // layer's output, of a program that has one; the states that it was made with are read and written.
  virtual Failure Run(const float* x, std::size_t frames, float* scores, float* hidden) = 0;
  // With the object itself; see heap_bytes.h.
  virtual std::size_t heap_bytes() const = 0;
};

using States = std::vector<std::vector<float>>;

// A file made ready for calls of its programs. It outlives them, and is outlived by the file's bytes.
class Engine {
 public:
  virtual ~Engine() = default;
  // A call of the program of this name, which the file has. `states` outlive the call, where they are.
  virtual Result<std::unique_ptr<Call>> NewCall(const std::string& program, States* states) const = 0;
  virtual std::size_t heap_bytes() const = 0;
};

struct LoadedFile {
  const std::uint8_t* data;
  std::size_t size;
  const ProgramFile& content;
  const std::string& name;  // for errors
};

struct EngineEntry {
  const char* name;
  Result<std::unique_ptr<const Engine>> (*load)(const LoadedFile& file);
};
// The index-th of this build; null behind the last.
const EngineEntry* EngineAt(std::size_t index);

// The one that the next model is loaded into; the error says that TETRAPHONE_ENGINE names none of this build.
Result<const EngineEntry*> ActiveEngine();

// Takes another for all models that are loaded from then on; an error, and no change, for a name that this build lacks.
Failure ChooseEngine(const char* name);

}  // namespace tetraphone
