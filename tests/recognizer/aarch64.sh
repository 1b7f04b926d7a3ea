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
version=$(python -c 'from importlib.metadata import version; print(version("executorch"))')
if [[ ! -d $build/wheel-$version/executorch ]]; then
  tag=$(python -c 'import sys; print(f"{sys.version_info.major}{sys.version_info.minor}")')
  pip download --quiet --no-deps "executorch==$version" --dest "$build" --only-binary=:all: \
    --platform manylinux_2_28_aarch64 --implementation cp --abi "cp$tag" --python-version "$tag"
  python -m zipfile -e "$build"/executorch-"$version"-*aarch64.whl "$build/wheel-$version.part"
  mv "$build/wheel-$version.part" "$build/wheel-$version"
fi
cmake -S "$(dirname "$0")" -B "$build" -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
  -DTETRAPHONE_EXECUTORCH_WHEEL="$build/wheel-$version/executorch" > /dev/null
cmake --build "$build" --target tetraphone-recognize decoder_test features_test numerics_test resampler_test
