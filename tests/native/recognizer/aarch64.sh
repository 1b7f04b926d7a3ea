#!/usr/bin/env bash
# Builds the recogniser, its command and its tests for aarch64, against that processor's executorch wheel.
# Usage: aarch64.sh BUILD_FOLDER (cmake, ninja, pip and python in PATH); says so where the tools are missing.
set -euo pipefail
if ! command -v aarch64-linux-gnu-g++ > /dev/null; then
  echo "skipped: the recogniser for ARM, since aarch64-linux-gnu-g++ is missing (Debian: g++-aarch64-linux-gnu)"
  exit 0
fi
mkdir -p "$1"
build=$(realpath "$1")
wheel=$(bash "$(dirname "$0")/aarch64_wheel.sh" "$build")
cmake -S "$(dirname "$0")" -B "$build" -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
  -DTETRAPHONE_EXECUTORCH_WHEEL="$wheel" > /dev/null
cmake --build "$build" --target tetraphone-recognize aligner_test decoder_test features_test numerics_test resampler_test
