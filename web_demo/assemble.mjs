// Puts the page together in a folder that has the package in tetraphone/: these files, the models, and the lists of
// both that the page and its service worker read.
// Usage: node web_demo/assemble.mjs MODELS FOLDER
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [models, folder] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const digest = (paths) =>
  paths.reduce((hash, path) => hash.update(readFileSync(path)), createHash("sha256")).digest("hex");

const pages = readdirSync(here).filter((name) => /\.(html|css|js|svg|webmanifest)$/.test(name));
for (const name of pages) copyFileSync(join(here, name), join(folder, name));
mkdirSync(join(folder, "models"), { recursive: true });
const first = "english-int8.pte";  // DEFAULT of common/models.py
const names = readdirSync(models).filter((name) => name.endsWith(".pte"));
names.sort((a, b) => (b === first) - (a === first) || (a < b ? -1 : 1));
for (const name of names) copyFileSync(join(models, name), join(folder, "models", name));
writeFileSync(join(folder, "models.json"), JSON.stringify(
  names.map((name) => ({ name: name.slice(0, -4), bytes: statSync(join(models, name)).size }))));

const code = readdirSync(join(folder, "tetraphone")).filter((name) => /\.(js|wasm)$/.test(name));
const files = [...pages.filter((name) => name !== "sw.js"), "models.json", ...code.map((name) => `tetraphone/${name}`)];
const kept = Object.fromEntries(names.map((name) => [`models/${name}`, digest([join(models, name)])]));
const version = digest(files.map((name) => join(folder, name)));
writeFileSync(join(folder, "files.js"), `const VERSION = ${JSON.stringify(version)};
const FILES = ${JSON.stringify(files)};
const MODELS = ${JSON.stringify(kept)};
`);
