#!/usr/bin/env bash
# aarch64_wheel.sh FOLDER: prints the folder of that processor's executorch wheel, unpacked there (python and pip in PATH).
set -euo pipefail
mkdir -p "$1"
version=$(python -c 'from importlib.metadata import version; print(version("executorch"))')
wheel=$(realpath "$1")/wheel-$version
if [[ ! -d $wheel/executorch ]]; then
  tag=$(python -c 'import sys; print(f"{sys.version_info.major}{sys.version_info.minor}")')
  pip download --quiet --no-deps "executorch==$version" --dest "$1" --only-binary=:all: \
    --platform manylinux_2_28_aarch64 --implementation cp --abi "cp$tag" --python-version "$tag" >&2
  python -m zipfile -e "$1"/executorch-"$version"-*aarch64.whl "$wheel.part"
  mv "$wheel.part" "$wheel"
fi
echo "$wheel/executorch"
