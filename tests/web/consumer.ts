// A program that uses the package, for its types: given the address of a model, it recognises half a second of silence.
import { BackgroundRecognizer, Microphone, Recognizer, TetraphoneError } from "@tetraphone/web";
import type { Heard, ModelInfo, Phone, Recognition, StreamOptions } from "@tetraphone/web";

declare const process: { argv: string[] };

const options: StreamOptions = { beam: 8, blank_shift: -0.5, keep_bands: true };

export async function live(show: (phones: Phone[], heard: Heard) => void): Promise<number> {
  const recognizer = await BackgroundRecognizer.load(new URL("english-int8.pte", "https://example.org/"));
  const microphone = await Microphone.open({ echoCancellation: true });
  let lost = 0;
  for await (const heard of recognizer.listen(microphone, options)) {
    show(heard.phones, heard);
    lost = heard.lost;
  }
  recognizer.close();
  return lost;
}

const recognizer: Recognizer = await Recognizer.load(process.argv[2]!);
const info: ModelInfo = recognizer.info;
const found: Recognition = await recognizer.recognize(new Float32Array(info.sample_rate / 2), options);
console.log(`${info.phones} phones, ${found.duration} seconds`);
console.log(recognizer.write(found, "json", { alphabet: "ipa" }));
const stream = recognizer.stream({ keep_scores: true });
stream.accept(new Float32Array(4800), 48000);
const scores: Float32Array = stream.update().scores;
try {
  stream.accept(new Float32Array(1), 44100);
} catch (error) {
  if (!(error instanceof TetraphoneError) || error.code !== "invalid-argument") throw error;
}
console.log(scores.length);
