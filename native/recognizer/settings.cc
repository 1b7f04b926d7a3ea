#include "settings.h"

#include <cstdint>
#include <cstdio>
#include <memory>

#include "../common/words.h"
#include "../results/alphabet.h"
#include "../system/files.h"

namespace tetraphone {
namespace {

constexpr int kResults = 1;  // another number whenever the same model and options give other results
constexpr std::uint64_t kStart = 0xCBF29CE484222325, kPrime = 0x100000001B3;  // FNV-1a of 64 bits

// Of a file's bytes: its hash and its size. It tells files apart, not forgeries.
Result<std::string> Digest(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(OpenFile(path, "rb"), std::fclose);
  std::uint64_t hash = kStart, size = 0;
  unsigned char bytes[4096];
  for (std::size_t count; file && (count = std::fread(bytes, 1, sizeof bytes, file.get())) > 0; size += count) {
    for (std::size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * kPrime;
  }
  if (!file || std::ferror(file.get())) {
    return Error{ErrorCode::kUnreadable, "cannot read " + path + "; give a readable file"};
  }
  char text[32];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return std::string(text) + "-" + std::to_string(size);
}

void Append(std::string& json, const std::string& name, double value) { json += ", \"" + name + "\": " + Text(value); }
void Append(std::string&, const std::string&, const std::shared_ptr<const Grammar>&) {}  // its file's digest

}  // namespace

Result<std::string> SettingsText(const std::string& model, const std::string& grammar, const StreamOptions& options,
                                 const std::string& alphabet) {
  if (Failure failure = CheckAlphabet(alphabet)) return *failure;
  const Result<std::string> digest = Digest(model);
  const Result<std::string> rules = grammar.empty() ? Result<std::string>(std::string()) : Digest(grammar);
  if (!digest || !rules) return digest ? rules.error() : digest.error();
  std::string json = "{\"results\": " + std::to_string(kResults) + ", \"model\": \"" + *digest;
  json += "\", \"grammar\": \"" + *rules + "\"";
#define TETRAPHONE_APPEND(kind, name, ...) Append(json, #name, options.decoder.name);
  TETRAPHONE_DECODER_OPTIONS(TETRAPHONE_APPEND)
#undef TETRAPHONE_APPEND
  Append(json, "channel", options.channel);
  return json + ", \"alphabet\": \"" + alphabet + "\"}\n";
}

}  // namespace tetraphone
