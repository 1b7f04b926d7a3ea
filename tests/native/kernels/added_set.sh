#!/usr/bin/env bash
# Shows that an instruction set needs no more than its file and its line in the list to be built, tested and
# benchmarked.
# Usage: added_set.sh CMAKE C++_COMPILER
set -euo pipefail
root=$(cd "$(dirname "$0")/../../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/tests/native"
cp -r "$root/native" "$folder/"
cp -r "$root/tests/native/common" "$root/tests/native/kernels" "$folder/tests/native/"

kernels=$folder/native/kernels
case $(uname -m) in x86_64) own=x86_64 ;; *) own=arm64 ;; esac
sed -e 's/scalar/added/g' -e 's/#include "\(body\|instruction_sets\).h"/#include "..\/\1.h"/' "$kernels/scalar.cc" \
  > "$kernels/$own/added.cc"
sed -i 's/X(scalar, "", true)/X(scalar, "", true) X(added, "-O2", true)/' "$kernels/instruction_sets.h"

"$1" -S "$folder/tests/native/kernels" -B "$folder/build" -DCMAKE_CXX_COMPILER="$2" > /dev/null
"$1" --build "$folder/build" --target kernels_test --parallel "$(nproc)" > /dev/null
test=$folder/build/kernels_test
"$test" --gtest_filter=InstructionSets.AreListed | grep "^instruction set added$"
"$test" --gtest_filter=InstructionSets.GiveTheSameBits
if "$test" --gtest_filter=None; then
  echo "FAILED: a run of no test must not pass"
  exit 1
fi
"$2" -std=c++17 -I "$kernels" "$root/benchmarks/kernel_frames.cpp" "$folder/build/kernels/libtetraphone_kernels.a" \
  -o "$folder/kernel_frames"
TETRAPHONE_ISA=added "$folder/kernel_frames" int8 1 8 8 1 4 | grep "^added int8"
