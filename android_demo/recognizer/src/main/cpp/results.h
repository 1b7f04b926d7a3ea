// Results for other programs, and the alphabets, for PhonemeRecognizer.kt.

#pragma once

#include <jni.h>

namespace glue {

// A line a format: name, suffix and help, with tabs between.
jbyteArray Formats(JNIEnv* env, jobject);

// A line a phone: in ARPABET and in IPA, with a tab between.
jbyteArray Alphabet(JNIEnv* env, jobject);

// Phones by their symbols and by start, end and confidence of each, as a text of that format in that alphabet.
jbyteArray Write(JNIEnv* env, jobject, jbyteArray recording, jdouble seconds, jobjectArray symbols,
                 jdoubleArray numbers, jbyteArray format, jbyteArray alphabet);

}  // namespace glue
