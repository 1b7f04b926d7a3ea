// A recogniser in a worker of the page, so that the page never waits for it.

import { TetraphoneError } from "./error.js";
import { Microphone } from "./microphone.js";
import { Queue } from "./queue.js";
import { decoded } from "./sound.js";

export class BackgroundRecognizer {
  #worker;
  #calls = new Map();  // what waits for an answer, by its number
  #last = 0;
  #failure = null;  // why it takes no more calls

  /** As Recognizer.load, in a worker: a module of JavaScript beside this one. */
  static async load(model, { module } = {}) {
    const recognizer = new BackgroundRecognizer();
    const absolute = (source) =>
      typeof source === "string" || source instanceof URL ? new URL(source, document.baseURI).href : source;
    const given = { model: absolute(model), module: absolute(module) };
    try {
      Object.assign(recognizer, await recognizer.#ask("load", given));
    } catch (error) {
      recognizer.close();
      throw error;
    }
    return recognizer;
  }

  constructor() {
    this.#worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data: { id, update, value, error } }) => {
      const { queue, resolve, reject } = this.#calls.get(id) ?? {};
      if (update !== undefined) return queue?.push(update);
      this.#calls.delete(id);
      const failure = error && new TetraphoneError(error.message, error.code);
      if (queue !== undefined) queue.end(failure ?? null);
      else if (failure) reject?.(failure);
      else resolve?.(value);
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#end(new TetraphoneError(`the worker failed: ${event.message ?? "it cannot be loaded"}`, "closed"));
    };
  }

  #end(failure) {
    this.#failure ??= failure;
    this.#worker.terminate();
    for (const { queue, reject } of this.#calls.values()) {
      queue?.end(failure);
      reject?.(failure);
    }
    this.#calls.clear();
  }

  #post(call, given, { queue, transfer = [] } = {}) {
    if (this.#failure !== null) throw this.#failure;
    const id = ++this.#last;
    this.#worker.postMessage({ id, call, given }, transfer);
    if (queue !== undefined) this.#calls.set(id, { queue });
    return id;
  }

  #ask(call, given) {
    return new Promise((resolve, reject) => this.#calls.set(this.#post(call, given), { resolve, reject }));
  }

  /** As Recognizer.recognize. */
  async recognize(sound, options = {}) {
    if (!(sound instanceof Blob)) return this.#ask("recognize", { sound: plain(sound), options });
    try {
      return await this.#ask("recognize", { sound, options });
    } catch (error) {
      const channels = plain(await decoded(sound, this.info.sample_rate, error));
      return this.#ask("recognize", { sound: { ...channels, name: sound.name }, options });
    }
  }

  /** As Recognizer.write. */
  async write({ recording, duration, phones, problems }, format, options) {  // without the energies, which are large
    return this.#ask("write", { recognition: { recording, duration, phones, problems }, format, options });
  }

  /** As Recognizer.listen; a microphone's sound reaches the worker without the page. */
  async *listen(source, { rate = source.rate ?? this.info.sample_rate, ...options } = {}) {
    if (this.#failure !== null) throw this.#failure;
    const queue = new Queue(), port = source instanceof Microphone ? source.takePort() : null;
    const stream = this.#post("listen", { rate, port, options }, { queue, transfer: port === null ? [] : [port] });
    const accept = (block) =>
      this.#post("accept", { stream, block }, { transfer: block === null ? [] : [block.samples.buffer] });
    try {
      if (port === null) yield* this.#fed(source, accept, queue[Symbol.asyncIterator]());
      else {
        source.untold.then(() => this.#calls.has(stream) && accept(null));
        yield* queue;
      }
    } finally {
      if (this.#calls.delete(stream)) this.#post("stop", { stream });
    }
  }

  /** The worker's update after each block, before the next one is asked for. */
  async *#fed(source, accept, updates) {
    let first = 0;
    for await (const given of source) {
      const samples = given.slice();
      const { length } = samples;
      accept({ first, samples });
      first += length;
      yield (await updates.next()).value;
    }
    accept(null);
    yield* updates;
  }

  /** Ends the worker; what waits for it, and what is called later, fails. */
  close() {
    this.#end(new TetraphoneError("the recogniser was closed", "closed"));
  }
}

/** Channels that can be sent to a worker. */
function plain(sound) {
  if (sound instanceof Float32Array) return sound;
  const channels = Array.from({ length: sound.numberOfChannels }, (_, channel) => sound.getChannelData(channel));
  return { sampleRate: sound.sampleRate, channels };
}
