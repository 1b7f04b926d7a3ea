// The recogniser's C ABI (native/capi) in a WebAssembly module of its own: numbers, texts and structures in its memory.

import { TetraphoneError, codeName } from "./error.js";
import { Files } from "./files.js";
import { joined } from "./sound.js";

const SIZES = { Whole: 4, Real: 8, Switch: 4, File: 4, Bytes: 8 };
const FIELD_BYTES = 48;
const PHONE_BYTES = 32;
const PIECE = 256;  // items that one call returns at most
const GIVEN = "given.wav";  // the path of the recording that is read: its name may be none that WASI takes

/** The bytes of a model, a module, a recording: as they are, or from where they are. */
export async function bytesOf(source) {
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (source instanceof Blob) return new Uint8Array(await source.arrayBuffer());
  const url = new URL(source, globalThis.location?.href ?? `file://${globalThis.process?.cwd()}/`);
  if (url.protocol === "file:") {
    const files = "node:fs/promises";  // not named in the call, or bundlers for browsers would look for it
    const { readFile } = await import(files);
    try {
      return new Uint8Array(await readFile(url));
    } catch (error) {
      throw new TetraphoneError(`cannot read ${url.pathname}: ${error.message}`, "unreadable");
    }
  }
  let response;
  try {
    response = await fetch(url);
  } catch (error) {
    throw new TetraphoneError(`cannot fetch ${url}: ${error.message}`, "unreadable");
  }
  if (!response.ok) throw new TetraphoneError(`cannot fetch ${url}: status ${response.status}`, "unreadable");
  return new Uint8Array(await response.arrayBuffer());
}

const compiled = new Map();  // modules by their address

async function compile(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (typeof source !== "string") return WebAssembly.compile(await bytesOf(source));
  if (!compiled.has(source)) {
    const made = bytesOf(source).then((bytes) => WebAssembly.compile(bytes));
    compiled.set(source, made);
    made.catch(() => compiled.delete(source));
  }
  return compiled.get(source);
}

export class Native {
  /** An instance of the module at this address, beside this file if there is none. */
  static async load(module = new URL("tetraphone.wasm", import.meta.url)) {
    return new Native(await compile(module instanceof URL ? module.href : module));
  }

  files = new Files();

  constructor(module) {
    this.exports = new WebAssembly.Instance(module, this.files.imports(module)).exports;
    this.files.attach(this.exports.memory);
    this.exports._initialize();
  }

  /** Of the memory as it is now: a call may enlarge it, which ends all views. */
  get view() {
    return new DataView(this.exports.memory.buffer);
  }

  bytes(at, count) {
    return new Uint8Array(this.exports.memory.buffer, at, count);
  }

  /** Calls `use` with places of so many bytes each, free again behind it. */
  withMemory(sizes, use) {
    const places = [];
    try {
      for (const size of sizes) {
        const place = this.exports.malloc(Math.max(size, 1));
        if (place === 0) throw new TetraphoneError(`out of memory: no room for ${size} bytes`, "out-of-memory");
        places.push(place);
      }
      return use(...places);
    } finally {
      for (const place of places) this.exports.free(place);
    }
  }

  /** Calls `use` with the places of these texts. */
  withTexts(texts, use) {
    const encoded = texts.map((text) => new TextEncoder().encode(`${text}\0`));
    return this.withMemory(encoded.map((bytes) => bytes.length), (...places) => {
      places.forEach((place, i) => this.bytes(place, encoded[i].length).set(encoded[i]));
      return use(...places);
    });
  }

  /** The text that ends with a zero byte there; null where there is none. */
  text(at) {
    if (at === 0) return null;
    const rest = new Uint8Array(this.exports.memory.buffer, at);
    return new TextDecoder().decode(rest.slice(0, rest.indexOf(0)));
  }

  failure() {
    return new TetraphoneError(this.text(this.exports.tetraphone_error()),
      codeName(this.exports.tetraphone_error_code()));
  }

  /** What a function returned, as a number, unless it is an error's code. */
  checked(number) {
    if (number < 0) throw this.failure();
    return Number(number);
  }

  handle(handle) {
    if (handle === 0n) throw this.failure();
    return handle;
  }

