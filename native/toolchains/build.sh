#!/usr/bin/env bash
# Builds the command and the library for other systems, in build/foreign/TARGET; zig.cmake says which targets there are.
# wasm32-wasi-scalar is WebAssembly without vector instructions.
# Usage: build.sh TARGET... (cmake, ninja and a python that has ziglang in PATH)
set -euo pipefail
cd "$(dirname "$0")/../.."
for target; do
  case $target in *-scalar) simd=OFF ;; *) simd=ON ;; esac
  cmake -S native -B "build/foreign/$target" -G Ninja --toolchain "$PWD/native/toolchains/zig.cmake" \
    -DTETRAPHONE_TARGET="${target%-scalar}" -DTETRAPHONE_SIMD="$simd" -DTETRAPHONE_ENGINES=direct > /dev/null
  cmake --build "build/foreign/$target"
done
