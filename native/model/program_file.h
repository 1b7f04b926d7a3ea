// What a .pte file of `tetraphone export` holds, checked byte by byte before an engine sees any of it.
//
// ExecuTorch verifies that the file is a well-formed flatbuffer, but takes indices, sizes, plans and instructions on
// trust. Programs of ours have one form: a chain of our operators from the frames to the scores, the states in between
// given and returned. ReadProgramFile accepts that form alone, with every packed block opened and every buffer
// measured, so a file whose checksum was made right again can give other scores, but cannot crash or hang whoever runs
// it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "../common/result.h"
#include "../kernels/layers.h"

namespace tetraphone {

// A chain of layers: frames in, scores out.
struct Program {
  std::size_t inputs = 0;           // reals of a frame
  std::size_t outputs = 0;          // scores of a frame
  std::size_t most_frames = 0;      // of one call
  std::vector<std::size_t> states;  // reals of each state
  std::size_t planned_bytes = 0;    // working memory of a call, as the program plans it
  std::size_t scratch_bytes = 0;    // and what an operator needs at most beside it

  // A call of an operator. Buffer 0 holds the frames, the last one the scores.
  struct Step {
    Layer layer;            // in the file's bytes
    std::size_t from;       // the buffer that it reads
    std::size_t to;         // the buffer that it writes
    std::size_t state = 0;  // the first of its states
  };
  std::vector<Step> steps;           // in the order in which they run
  std::vector<std::size_t> buffers;  // where each lies in the working memory; 0 for the frames and the scores

  // Reals of what the last step turns into scores, if it is the output of a recurrent layer; else 0.
  std::size_t hidden() const;
  std::size_t heap_bytes() const;  // see heap_bytes.h
};

constexpr const char* kForward = "forward";  // the program of the network, which every file has

struct ProgramFile {
  // The methods without inputs: an int, float or str of Python, or a tensor of float32.
  using Value = std::variant<std::int64_t, double, std::string, std::vector<float>>;
  std::map<std::string, Value> metadata;
  std::map<std::string, Program, std::less<>> programs;  // the methods with inputs

  const Program* Find(std::string_view name) const;  // null where the file lacks it
};

// Verifies the trailer and the programs of a whole file; what is returned is a copy, but for the steps' packed weights.
// `name` is for errors.
Result<ProgramFile> ReadProgramFile(const std::uint8_t* data, std::size_t size, const std::string& name);

}  // namespace tetraphone
