// What all functions of JNI use: texts, exceptions, and the classes that they are made of.

#pragma once

#include <jni.h>

#include <cstddef>
#include <new>
#include <optional>
#include <string>

#include "capi/recognizer_c.h"

namespace glue {

// Found once, by the thread that loads the library: another may see another class loader.
struct Classes {
  jclass natives;
  jclass string;
  jclass exception;
  jmethodID new_string;
  jmethodID new_exception;
};
inline Classes classes;

inline std::string Text(JNIEnv* env, jbyteArray bytes) {
  std::string text(static_cast<std::size_t>(env->GetArrayLength(bytes)), '\0');
  env->GetByteArrayRegion(bytes, 0, static_cast<jsize>(text.size()), reinterpret_cast<jbyte*>(text.data()));
  return text;
}

inline jbyteArray Bytes(JNIEnv* env, const std::string& text) {
  const auto size = static_cast<jsize>(text.size());
  jbyteArray bytes = env->NewByteArray(size);
  if (bytes != nullptr) env->SetByteArrayRegion(bytes, 0, size, reinterpret_cast<const jbyte*>(text.data()));
  return bytes;
}

// Leaves a RecognizerException pending, or what stood in its way.
inline void Throw(JNIEnv* env, const std::string& message) {
  jbyteArray bytes = Bytes(env, message);
  jstring charset = bytes == nullptr ? nullptr : env->NewStringUTF("UTF-8");
  if (charset == nullptr) return;
  jobject text = env->NewObject(classes.string, classes.new_string, bytes, charset);
  if (text == nullptr) return;
  jobject exception = env->NewObject(classes.exception, classes.new_exception, text);
  if (exception != nullptr) env->Throw(static_cast<jthrowable>(exception));
}

// What `call` gives; zero and a pending exception if memory runs out.
template <typename Call>
auto Guarded(JNIEnv* env, Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    Throw(env, "out of memory");
    return {};
  }
}

// `code`, thrown if it is an error's.
template <typename Code>
Code Checked(JNIEnv* env, Code code) {
  if (code < 0) Throw(env, tetraphone_error());
  return code;
}

// Item `index` of an array of texts; null stays null.
inline std::optional<std::string> TextAt(JNIEnv* env, jobjectArray texts, jsize index) {
  auto* bytes = static_cast<jbyteArray>(env->GetObjectArrayElement(texts, index));
  if (bytes == nullptr) return std::nullopt;
  std::string text = Text(env, bytes);
  env->DeleteLocalRef(bytes);
  return text;
}

}  // namespace glue
