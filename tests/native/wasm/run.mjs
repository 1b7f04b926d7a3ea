// Runs a program in WebAssembly with its arguments; it sees no file. Node's own WASI is experimental: that of Node 20
// crashes at the end of a program with much memory.
import { readFileSync } from "node:fs";

import { Files } from "../../../web/files.js";

const given = process.argv.slice(2).map((text) => new TextEncoder().encode(`${text}\0`));
const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const files = new Files();
const imports = files.imports(module);
const view = () => new DataView(instance.exports.memory.buffer);
Object.assign(imports.wasi_snapshot_preview1, {
  args_sizes_get: (count, size) => {
    view().setUint32(count, given.length, true);
    view().setUint32(size, given.reduce((sum, bytes) => sum + bytes.length, 0), true);
    return 0;
  },
  args_get: (pointers, at) => {
    given.forEach((bytes, i) => {
      view().setUint32(pointers + 4 * i, at, true);
      new Uint8Array(instance.exports.memory.buffer, at).set(bytes);
      at += bytes.length;
    });
    return 0;
  },
  clock_time_get: (clock, precision, at) => {
    view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
    return 0;
  },
  proc_exit: (code) => process.exit(code),
});
const instance = new WebAssembly.Instance(module, imports);
files.attach(instance.exports.memory);
console.warn = console.log;
instance.exports._start();
