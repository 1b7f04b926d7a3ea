#!/usr/bin/env bash
# make.sh test|screenshots|apk|aar BUILD: what can be had of the demo without an Android SDK; says what it skips and why.
# The Makefile calls it, in the repository's root, with .venv/bin in PATH. PHONE_LIBRARY: a library for arm64-v8a.
set -euo pipefail
step=$1
build=$2
maven=(mvn --quiet --batch-mode --no-transfer-progress -f android_demo/pom.xml)

skip() { echo "skipped: $1, since $2 is missing (Debian: $3)"; }

# needs WHAT TOOL:PACKAGE …: whether all are there; else says which is not.
needs() {
  local what=$1 pair
  shift
  for pair in "$@"; do
    command -v "${pair%%:*}" > /dev/null || { skip "$what" "${pair%%:*}" "${pair#*:}"; return 1; }
  done
}

# quietly LOG COMMAND …: shows the log only if the command fails.
quietly() {
  local log=$1
  shift
  "$@" > "$log" 2>&1 || { cat "$log"; exit 1; }
}

host_library() {
  quietly "$build/host.log" cmake -S android_demo/recognizer/src/main/cpp -B "$build/host" -G Ninja \
    -DPython_ROOT_DIR="$PWD/.venv" -DPython_FIND_VIRTUALENV=ONLY
  quietly "$build/host.log" cmake --build "$build/host"
}

# The same sources for aarch64, but for Linux: with glibc, and with ExecuTorch beside it.
stand_in() {
  needs "the APK" aarch64-linux-gnu-g++:g++-aarch64-linux-gnu || return 1
  local wheel java
  wheel=$(bash tests/native/recognizer/aarch64_wheel.sh build/recognizer-aarch64) || exit 1
  java=$(dirname "$(dirname "$(realpath "$(command -v javac)")")")  # for its headers
  quietly "$build/stand-in.log" cmake -S android_demo/recognizer/src/main/cpp -B "$build/stand-in" -G Ninja \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
    -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_BUILD_TYPE=MinSizeRel \
    -DTETRAPHONE_EXECUTORCH_WHEEL="$wheel" -DJAVA_JVM_LIBRARY="$java/lib/server/libjvm.so" \
    -DJAVA_INCLUDE_PATH="$java/include" -DJAVA_INCLUDE_PATH2="$java/include/linux"
  quietly "$build/stand-in.log" cmake --build "$build/stand-in"
  aarch64-linux-gnu-strip "$build/stand-in/libtetraphone_jni.so"
}

apk() {
  needs "the APK" zipalign:zipalign apksigner:apksigner dexdump:dexdump || return 0
  if [[ -n ${PHONE_LIBRARY:-} ]]; then
    python android_demo/check_library.py "$PHONE_LIBRARY"
    python android_demo/build_apk.py "$build/maven" "$build/apk" --library "$PHONE_LIBRARY"
  else
    stand_in || return 0
    echo "no PHONE_LIBRARY is given: the APKs hold a library for aarch64 Linux, for checks only"
    python android_demo/build_apk.py "$build/maven" "$build/apk" --stand-in \
      --library "$build/stand-in/libtetraphone_jni.so"
  fi
  python android_demo/check_apk.py "$build"/apk/tetraphone-int8*.apk --build "$build/maven" --limit 2000000
  python android_demo/check_apk.py "$build"/apk/tetraphone-all*.apk --build "$build/maven" --limit 3000000
}

# The AAR; and another app in Java, which has nothing but that, with the host's library in the phone's place.
aar() {
  local library=${PHONE_LIBRARY:-} unpacked="$build/aar/unpacked" kotlin
  if [[ -z $library ]]; then
    stand_in || return 0
    echo "no PHONE_LIBRARY is given: the AAR holds a library for aarch64 Linux, for checks only"
    library=$build/stand-in/libtetraphone_jni.so
  fi
  python android_demo/build_aar.py "$build/maven" "$build/aar" --library "arm64-v8a=$library"
  mkdir "$unpacked"
  python -m zipfile -e "$build"/aar/org/tetraphone/recognizer/*/*.aar "$unpacked"
  kotlin=$(python -c 'import json, sys; print(json.load(open(sys.argv[1]))["kotlin"])' "$build/maven/tools.json")
  javac -Xlint:all -Werror -cp "$unpacked/classes.jar:$kotlin" -d "$unpacked/consumer" \
    android_demo/testing/consumer/Consumer.java
  java -Djava.library.path="$build/host" -cp "$unpacked/classes.jar:$unpacked/consumer:$kotlin" Consumer \
    "$build/assets/models/english-int8.pte" "$build/expected/measure.wav" > "$unpacked/phones.json"
  python -c 'import json, sys; a, b = (json.load(open(path))["phones"] for path in sys.argv[1:]); sys.exit(a != b and f"the consumer heard {a}, not {b}")' \
    "$unpacked/phones.json" "$build/expected/measure.json"
  rm -r "$unpacked"
}

needs "the Android demo" java:openjdk-17-jdk-headless javac:openjdk-17-jdk-headless mvn:maven || exit 0
if [[ $(uname -sm) != "Linux x86_64" ]]; then
  echo "skipped: the Android demo, since its aapt2 is for Linux on x86-64"
  exit 0
fi
rm -rf "$build"/maven/{classes,test-classes,gen}  # Kotlin's plugin leaves what has no source any more
case $step in
  test)
    bash android_demo/lint.sh
    host_library
    "${maven[@]}" test
    apk
    aar
    ;;
  screenshots)
    host_library
    "${maven[@]}" test -Dtest='*Screenshot*' -Dscreenshots="$PWD/android_demo/screenshots"
    ;;
  apk)
    "${maven[@]}" process-classes
    apk
    ;;
  aar)
    host_library
    "${maven[@]}" process-classes
    aar
    ;;
  *)
    echo "make.sh: $step is none of test, screenshots, apk, aar" >&2
    exit 2
    ;;
esac
