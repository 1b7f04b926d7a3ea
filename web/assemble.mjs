// Puts the package together in a folder: these files, the module, its version, and the types of what the module lists.
// Usage: node web/assemble.mjs MODULE FOLDER
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { Native } from "./native.js";

const [module, folder] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const name of readdirSync(here)) {
  if (/\.(js|d\.ts|md)$/.test(name)) copyFileSync(join(here, name), join(folder, name));
}
copyFileSync(join(here, "../LICENSE"), join(folder, "LICENSE"));
copyFileSync(module, join(folder, "tetraphone.wasm"));

const native = await Native.load(readFileSync(module));
const version = native.text(native.exports.tetraphone_version());
const about = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
writeFileSync(join(folder, "package.json"), JSON.stringify({ ...about, version }, null, 2) + "\n");

const TYPES = { Whole: "number", Real: "number", Bytes: "number", Switch: "boolean", File: "string | Uint8Array" };
const members = (list, mark) => native.fields(list)
  .map(({ name, kind, help }) => `  /** ${help} */\n  ${name}${mark}: ${TYPES[kind]};\n`).join("");
writeFileSync(join(folder, "fields.d.ts"), `// Made from the lists of the recogniser (native/common/fields.h).

/** How a stream decodes, and what it keeps. */
export interface StreamOptions {
${members("tetraphone_stream_option_at", "?")}}

/** What is told of a model. */
export interface ModelInfo {
${members("tetraphone_model_info_at", "")}}
`);
