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

std::atomic<const EngineEntry*> chosen{nullptr};  // entries are constants: nothing else is published

}  // namespace

const EngineEntry* EngineAt(std::size_t index) { return index < std::size(kEngines) ? &kEngines[index] : nullptr; }

Result<const EngineEntry*> ActiveEngine() {
  if (const EngineEntry* entry = chosen.load(std::memory_order_relaxed)) return entry;
  const char* name = std::getenv("TETRAPHONE_ENGINE");
  if (name == nullptr || *name == '\0') return &kEngines[0];
  const EngineEntry* found = Find(name);
  if (found == nullptr) return Lacks("TETRAPHONE_ENGINE", name);
  return found;
}

Failure ChooseEngine(const char* name) {
  const EngineEntry* found = Find(name);
  if (found == nullptr) return Lacks("the engine", name);
  chosen.store(found, std::memory_order_relaxed);
  return std::nullopt;
}

}  // namespace tetraphone
