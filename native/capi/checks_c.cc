// What a model and a recording may be, through the C ABI.

#include <cmath>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "../common/limits.h"
#include "../frontend/features.h"
#include "errors.h"
#include "recognizer_c.h"

using tetraphone::Checked;
using tetraphone::Error;
using tetraphone::ErrorCode;
using tetraphone::Failure;

TETRAPHONE_C_ABI int tetraphone_check_phones(const char* const* symbols, const size_t* sizes, size_t count) {
  return Checked([&] {
    std::vector<std::string> phones;
    for (std::size_t i = 0; i < count; ++i) phones.emplace_back(symbols[i], sizes[i]);
    return tetraphone::CheckPhones(phones);
  });
}

TETRAPHONE_C_ABI int tetraphone_check_features(const char* const* names, const double* values, size_t count) {
  const auto refusal = [](const std::string& what) { return Error{ErrorCode::kInvalidArgument, what}; };
  return Checked([&]() -> Failure {
    std::map<std::string, double> given;
    for (std::size_t i = 0; i < count; ++i) given.emplace(names[i], values[i]);
    tetraphone::FeatureOptions options;
    Failure failure;
    tetraphone::FeatureOptions::ForEach(options, [&](const char* name, auto& value, double, double) {
      using Value = std::remove_reference_t<decltype(value)>;
      const auto found = given.extract(name);
      if (failure) return;
      if (!found) {
        failure = refusal(std::string("the feature option ") + name + " is missing");
        return;
      }
      const double number = found.mapped();
      if (std::is_integral_v<Value> && !(std::abs(number) < 0x1p31 && number == std::trunc(number))) {
        failure = refusal(std::string(name) + " is no whole number of at most 31 bits; give one");
        return;
      }
      value = static_cast<Value>(number);
    });
    if (failure) return failure;
    if (!given.empty()) return refusal("there is no feature option " + given.begin()->first);
    return tetraphone::CheckFeatures(options);
  });
}

TETRAPHONE_C_ABI int tetraphone_check_network(const char* kind, const char* direction, int64_t inputs, int64_t hidden,
                                              int64_t layers, int64_t outputs) {
  return Checked([&] { return tetraphone::CheckNetwork({kind, direction, inputs, hidden, layers, outputs}); });
}

TETRAPHONE_C_ABI int tetraphone_check_sound(int64_t rate, int64_t channels) {
  return Checked([&] { return tetraphone::CheckSound(rate, channels); });
}

TETRAPHONE_C_ABI int tetraphone_check_levels(const double* energies, size_t channels, uint64_t frames,
                                             double mean_energy, double peak) {
  return Checked([&] {
    return tetraphone::CheckLevels({frames, {energies, energies + channels}, mean_energy, peak});
  });
}

TETRAPHONE_C_ABI int tetraphone_check_decoded(const uint8_t* begin, size_t size) {
  return Checked([&] { return tetraphone::CheckDecoded(begin, size); });
}
