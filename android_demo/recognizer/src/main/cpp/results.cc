#include "results.h"

#include <cstdint>
#include <string>
#include <vector>

#include "capi/results_c.h"
#include "glue.h"

namespace glue {

jbyteArray Formats(JNIEnv* env, jobject) {
  return Guarded(env, [&]() -> jbyteArray {
    std::string lines;
    tetraphone_result_format format;
    for (std::size_t i = 0; tetraphone_result_format_at(i, &format) == 1; ++i) {
      lines += std::string(format.name) + "\t" + format.suffix + "\t" + format.help + "\n";
    }
    return Bytes(env, lines);
  });
}

jbyteArray Alphabet(JNIEnv* env, jobject) {
  return Guarded(env, [&]() -> jbyteArray {
    std::string lines;
    const char* arpabet;
    const char* ipa;
    for (std::size_t i = 0; tetraphone_alphabet_phone_at(i, &arpabet, &ipa) == 1; ++i) {
      lines += std::string(arpabet) + "\t" + ipa + "\n";
    }
    return Bytes(env, lines);
  });
}

jbyteArray Write(JNIEnv* env, jobject, jbyteArray recording, jdouble seconds, jobjectArray symbols,
                 jdoubleArray numbers, jbyteArray format, jbyteArray alphabet) {
  return Guarded(env, [&]() -> jbyteArray {
    const auto count = static_cast<std::size_t>(env->GetArrayLength(symbols));
    std::vector<jdouble> values(3 * count);
    if (static_cast<std::size_t>(env->GetArrayLength(numbers)) != values.size()) {
      Throw(env, "phones of another version of this library; build both from one");
      return nullptr;
    }
    env->GetDoubleArrayRegion(numbers, 0, static_cast<jsize>(values.size()), values.data());
    std::vector<std::string> labels(count);
    std::vector<tetraphone_interval> intervals(count);
    for (std::size_t i = 0; i < count; ++i) {
      labels[i] = TextAt(env, symbols, static_cast<jsize>(i)).value_or("");
      intervals[i] = {labels[i].c_str(), values[3 * i], values[3 * i + 1], values[3 * i + 2]};
    }
    const tetraphone_tier tier = {"phones", intervals.data(), count};
    const std::string name = Text(env, recording), written_as = Text(env, format), spelt = Text(env, alphabet);
    tetraphone_result result = {sizeof result, name.c_str(), seconds, &tier, 1, nullptr, 0};
    std::string text;
    std::int64_t size = 0;
    do {
      text.resize(static_cast<std::size_t>(size) + 1);  // with the final 0
      size = tetraphone_format_result(&result, written_as.c_str(), spelt.c_str(), 1, text.data(), text.size());
      if (Checked(env, size) < 0) return nullptr;
    } while (static_cast<std::size_t>(size) >= text.size());
    text.resize(static_cast<std::size_t>(size));
    return Bytes(env, text);
  });
}

}  // namespace glue
