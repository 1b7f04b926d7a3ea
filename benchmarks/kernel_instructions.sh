#!/usr/bin/env bash
# Counts instructions a frame of the reference network (2 layers of 64 quaternions, 40 in) on emulated ARM processors.
# Usage: PLUGIN=counter.so bash benchmarks/kernel_instructions.sh > benchmarks/results/kernels.json
# PLUGIN is a plugin of QEMU that prints "total=N" at the end. `make arm-tests` builds the library that is measured.
set -euo pipefail
cd "$(dirname "$0")/.."
program=build/cpp-aarch64/kernel_frames
aarch64-linux-gnu-g++ -std=c++17 -O2 -static -Iexport/kernels benchmarks/kernel_frames.cpp \
  build/cpp-aarch64/kernels/libtetraphone_kernels.a -o "$program"

count() { # processor, format, frames
  qemu-aarch64 -cpu "$1" -plugin "$PLUGIN" -d plugin "$program" "$2" 2 64 40 1 "$3" 2>&1 | sed -n 's/.*total=\([0-9]*\).*/\1/p'
}

lines=()
for format in float32 int8 int4; do
  for processor in cortex-a53 cortex-a72 cortex-a76 max; do
    few=$(count "$processor" "$format" 32)
    many=$(count "$processor" "$format" 96)
    lines+=("    \"$format.$processor\": $(((many - few) / 64))")
  done
done
echo '{'
echo '  "command": "PLUGIN=counter.so bash benchmarks/kernel_instructions.sh",'
echo "  \"revision\": \"$(git describe --always --dirty --abbrev=12)\","
echo "  \"compiler\": \"$(aarch64-linux-gnu-g++ -dumpfullversion)\","
echo '  "instructions_per_frame": {'
printf '%s' "$(IFS=,; echo "${lines[*]}" | sed 's/,/,\n/g')"
echo
echo '  }'
echo '}'
