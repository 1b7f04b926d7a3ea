// The metadata of a file by name, with the first value that is wrong kept for the error.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
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
  // A double or an int of Python, as `Number` is.
  template <typename Number>
  void Read(const std::string& key, Number* number, const ModelInfo::Range& range) {
    using Held = std::conditional_t<std::is_integral_v<Number>, std::int64_t, double>;
    const bool absent = range.absent && values_.count(key) == 0;
    const double value = absent ? *range.absent : static_cast<double>(Get<Held>(key));
    const bool within = value >= range.least && value <= range.greatest;
    if (fault_.empty() && !within) fault_ = key + " is " + Text(value);
    if (within || !std::is_integral_v<Number>) *number = static_cast<Number>(value);
  }
  const std::string& fault() const { return fault_; }

 private:
  const std::map<std::string, ProgramFile::Value>& values_;
  std::string fault_;
};

}  // namespace tetraphone
