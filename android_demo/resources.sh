#!/usr/bin/env bash
# resources.sh BUILD ASSETS: compiles resources, manifest and assets (the app's and ASSETS) by aapt2 (in BUILD/tools)
# into BUILD/resources.apk, R into BUILD/gen, and tells Robolectric of them in BUILD/test-resources.
set -euo pipefail
cd "$(dirname "$0")"
build=$1 assets=$2
aapt2=$build/tools/prebuilt/linux/aapt2_64
config=$build/test-resources/com/android/tools
mkdir -p "$assets" "$build/gen" "$config"
chmod +x "$aapt2"

# What the Gradle plugin puts into the manifest: package, versions and SDKs, from the build file; libraries as they lie.
value() { sed -nE "s/^ *$1 = \"?([^\"]*)\"?\$/\1/p" app/build.gradle.kts; }
package=$(value namespace)
sdk="android:minSdkVersion=\"$(value minSdk)\" android:targetSdkVersion=\"$(value targetSdk)\""
version="android:versionCode=\"$(value versionCode)\" android:versionName=\"$(value versionName)\""
sed -e "0,/<manifest/s//<manifest package=\"$package\" $version/" \
  -e "0,/<application/s//<uses-sdk $sdk \/>\n    <application android:extractNativeLibs=\"false\"/" \
  app/src/main/AndroidManifest.xml > "$build/AndroidManifest.xml"

"$aapt2" compile --dir app/src/main/res -o "$build/resources.zip"
"$aapt2" link -o "$build/resources.apk" -I "$build/tools/prebuilt/android-framework.jar" \
  --manifest "$build/AndroidManifest.xml" --java "$build/gen" -A app/src/main/assets -A "$assets" "$build/resources.zip"
printf '%s\n' "android_merged_manifest=$build/AndroidManifest.xml" "android_resource_apk=$build/resources.apk" \
  "android_custom_package=$package" > "$config/test_config.properties"
