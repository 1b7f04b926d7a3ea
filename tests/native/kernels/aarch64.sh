#!/usr/bin/env bash
# Builds the kernels' tests for aarch64 and runs them on emulated processors; says so where the tools are missing.
# Usage: aarch64.sh BUILD_FOLDER
set -euo pipefail
for tool in aarch64-linux-gnu-g++ qemu-aarch64; do
  if ! command -v "$tool" > /dev/null; then
    echo "skipped: kernels on emulated ARM, since $tool is missing (Debian: g++-aarch64-linux-gnu, qemu-user)"
    exit 0
  fi
done
cmake -S "$(dirname "$0")" -B "$1" -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_EXE_LINKER_FLAGS=-static -DCMAKE_BUILD_TYPE=Release > /dev/null
cmake --build "$1"
bash "$(dirname "$0")/instructions.sh" "$1/kernels/libtetraphone_kernels.a" \
  aarch64-linux-gnu-objdump aarch64-linux-gnu-nm
for entry in cortex-a53:neon cortex-a72:neon cortex-a76:dotprod neoverse-n1:dotprod max:i8mm; do
  processor=${entry%:*}
  echo "== $processor"
  qemu-aarch64 -cpu "$processor" "$1/kernels_test" | tee "$1/$processor.log"
  grep -qx "in use: ${entry#*:}" "$1/$processor.log"
done
