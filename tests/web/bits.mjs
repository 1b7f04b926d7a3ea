// Prints, for each pair of a model and a file of 16-bit samples at 16 kHz, what the package's recogniser gives: its
// phones, and the hashes of bands and scores; a line of JSON each.
// Usage: node bits.mjs PACKAGE PIECE < PAIRS, a JSON list
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, piece] = process.argv.slice(2);
const { Recognizer } = await import(pathToFileURL(join(folder, "index.js")));

const recognizers = new Map();
for (const [model, path] of JSON.parse(readFileSync(0, "utf8"))) {
  if (!recognizers.has(model)) recognizers.set(model, await Recognizer.load(pathToFileURL(model)));
  const bytes = readFileSync(path);
  const samples = Float32Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readInt16LE(2 * i) / 32768);
  const recognizer = recognizers.get(model);
  const stream = recognizer.stream({ keep_bands: true, keep_scores: true });
  const hashes = { band: createHash("sha256"), score: createHash("sha256") }, phones = [];
  const take = () => {
    hashes.band.update(stream.bands());
    hashes.score.update(stream.scores());
    for (const { phone, start, end, confidence } of stream.poll()) {
      phones.push([recognizer.phones.indexOf(phone), start, end, confidence]);
    }
  };
  for (let first = 0; first < samples.length; first += Number(piece)) {
    stream.accept(samples.subarray(first, first + Number(piece)), 16000);
    take();
  }
  stream.finish();
  take();
  stream.close();
  console.log(JSON.stringify({ band: hashes.band.digest("hex"), score: hashes.score.digest("hex"), phones }));
}
