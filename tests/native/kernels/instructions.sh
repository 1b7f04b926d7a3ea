#!/usr/bin/env bash
# Checks, by disassembly, that no instruction of a dispatched set stands outside its own file, and that no such file
# offers a weak symbol, which the linker could choose for all others.
# Usage: instructions.sh LIBRARY OBJDUMP NM
set -euo pipefail
library=$(realpath "$1") objdump=$2 nm=$3
kernels=$(dirname "$0")/../../../native/kernels
sets=$(grep -oE 'X\([a-z0-9]+, "[^"]+"' "$kernels/instruction_sets.h" | grep -oE '^X\([a-z0-9]+' | cut -c3-)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
(cd "$folder" && ar x "$library")

checked=0
# forbid PATTERN MEMBERS...: no instruction of the members matches.
forbid() {
  local pattern=$1
  shift
  for member in "$@"; do
    [ -e "$folder/$member.cc.o" ] || continue
    "$objdump" -d --no-show-raw-insn "$folder/$member.cc.o" | cut -f 2- > "$folder/text"
    if grep -m 3 -E "$pattern" "$folder/text"; then
      echo "FAILED: $member.cc has an instruction that it may not have"
      exit 1
    fi
    checked=$((checked + 1))
  done
}

baseline="dispatch layers packing scalar"
if "$objdump" -f "$folder/layers.cc.o" | grep -q aarch64; then
  forbid '^(sdot|udot|smmla|ummla|usmmla)' $baseline neon
  forbid '^(smmla|ummla|usmmla)' dotprod
else
  forbid '^v' $baseline
  forbid '%zmm|%k[0-7]|vpdpbusd' avx2
  forbid '%zmm|%k[0-7]' avxvnni
fi
for set in $sets; do
  [ -e "$folder/$set.cc.o" ] || continue
  if "$nm" "$folder/$set.cc.o" | grep -E ' [WVu] '; then
    echo "FAILED: $set.cc defines a weak symbol"
    exit 1
  fi
  checked=$((checked + 1))
done
[ "$checked" -ge 8 ] || { echo "FAILED: only $checked checks"; exit 1; }
echo "$checked checks: every dispatched instruction is in its own file"
