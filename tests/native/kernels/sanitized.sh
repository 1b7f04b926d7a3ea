#!/usr/bin/env bash
# Builds the kernels and their tests with the address and undefined-behaviour sanitizers and the assertions of contracts.h,
# and runs them; says so where the compiler has none.
# Usage: sanitized.sh CMAKE C++_COMPILER BUILD_FOLDER
set -euo pipefail
flags="-fsanitize=address,undefined -fno-sanitize-recover=all -g1 -O1"
if ! echo 'int main() {}' | "$2" -x c++ $flags -o /dev/null - 2> /dev/null; then
  echo "skipped: kernels under sanitizers, since $2 has none (Debian: g++ brings them)"
  exit 0
fi
"$1" -S "$(dirname "$0")" -B "$3" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER="$2" -DCMAKE_CXX_FLAGS="$flags" > /dev/null
"$1" --build "$3" --target kernels_test --parallel "$(nproc)"
"$3/kernels_test"
