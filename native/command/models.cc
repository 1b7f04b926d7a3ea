#include "models.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "../system/files.h"
#include "../system/process.h"

namespace tetraphone {
namespace {

namespace fs = std::filesystem;

// Where models lie that have names: beside this program, and where pip puts the package of which it is a part.
std::vector<std::string> Places() {
  const std::string folder = ProgramFolder();
  if (folder.empty()) return {};
  std::vector<std::string> places{folder, folder + "/models"};
  const fs::path above = fs::u8path(folder).parent_path();
  std::vector<fs::path> packages{above / "Lib" / "site-packages"};  // Windows
  std::error_code none;
  for (fs::directory_iterator at(above / "lib", none), end; !none && at != end; at.increment(none)) {
    if (at->path().filename().u8string().rfind("python", 0) == 0) packages.push_back(at->path() / "site-packages");
  }
  for (const fs::path& package : packages) {
    const fs::path models = package / "tetraphone" / "models";
    std::error_code unknown;
    if (fs::is_directory(models, unknown)) places.push_back(models.u8string());
  }
  return places;
}

}  // namespace

Result<std::string> FindModel(std::string named) {
  if (named.empty()) named = Environment("TETRAPHONE_MODEL").value_or("");
  const std::string name = named.empty() ? kDefaultModel : named;
  std::string places;
  for (const std::string& folder : Places()) {
    const std::string path = folder + "/" + name + ".pte";
    if (StampOf(path)) return path;
    places += (places.empty() ? "" : ", ") + folder;
  }
  const bool is_name = name.find_first_of("/\\.") == std::string::npos;
  if (!named.empty() && (!is_name || StampOf(named))) return named;
  const std::string looked = places.empty() ? "" : " (looked for in " + places + ")";
  return Error{ErrorCode::kInvalidArgument,
               named.empty() ? "no model; give --model FILE, set TETRAPHONE_MODEL, or put " + name +
                                   ".pte beside this program" + looked
                             : "there is no model " + named + looked + "; give the path of a file"};
}

}  // namespace tetraphone
