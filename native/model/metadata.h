// The metadata of a file by name, with the first value that is wrong kept for the error.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "../common/words.h"
#include "model.h"
#include "program_file.h"

namespace tetraphone {

class Metadata {
 public:
  explicit Metadata(const std::map<std::string, ProgramFile::Value>& values) : values_(values) {}

  template <typename T>
  T Get(const std::string& key) {
    const auto found = values_.find(key);
    const T* value = found == values_.end() ? nullptr : std::get_if<T>(&found->second);
    if (value != nullptr) return *value;
    if (fault_.empty()) fault_ = key + (found == values_.end() ? " is missing" : " is of another type");
    return T{};
  }
  void Read(const std::string& key, double* number) { *number = Get<double>(key); }
  void Read(const std::string& key, int* number) {
    const auto value = Get<std::int64_t>(key);
    *number = static_cast<int>(value);
    if (fault_.empty() && value != *number) fault_ = key + " is " + std::to_string(value);
  }
  void Read(const std::string& key, double* number, const ModelInfo::Range& range) {
    *number = range.absent && values_.count(key) == 0 ? *range.absent : Get<double>(key);
    const bool within = *number >= range.least && *number <= range.greatest;
    if (fault_.empty() && !within) fault_ = key + " is " + Text(*number);
  }
  const std::string& fault() const { return fault_; }

 private:
  const std::map<std::string, ProgramFile::Value>& values_;
  std::string fault_;
};

}  // namespace tetraphone
