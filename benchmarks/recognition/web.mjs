// For web.py: takes JSON on its standard input and prints JSON: what the package gives for each pair of model and
// recording, and how long it takes, in Node and in Chromium.
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { launch } from "../../tests/web/browser.mjs";
import { measured } from "../../tests/web/hearing.js";
import { serve } from "../../tests/web/server.mjs";

const { packageFolder, ...given } = JSON.parse(readFileSync(0, "utf8"));
const { Recognizer } = await import(pathToFileURL(join(packageFolder, "index.js")));
const node = await measured(
  given,
  (model, module) => Recognizer.load(pathToFileURL(model), { module: module && readFileSync(module) }),
  (path) => new Uint8Array(readFileSync(path)));

const tests = join(dirname(fileURLToPath(import.meta.url)), "../../tests/web");
const { models, recordings, long, scalar } = given;
const others = [models[0], recordings[0], long, scalar].map((path) => dirname(path));
const folders = [dirname(packageFolder), tests, ...others];
const server = await serve(folders);
const browser = await launch(null);
const page = await browser.newPage();
await page.goto(`${server.origin}/hearing.js`);
const names = (paths) => paths.map((path) => basename(path));
const local = {
  ...given, models: names(models), recordings: names(recordings), long: basename(long), scalar: basename(scalar),
};
const chromium = await page.evaluate(async (given) => {
  const { Recognizer } = await import("/tetraphone/index.js");
  const { measured } = await import("/hearing.js");
  return measured(
    given,
    (model, module) => Recognizer.load(`/${model}`, { module: module && `/${module}` }),
    async (path) => new Uint8Array(await (await fetch(`/${path}`)).arrayBuffer()));
}, local);
const version = browser.version();
await browser.close();
await server.close();
console.log(JSON.stringify({ node, chromium, versions: { node: process.versions.node, chromium: version } }));
