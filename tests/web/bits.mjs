// Prints, for each pair of a model and a file of 16-bit samples at 16 kHz, what the package's recogniser gives; a line
// of JSON each.
// Usage: node bits.mjs PACKAGE PIECE < PAIRS, a JSON list
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { bitsOf, samplesOf } from "./hearing.js";

const [folder, piece] = process.argv.slice(2);
const { Recognizer } = await import(pathToFileURL(join(folder, "index.js")));

const recognizers = new Map();
for (const [model, path] of JSON.parse(readFileSync(0, "utf8"))) {
  if (!recognizers.has(model)) recognizers.set(model, await Recognizer.load(pathToFileURL(model)));
  const samples = samplesOf(new Uint8Array(readFileSync(path)));
  console.log(JSON.stringify(await bitsOf(recognizers.get(model), samples, Number(piece))));
}
