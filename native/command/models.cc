#include "models.h"

#include <cstdio>

#include "../system/files.h"
#include "../system/process.h"

namespace tetraphone {

Result<std::string> FindModel(std::string named) {
  if (named.empty()) named = Environment("TETRAPHONE_MODEL").value_or("");
  const std::string name = named.empty() ? kDefaultModel : named;
  const std::string folder = ProgramFolder();
  for (const char* below : {"/", "/models/"}) {
    const std::string path = folder + below + name + ".pte";
    std::FILE* file = folder.empty() ? nullptr : OpenFile(path, "rb");
    if (file == nullptr) continue;
    std::fclose(file);
    return path;
  }
  if (!named.empty()) return named;
  const std::string place = " beside this program" + (folder.empty() ? "" : ", into " + folder);
  return Error{ErrorCode::kInvalidArgument,
               "no model; give --model FILE, set TETRAPHONE_MODEL, or put " + name + ".pte" + place};
}

}  // namespace tetraphone
