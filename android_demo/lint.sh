#!/usr/bin/env bash
# Checks all Kotlin here by ktlint, from Maven Central; `lint.sh --format FILES` mends what can be mended.
set -euo pipefail
cd "$(dirname "$0")"
version=1.8.0
jar=${MAVEN_REPOSITORY:-$HOME/.m2/repository}/com/pinterest/ktlint/ktlint-cli/$version/ktlint-cli-$version-all.jar
test -f "$jar" || mvn -q dependency:get -Dtransitive=false "-Dartifact=com.pinterest.ktlint:ktlint-cli:$version:jar:all"
if (($# == 0)); then set -- '**/*.kt' '**/*.kts'; fi
java -jar "$jar" --log-level=error --relative "$@"
