#!/usr/bin/env bash
# Builds the kernels' tests for WebAssembly by zig and runs them in Node; says so where that is missing.
# Usage: kernels.sh BUILD_FOLDER (cmake, ninja and a python that has ziglang in PATH)
set -euo pipefail
if ! command -v node > /dev/null; then
  echo "skipped: kernels in WebAssembly, since node is missing (Debian: nodejs)"
  exit 0
fi
tests=$(cd "$(dirname "$0")/.." && pwd)
cmake -S "$tests/kernels" -B "$1" -G Ninja --toolchain "$tests/../../native/toolchains/zig.cmake" -Wno-dev \
  -DTETRAPHONE_TARGET=wasm32-wasi -DCMAKE_CXX_FLAGS="-msimd128 -fno-exceptions" > /dev/null
cmake --build "$1"
node --no-warnings "$tests/wasm/run.mjs" "$1/kernels_test" | tee "$1/wasm.log"
grep -qx "in use: simd128" "$1/wasm.log"
