// What a .pte file of `tetraphone export` holds, checked byte by byte before ExecuTorch sees any of it.
//
// ExecuTorch verifies that the file is a well-formed flatbuffer, but takes indices, sizes, plans and instructions on
// trust. Programs of ours have one form: a chain of our operators from the frames to the scores, the states in between
// given and returned. ReadProgram accepts that form alone, with every packed block opened and every buffer measured, so
// a file whose checksum was made right again can give other scores, but cannot crash or hang whoever runs it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "../common/result.h"

namespace tetraphone {

struct ProgramFile {
  // The constant methods: an int, float or str of Python, or a tensor of float32.
  using Value = std::variant<std::int64_t, double, std::string, std::vector<float>>;
  std::map<std::string, Value> metadata;

  std::size_t inputs = 0;           // reals of a network frame
  std::size_t outputs = 0;          // scores of a network frame
  std::size_t most_frames = 0;      // of one call
  std::vector<std::size_t> states;  // reals of each state
  std::size_t planned_bytes = 0;    // working memory of a call, as the program plans it
  std::size_t scratch_bytes = 0;    // and what an operator needs at most beside it
};

// Verifies the trailer and the program of a whole file; what is returned is a copy. `name` is for errors.
Result<ProgramFile> ReadProgram(const std::uint8_t* data, std::size_t size, const std::string& name);

}  // namespace tetraphone
