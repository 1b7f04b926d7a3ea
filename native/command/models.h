// Where the model of a command is.

#pragma once

#include <string>

#include "../common/result.h"

namespace tetraphone {

// The model that is meant by default, and that `make setup` and the wheels come with; as DEFAULT of common/models.py.
constexpr char kDefaultModel[] = "english-int8";

// The file of a model.
//   named   a path, or the name of a model whose file lies beside this program, in a folder "models" there, or in
//           the Python package of which it is a part; "" for
//           what the variable TETRAPHONE_MODEL names, else for kDefaultModel
Result<std::string> FindModel(std::string named);

}  // namespace tetraphone
