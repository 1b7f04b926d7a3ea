#include "engine.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>

namespace tetraphone {

// engine_direct.cc, engine_executorch.cc.
Result<std::unique_ptr<const Engine>> LoadDirect(const LoadedFile& file);
Result<std::unique_ptr<const Engine>> LoadExecuTorch(const LoadedFile& file);

namespace {

constexpr EngineEntry kEngines[] = {
#ifdef TETRAPHONE_ENGINE_DIRECT
    {"direct", LoadDirect},
#endif
#ifdef TETRAPHONE_ENGINE_EXECUTORCH
    {"executorch", LoadExecuTorch},
#endif
};

const EngineEntry* Find(const char* name) {
  for (const EngineEntry& entry : kEngines) {
    if (std::strcmp(entry.name, name) == 0) return &entry;
  }
  return nullptr;
}

Error Lacks(const char* what, const char* name) {
  std::string names;
  for (const EngineEntry& entry : kEngines) names += std::string(names.empty() ? "" : " or ") + entry.name;
  return {ErrorCode::kInvalidArgument, std::string(what) + " is " + name + ", which this build lacks; give " + names};
}

const EngineEntry* Asked() {
  const char* name = std::getenv("TETRAPHONE_ENGINE");
  return name == nullptr || *name == '\0' ? &kEngines[0] : Find(name);
}

// The environment's until another is chosen; null: it names none of this build.
std::atomic<const EngineEntry*>& Active() {
  static std::atomic<const EngineEntry*> active{Asked()};
  return active;
}

}  // namespace

const EngineEntry* EngineAt(std::size_t index) { return index < std::size(kEngines) ? &kEngines[index] : nullptr; }

Result<const EngineEntry*> ActiveEngine() {
  const EngineEntry* active = Active().load(std::memory_order_relaxed);  // entries are constants
  if (active == nullptr) return Lacks("TETRAPHONE_ENGINE", std::getenv("TETRAPHONE_ENGINE"));
  return active;
}

Failure ChooseEngine(const char* name) {
  const EngineEntry* found = Find(name);
  if (found == nullptr) return Lacks("the engine", name);
  Active().store(found, std::memory_order_relaxed);
  return std::nullopt;
}

}  // namespace tetraphone
