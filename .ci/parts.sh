#!/usr/bin/env bash
# Runs the parts of `make test` one after another; at the end, or at the first that fails, prints how long each took
# and, once more, what was skipped and why. The logs are in build/test.
# Usage: parts.sh "NAME: TARGET ..." ...
set -uo pipefail
logs=build/test
mkdir -p "$logs"
rm -f "$logs"/*.log
lines=()
status=0
TIMEFORMAT='%R %U %S'
for part; do
  name=${part%%:*}
  log="$logs/${name// /-}.log"
  echo "=== $name"
  exec 3>&1
  # shellcheck disable=SC2086  # targets are words
  spent=$({ time "${MAKE:-make}" --no-print-directory ${part#*:} 2>&1 | tee "$log" >&3; } 2>&1)
  status=$?
  exec 3>&-
  read -r wall user system <<< "$(tail -n 1 <<< "$spent")"
  lines+=("$(awk -v name="$name" -v wall="$wall" -v busy="$user" -v more="$system" \
    'BEGIN { printf "%-16s %5.1f minutes, %5.1f of processors", name, wall / 60, (busy + more) / 60 }')")
  ((status == 0)) || { lines+=("$name failed"); break; }
done
echo "=== time"
printf '%s\n' "${lines[@]}"
echo "=== skipped"
# ctest puts a test's number before each line, pytest the count.
grep -hE '^([0-9]+: )?(skipped: |SKIPPED )' "$logs"/*.log | sed -E 's/^[0-9]+: //' | sort -u | grep . || echo "nothing"
exit "$status"
