// Chromium, with a microphone that plays a recording.
import { createRequire } from "node:module";

const { chromium } = createRequire(`${process.env.TETRAPHONE_TOOLS}/`)("playwright-core");

/** A browser whose microphone plays this WAV file, once for each page or in a loop, or is refused if there is none. */
export function launch(recording, { loop = false } = {}) {
  const heard = [
    "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream",
    `--use-file-for-fake-audio-capture=${recording}${loop ? "" : "%noloop"}`,
  ];
  return chromium.launch({
    executablePath: process.env.TETRAPHONE_CHROMIUM,
    args: ["--no-sandbox", "--autoplay-policy=no-user-gesture-required", ...(recording ? heard : [])],
  });
}