  /** The rows of a list of native/common/fields.h, by the function that gives one. */
  fields(list) {
    return this.withMemory([FIELD_BYTES], (at) => {
      const rows = [];
      while (this.exports[list](rows.length, at)) {
        const view = this.view;
        rows.push({
          name: this.text(view.getUint32(at, true)),
          kind: this.text(view.getUint32(at + 4, true)),
          help: this.text(view.getUint32(at + 12, true)),
          initial: view.getFloat64(at + 16, true),
          least: view.getFloat64(at + 24, true),
          greatest: view.getFloat64(at + 32, true),
        });
      }
      return rows;
    });
  }

  /** Calls `use` with the place of the structure of such a list, its size set, and the places of its fields. */
  withStruct(list, use) {
    let size = 8;
    const offsets = new Map();
    for (const { name, kind } of this.fields(list)) {
      const bytes = SIZES[kind];
      size = Math.ceil(size / bytes) * bytes;
      offsets.set(name, { kind, offset: size });
      size += bytes;
    }
    size = Math.ceil(size / 8) * 8;
    return this.withMemory([size], (at) => {
      this.bytes(at, size).fill(0);
      this.view.setBigUint64(at, BigInt(size), true);
      return use(at, offsets);
    });
  }

  number(kind, at) {
    if (kind === "Real") return this.view.getFloat64(at, true);
    return kind === "Bytes" ? Number(this.view.getBigUint64(at, true)) : this.view.getInt32(at, true);
  }

  /**
   * Calls `use` with the blocks of a WAV file as one channel (-1: the mean of all), and with a function that tells,
   * behind them, what is wrong with it.
   */
  withWav(bytes, name, channel, use) {
    const { tetraphone_wav_open, tetraphone_wav_rate, tetraphone_wav_read, tetraphone_wav_problem,
      tetraphone_wav_close } = this.exports;
    const named = (text) => text.replaceAll(GIVEN, () => name);
    this.files.set(GIVEN, bytes);
    let wav = 0n;
    try {
      wav = this.handle(this.withTexts([GIVEN], (at) => tetraphone_wav_open(at, channel)));
      const rate = this.checked(tetraphone_wav_rate(wav)), most = 16384;
      const read = () => this.withMemory([4 * most], (at) => {
        const count = this.checked(tetraphone_wav_read(wav, at, most));
        return new Float32Array(this.exports.memory.buffer, at, count).slice();
      });
      const blocks = function* () {
        for (let samples = read(); samples.length > 0; samples = read()) yield { samples, rate, channels: 1 };
      };
      const problems = () => this.texts((index, at, room) => tetraphone_wav_problem(wav, index, at, room)).map(named);
      return use(blocks(), problems);
    } catch (error) {
      throw error instanceof TetraphoneError ? new TetraphoneError(named(error.message), error.code) : error;
    } finally {
      if (wav !== 0n) tetraphone_wav_close(wav);
      this.files.set(GIVEN, null);
    }
  }

  /** The text that a function copies into so many bytes, or into as many as it needs. */
  copied(copy, room = 1024) {
    const [size, text] = this.withMemory([room], (at) => [this.checked(copy(at, room)), this.text(at)]);
    if (size === 0) return "";  // nothing was copied: what lies there is of before
    return size < room ? text : this.copied(copy, size + 1);
  }

  /** The texts that a function copies, until one is empty. */
  texts(copy) {
    const found = [];
    for (let text; (text = this.copied((at, room) => copy(found.length, at, room))) !== "";) found.push(text);
    return found;
  }

  /** The phones that one call gives, at most PIECE. */
  phones(name, handle) {
    return this.withMemory([PIECE * PHONE_BYTES], (at) => {
      const count = this.checked(this.exports[name](handle, at, PIECE));
      const view = this.view;
      return Array.from({ length: count }, (_, i) => ({
        index: view.getInt32(at + i * PHONE_BYTES, true),
        start: view.getFloat64(at + i * PHONE_BYTES + 8, true),
        end: view.getFloat64(at + i * PHONE_BYTES + 16, true),
        confidence: view.getFloat64(at + i * PHONE_BYTES + 24, true),
      }));
    });
  }

  /** All numbers that wait. */
  floats(name, handle) {
    const most = 16384;
    return this.withMemory([4 * most], (at) => {
      const pieces = [];
      let count;
      while ((count = this.checked(this.exports[name](handle, at, most))) > 0) {
        pieces.push(new Float32Array(this.exports.memory.buffer, at, count).slice());
      }
      return joined(pieces);
    });
  }
}
