// The recogniser and its streams, in the thread that calls.

import { TetraphoneError } from "./error.js";
import { Native, bytesOf } from "./native.js";
import { alphabetsOf, formatsOf, written } from "./results.js";
import { channelsOf, chosen, decoded, interleaved, joined } from "./sound.js";

const BLOCK = 16384;  // frames of a recording that are recognised at a time

// Streams that nobody closed.
const forgotten = new FinalizationRegistry(({ native, handle }) => native.exports.tetraphone_stream_close(handle));

export class Recognizer {
  #native;
  #handle;

  constructor(native, handle) {
    this.#native = native;
    this.#handle = native.handle(handle);
    /** What is told of the model: numbers, by their names in native/common/fields.h. */
    this.info = native.withStruct("tetraphone_model_info_at", (at, fields) => {
      native.checked(native.exports.tetraphone_recognizer_info(this.#handle, at));
      const value = ({ kind, offset }) => native.number(kind, at + offset);
      return Object.fromEntries([...fields].map(([name, field]) => [name, value(field)]));
    });
    /** The phone set, in the order of the scores; the blank's score comes before them. */
    this.phones = Array.from({ length: this.info.phones }, (_, index) =>
      native.copied((at, room) => native.exports.tetraphone_phone_symbol(this.#handle, index, at, room)));
  }

  /** The model at an address, or of these bytes (ArrayBuffer, typed array, Blob). */
  static async load(model, { module } = {}) {
    const [native, bytes] = await Promise.all([Native.load(module), bytesOf(model)]);
    const name = typeof model === "string" || model instanceof URL ? String(model) : model.name ?? "the model";
    return native.withTexts([name], (text) =>
      native.withMemory([bytes.length], (at) => {
        native.bytes(at, bytes.length).set(bytes);
        const { tetraphone_recognizer_load_bytes: load } = native.exports;
        return new Recognizer(native, load(at, bytes.length, text));
      }));
  }

  /** What may be said to `stream`: name, kind, help, and for numbers initial, least and greatest. */
  get options() {
    return this.#native.fields("tetraphone_stream_option_at");
  }

  /** A new stream. The options are those of `options`; a file is given as its text or bytes. */
  stream(options = {}) {
    const native = this.#native;
    const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== null);
    const isFile = ([, value]) => typeof value === "string" || value instanceof Uint8Array;
    const names = given.map(([name]) => name);
    try {
      return native.withTexts(names, (...places) => native.withStruct("tetraphone_stream_option_at", (at) => {
        native.checked(native.exports.tetraphone_default_options(at));
        given.forEach(([name, value], i) => {
          if (isFile([name, value])) {
            native.files.set(name, typeof value === "string" ? new TextEncoder().encode(value) : value);
            native.checked(native.exports.tetraphone_set_file(at, places[i], places[i]));
          } else {
            native.checked(native.exports.tetraphone_set_number(at, places[i], Number(value)));
          }
        });
        return new Stream(native, native.exports.tetraphone_stream_open(this.#handle, at), this);
      }));
    } finally {
      given.filter(isFile).forEach(([name]) => native.files.set(name, null));
    }
  }

  /** How results can be written: name, suffix of a file, help, joins. */
  get formats() {
    return formatsOf(this.#native);
  }

  /** In what alphabets, the model's own first. */
  get alphabets() {
    return alphabetsOf(this.#native);
  }

  /**
   * The phones of a whole recording: a Blob of any kind that the browser decodes (a WAV file by the library's own
   * reader), an AudioBuffer, or samples in [-1, 1] of one channel, at the model's rate unless `rate` says otherwise. Of
   * several channels the one of the number `channel`, or the mean of all (-1).
   */
  async recognize(sound, { rate = this.info.sample_rate, channel = -1, ...options } = {}) {
    if (!Number.isInteger(channel) || channel < -1) {
      throw new TetraphoneError(`a channel of ${channel}; give its number, 0 or more, or -1 for the mean of all`);
    }
    const recording = sound.name ?? "";
    const heard = (sound) => {
      const channels = chosen(channelsOf(sound), channel, recording);
      return { recording, ...this.#heard(channels, sound.sampleRate ?? rate, options) };
    };
    if (!(sound instanceof Blob)) return heard(sound);
    try {
      return { recording, ...this.#heardWav(await bytesOf(sound), recording || "that was given", channel, options) };
    } catch (error) {
      return heard(await decoded(sound, this.info.sample_rate, error));
    }
  }

  /** Feeds a new stream with blocks {samples, rate, channels} of `blocks`. */
  #fed(blocks, options) {
    const stream = this.stream(options);
    try {
      const phones = [], bands = [], scores = [];
      const take = () => {
        phones.push(...stream.poll());
        bands.push(stream.bands());
        scores.push(stream.scores());
      };
      for (const { samples, rate, channels } of blocks) {
        stream.accept(samples, rate, channels);
        take();
      }
      stream.finish();
      take();
      return { duration: stream.seconds, phones, bands: joined(bands), scores: joined(scores) };
    } finally {
      stream.close();
    }
  }

  #heard(channels, rate, options) {
    function* blocks() {
      for (let first = 0; first < channels[0].length; first += BLOCK) {
        const pieces = channels.map((channel) => channel.subarray(first, first + BLOCK));
        yield { samples: interleaved(pieces), rate, channels: channels.length };
      }
    }
    return { ...this.#fed(blocks(), options), problems: [] };
  }

  #heardWav(bytes, name, channel, options) {
    return this.#native.withWav(bytes, name, channel, (blocks, problems) => {
      const heard = this.#fed(blocks, options);
      return { ...heard, problems: problems() };
    });
  }

  /**
   * What is heard as it comes: after each of these blocks of samples (a microphone, or anything for `for await`) an
   * update, whose `phones` are the new final ones.
   */
  async *listen(source, { rate = source.rate ?? this.info.sample_rate, ...options } = {}) {
    const stream = this.stream(options);
    try {
      for await (const samples of source) {
        stream.accept(samples, rate);
        yield { ...stream.update(), lost: source.lost ?? 0 };
      }
      stream.finish();
      yield { ...stream.update(), lost: source.lost ?? 0 };
    } finally {
      stream.close();
    }
  }

  /** A recognition as text, in one of `formats`; `first` false leaves out what only begins a file. */
  write(recognition, format, { alphabet = this.alphabets[0], first = true } = {}) {
    return written(this.#native, recognition, format, alphabet, first);
  }
}

export class Stream {
  #native;
  #handle;
  #recognizer;

  constructor(native, handle, recognizer) {
    this.#native = native;
    this.#handle = native.handle(handle);
    this.#recognizer = recognizer;
    forgotten.register(this, { native, handle }, this);
  }

  #call(name, ...more) {
    return this.#native.checked(this.#native.exports[name](this.#handle, ...more));
  }

  /** Takes samples in [-1, 1], those of several channels interleaved. The first call fixes rate and channels. */
  accept(samples, rate, channels = 1) {
    if (!(samples instanceof Float32Array) || samples.length % channels !== 0) {
      throw new TetraphoneError(`samples that are no Float32Array of whole frames of ${channels} channels; give one`);
    }
    this.#native.withMemory([samples.byteLength], (at) => {
      new Float32Array(this.#native.exports.memory.buffer, at, samples.length).set(samples);
      this.#call("tetraphone_stream_accept", at, samples.length / channels, rate, channels);
    });
  }

  /** Ends the sound; provisional phones become final. */
  finish() {
    this.#call("tetraphone_stream_finish");
  }

  /** Returns the stream to its initial state. */
  reset() {
    this.#call("tetraphone_stream_reset");
  }

  /** Frees the stream; later calls fail. */
  close() {
    forgotten.unregister(this);
    this.#native.exports.tetraphone_stream_close(this.#handle);
    this.#handle = 0n;
  }

  /** New final phones, which no later sound can change; each is returned once. */
  poll() {
    const found = [];
    let fresh;
    while ((fresh = this.#phones("tetraphone_stream_poll")).length > 0) found.push(...fresh);
    return found;
  }

  /** The phones that would follow if the stream ended now. */
  provisional() {
    return this.#phones("tetraphone_stream_provisional");
  }

  #phones(name) {
    return this.#native.phones(name, this.#handle)
      .map(({ index, ...times }) => ({ phone: this.#recognizer.phones[index], ...times }));
  }

  /** All that is new, after some sound: final phones, provisional ones, bands and scores where they are kept. */
  update() {
    const { seconds, paused } = this;
    const [phones, provisional, bands, scores] = [this.poll(), this.provisional(), this.bands(), this.scores()];
    return { phones, provisional, seconds, paused, bands, scores };
  }

  /** Whether the speaker pauses. */
  get paused() {
    return this.#call("tetraphone_stream_paused") === 1;
  }

  /** Seconds of sound taken. */
  get seconds() {
    return this.#native.withMemory([8], (at) => {
      this.#call("tetraphone_stream_seconds", at);
      return this.#native.view.getFloat64(at, true);
    });
  }

  /** With `keep_bands`: log-mel energies since the last call, rows of `info.bands`. */
  bands() {
    return this.#native.floats("tetraphone_stream_bands", this.#handle);
  }

  /** With `keep_scores`: unnormalised scores since the last call, rows of blank and phones. */
  scores() {
    return this.#native.floats("tetraphone_stream_scores", this.#handle);
  }
}
