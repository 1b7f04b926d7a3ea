// The recogniser's C interface (native/capi/recognizer_c.h) for PhonemeRecognizer.kt. Kotlin checks counts and
// locks; here arguments are converted and failures thrown. Texts travel as UTF-8 in byte arrays: JNI's own strings are
// of another encoding.

#include <jni.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <string>
#include <vector>

#include "instruction_sets.h"
#include "layers.h"
#include "capi/recognizer_c.h"
#include "glue.h"
#include "results.h"

namespace {

using namespace glue;

constexpr std::size_t kPiece = 4096;  // samples converted at a time

jlong Opened(JNIEnv* env, tetraphone_handle handle) {
  if (handle == 0) Throw(env, tetraphone_error());
  return static_cast<jlong>(handle);
}

tetraphone_handle Handle(jlong number) { return static_cast<tetraphone_handle>(number); }

jlong Load(JNIEnv* env, jobject, jbyteArray path) {
  return Guarded(env, [&]() -> jlong {
    const std::string name = Text(env, path);
    if (name.find('\0') == std::string::npos) return Opened(env, tetraphone_recognizer_load(name.c_str()));
    Throw(env, "the name of the model's file has a zero byte; give the name of a file");
    return 0;
  });
}

jlong LoadBytes(JNIEnv* env, jobject, jbyteArray model, jbyteArray name) {
  return Guarded(env, [&]() -> jlong {
    const std::string text = Text(env, name);
    const jsize size = env->GetArrayLength(model);
    jbyte* bytes = env->GetByteArrayElements(model, nullptr);
    if (bytes == nullptr) return 0;
    const auto* data = reinterpret_cast<const std::uint8_t*>(bytes);
    const auto handle = tetraphone_recognizer_load_bytes(data, static_cast<std::size_t>(size), text.c_str());
    env->ReleaseByteArrayElements(model, bytes, JNI_ABORT);
    return Opened(env, handle);
  });
}

void CloseRecognizer(JNIEnv* env, jobject, jlong recognizer) {
  Checked(env, tetraphone_recognizer_close(Handle(recognizer)));
}

// The names of Info's numbers, with blanks between.
jbyteArray InfoNames(JNIEnv* env, jobject) {
  return Guarded(env, [&]() -> jbyteArray {
    std::string names;
    tetraphone_field field;
    for (std::size_t i = 0; tetraphone_model_info_at(i, &field) == 1; ++i) {
      names += (i == 0 ? "" : " ") + std::string(field.name);
    }
    return Bytes(env, names);
  });
}

jdoubleArray Info(JNIEnv* env, jobject, jlong recognizer) {
  tetraphone_model_info info;
  info.size = sizeof info;
  if (Checked(env, tetraphone_recognizer_info(Handle(recognizer), &info)) < 0) return nullptr;
#define TETRAPHONE_NUMBER(kind, name, ...) static_cast<jdouble>(info.name),
  const jdouble numbers[] = {TETRAPHONE_MODEL_INFO(TETRAPHONE_NUMBER)};
#undef TETRAPHONE_NUMBER
  jdoubleArray array = env->NewDoubleArray(std::size(numbers));
  if (array != nullptr) env->SetDoubleArrayRegion(array, 0, std::size(numbers), numbers);
  return array;
}

jbyteArray Symbol(JNIEnv* env, jobject, jlong recognizer, jint index) {
  char symbol[64];
  const std::int64_t size = tetraphone_phone_symbol(Handle(recognizer), index, symbol, sizeof symbol);
  return Checked(env, size) < 0 ? nullptr : Bytes(env, symbol);
}

// The options that differ from the defaults, by their names: a file where files has one, else a number.
jlong Open(JNIEnv* env, jobject, jlong recognizer, jobjectArray names, jdoubleArray numbers, jobjectArray files) {
  return Guarded(env, [&]() -> jlong {
    const jsize count = env->GetArrayLength(names);
    if (env->GetArrayLength(numbers) != count || env->GetArrayLength(files) != count) {
      Throw(env, "options of another version of this library; build both from one");
      return 0;
    }
    tetraphone_stream_options options;
    options.size = sizeof options;
    if (Checked(env, tetraphone_default_options(&options)) < 0) return 0;
    std::list<std::string> kept;
    for (jsize i = 0; i < count; ++i) {
      const std::string name = TextAt(env, names, i).value_or("");
      if (const auto file = TextAt(env, files, i)) {
        if (file->find('\0') != std::string::npos) {
          Throw(env, "the name of the " + name + "'s file has a zero byte; give the name of a file");
          return 0;
        }
        kept.push_back(*file);
        if (Checked(env, tetraphone_set_file(&options, name.c_str(), kept.back().c_str())) < 0) return 0;
        continue;
      }
      jdouble number = 0;
      env->GetDoubleArrayRegion(numbers, i, 1, &number);
      if (Checked(env, tetraphone_set_number(&options, name.c_str(), number)) < 0) return 0;
    }
    return Opened(env, tetraphone_stream_open(Handle(recognizer), &options));
  });
}

void Close(JNIEnv* env, jobject, jlong stream) { Checked(env, tetraphone_stream_close(Handle(stream))); }

// Before the array is touched: whether it holds so many samples of so many channels; else an exception is pending.
bool Fits(JNIEnv* env, jlong stream, jarray array, jint count, jint rate, jint channels) {
  if (channels < 1) {  // refused in the library's words
    Checked(env, tetraphone_stream_accept(Handle(stream), nullptr, 0, rate, channels));
    return false;
  }
  const jsize size = env->GetArrayLength(array);
  if (count >= 0 && jlong{count} * channels <= size) return true;
  Throw(env, std::to_string(count) + " samples of each of " + std::to_string(channels) +
                 " channels, but the array has " + std::to_string(size) + "; give a count that fits");
  return false;
}

// The array stays locked for the conversion of a piece only, not while the network runs.
void AcceptShorts(JNIEnv* env, jobject, jlong stream, jshortArray array, jint count, jint rate, jint channels) {
  if (!Fits(env, stream, array, count, rate, channels)) return;
  float piece[kPiece];
  const auto width = static_cast<std::size_t>(channels);
  const auto frames = static_cast<std::size_t>(count);
  for (std::size_t first = 0; first == 0 || first < frames;) {
    const std::size_t taken = std::min(frames - first, kPiece / width);
    auto* shorts = static_cast<jshort*>(env->GetPrimitiveArrayCritical(array, nullptr));
    if (shorts == nullptr) return;
    std::transform(shorts + first * width, shorts + (first + taken) * width, piece,
                   [](jshort sample) { return static_cast<float>(sample) * (1.0f / 32768); });
    env->ReleasePrimitiveArrayCritical(array, shorts, JNI_ABORT);
    const int code = tetraphone_stream_accept(Handle(stream), piece, taken, rate, channels);
    if (Checked(env, code) < 0 || taken == 0) return;
    first += taken;
  }
}

// At once: a sample that is not finite refuses the whole call.
void AcceptFloats(JNIEnv* env, jobject, jlong stream, jfloatArray array, jint count, jint rate, jint channels) {
  if (!Fits(env, stream, array, count, rate, channels)) return;
  jfloat* samples = env->GetFloatArrayElements(array, nullptr);
  if (samples == nullptr) return;
  const int code = tetraphone_stream_accept(Handle(stream), samples, static_cast<std::size_t>(count), rate, channels);
  env->ReleaseFloatArrayElements(array, samples, JNI_ABORT);
  Checked(env, code);
}

void Finish(JNIEnv* env, jobject, jlong stream) { Checked(env, tetraphone_stream_finish(Handle(stream))); }

void Reset(JNIEnv* env, jobject, jlong stream) { Checked(env, tetraphone_stream_reset(Handle(stream))); }

// Index, start, end, confidence of each phone.
jdoubleArray Phones(JNIEnv* env, const std::vector<tetraphone_phone>& phones) {
  std::vector<jdouble> numbers;
  for (const tetraphone_phone& phone : phones) {
    numbers.insert(numbers.end(), {static_cast<double>(phone.index), phone.start, phone.end, phone.confidence});
  }
  const auto size = static_cast<jsize>(numbers.size());
  jdoubleArray array = env->NewDoubleArray(size);
  if (array != nullptr && size > 0) env->SetDoubleArrayRegion(array, 0, size, numbers.data());
  return array;
}

jdoubleArray Poll(JNIEnv* env, jobject, jlong stream) {
  return Guarded(env, [&]() -> jdoubleArray {
    std::vector<tetraphone_phone> phones;
    tetraphone_phone some[64];
    std::int64_t count;
    while ((count = tetraphone_stream_poll(Handle(stream), some, std::size(some))) > 0) {
      phones.insert(phones.end(), some, some + count);
    }
    return Checked(env, count) < 0 ? nullptr : Phones(env, phones);
  });
}

jdoubleArray Provisional(JNIEnv* env, jobject, jlong stream) {
  return Guarded(env, [&]() -> jdoubleArray {
    std::vector<tetraphone_phone> phones(64);
    std::int64_t count;
    while ((count = tetraphone_stream_provisional(Handle(stream), phones.data(), phones.size())) ==
           static_cast<std::int64_t>(phones.size())) {
      phones.resize(2 * phones.size());  // there may be more
    }
    if (Checked(env, count) < 0) return nullptr;
    phones.resize(static_cast<std::size_t>(count));
    return Phones(env, phones);
  });
}

jfloatArray Bands(JNIEnv* env, jobject, jlong stream) {
  return Guarded(env, [&]() -> jfloatArray {
    std::vector<float> bands;
    float some[1024];
    std::int64_t count;
    while ((count = tetraphone_stream_bands(Handle(stream), some, std::size(some))) > 0) {
      bands.insert(bands.end(), some, some + count);
    }
    if (Checked(env, count) < 0) return nullptr;
    const auto size = static_cast<jsize>(bands.size());
    jfloatArray array = env->NewFloatArray(size);
    if (array != nullptr && size > 0) env->SetFloatArrayRegion(array, 0, size, bands.data());
    return array;
  });
}

jboolean Paused(JNIEnv* env, jobject, jlong stream) {
  return Checked(env, tetraphone_stream_paused(Handle(stream))) > 0;
}

jdouble Seconds(JNIEnv* env, jobject, jlong stream) {
  double seconds = 0;
  Checked(env, tetraphone_stream_seconds(Handle(stream), &seconds));
  return seconds;
}

jlong HeapBytes(JNIEnv*, jobject) { return static_cast<jlong>(tetraphone_heap_bytes()); }

// Names are ASCII.
jstring InstructionSets(JNIEnv* env, jobject) {
  return Guarded(env, [&]() -> jstring {
    std::string names;
    for (std::size_t i = 0; i < tetraphone::kInstructionSets; ++i) {
      const tetraphone::InstructionSetEntry& entry = tetraphone::InstructionSets()[i];
      if (entry.supported) names += (names.empty() ? "" : " ") + std::string(entry.kernels->name);
    }
    return env->NewStringUTF(names.c_str());
  });
}

jstring InstructionSet(JNIEnv* env, jobject) { return env->NewStringUTF(tetraphone::InstructionSet()); }

jboolean ChooseInstructionSet(JNIEnv* env, jobject, jbyteArray name) {
  return Guarded(env, [&]() -> jboolean { return tetraphone::ChooseInstructionSet(Text(env, name).c_str()); });
}

template <typename Function>
JNINativeMethod Method(const char* name, const char* signature, Function function) {
  return {const_cast<char*>(name), const_cast<char*>(signature), reinterpret_cast<void*>(function)};
}

bool Register(JNIEnv* env, jclass natives) {
  const JNINativeMethod methods[] = {
      Method("load", "([B)J", Load),
      Method("loadBytes", "([B[B)J", LoadBytes),
      Method("closeRecognizer", "(J)V", CloseRecognizer),
      Method("infoNames", "()[B", InfoNames),
      Method("info", "(J)[D", Info),
      Method("symbol", "(JI)[B", Symbol),
      Method("open", "(J[[B[D[[B)J", Open),
      Method("close", "(J)V", Close),
      Method("accept", "(J[SIII)V", AcceptShorts),
      Method("accept", "(J[FIII)V", AcceptFloats),
      Method("finish", "(J)V", Finish),
      Method("reset", "(J)V", Reset),
      Method("poll", "(J)[D", Poll),
      Method("provisional", "(J)[D", Provisional),
      Method("bands", "(J)[F", Bands),
      Method("paused", "(J)Z", Paused),
      Method("seconds", "(J)D", Seconds),
      Method("heapBytes", "()J", HeapBytes),
      Method("formats", "()[B", Formats),
      Method("write", "([BD[[B[D[B[B)[B", Write),
      Method("alphabet", "()[B", Alphabet),
      Method("instructionSets", "()Ljava/lang/String;", InstructionSets),
      Method("instructionSet", "()Ljava/lang/String;", InstructionSet),
      Method("chooseInstructionSet", "([B)Z", ChooseInstructionSet),
  };
  return env->RegisterNatives(natives, methods, static_cast<jint>(std::size(methods))) == JNI_OK;
}

jclass Found(JNIEnv* env, const char* name) {
  jclass local = env->FindClass(name);
  return local == nullptr ? nullptr : static_cast<jclass>(env->NewGlobalRef(local));
}

}  // namespace

// A class or method that is not there leaves its exception pending: the library does not load.
extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void*) {
  JNIEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
  if ((classes.natives = Found(env, "org/tetraphone/PhonemeRecognizer$Native")) == nullptr) return JNI_ERR;
  if ((classes.string = Found(env, "java/lang/String")) == nullptr) return JNI_ERR;
  if ((classes.exception = Found(env, "org/tetraphone/PhonemeRecognizer$RecognizerException")) == nullptr)
    return JNI_ERR;
  classes.new_string = env->GetMethodID(classes.string, "<init>", "([BLjava/lang/String;)V");
  if (classes.new_string == nullptr) return JNI_ERR;
  classes.new_exception = env->GetMethodID(classes.exception, "<init>", "(Ljava/lang/String;)V");
  if (classes.new_exception == nullptr) return JNI_ERR;
  return Register(env, classes.natives) ? JNI_VERSION_1_6 : JNI_ERR;
}

extern "C" JNIEXPORT void JNICALL JNI_OnUnload(JavaVM* vm, void*) {
  JNIEnv* env = nullptr;
  if (vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_1_6) != JNI_OK) return;
  for (jclass one : {classes.natives, classes.string, classes.exception}) env->DeleteGlobalRef(one);
  classes = {};
}
