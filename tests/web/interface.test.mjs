// The package in Node: node --test, with TETRAPHONE_PACKAGE, TETRAPHONE_MODEL and TETRAPHONE_RECORDING, a WAV file of
// 16 bits at 16 kHz.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import { pathToFileURL } from "node:url";

const { TETRAPHONE_PACKAGE: folder, TETRAPHONE_MODEL: model, TETRAPHONE_RECORDING: recording } = process.env;
const { Recognizer, TetraphoneError } = await import(pathToFileURL(`${folder}/index.js`));
const address = pathToFileURL(model);
const bytes = readFileSync(recording);
const samples = Float32Array.from({ length: (bytes.length - 44) / 2 }, (_, i) => bytes.readInt16LE(44 + 2 * i) / 32768);
const recognizer = await Recognizer.load(address);
const whole = await recognizer.recognize(samples);
const fails = (code, message) => (error) =>
  error instanceof TetraphoneError && error.code === code && message.test(error.message);

test("a model is loaded from an address, bytes, and a Blob", async () => {
  const content = readFileSync(model);
  for (const source of [address.href, content, content.buffer.slice(content.byteOffset), new Blob([content])]) {
    assert.deepEqual((await Recognizer.load(source)).info, recognizer.info);
  }
  assert.equal(recognizer.info.file_bytes, content.length);
  assert.equal(recognizer.phones.length, recognizer.info.phones);
});

test("a recording is the same in every form", async () => {
  assert.ok(whole.phones.length > 10 && whole.phones.every(({ phone }) => recognizer.phones.includes(phone)));
  const buffer = { sampleRate: 16000, numberOfChannels: 2, getChannelData: () => samples };
  const found = await recognizer.recognize(new File([bytes], "said.wav"));
  assert.deepEqual(found, { ...whole, recording: "said.wav" });
  assert.deepEqual(await recognizer.recognize(buffer), whole);
  assert.deepEqual(await recognizer.recognize({ sampleRate: 16000, channels: [samples] }), whole);
});

test("what is wrong with a recording is said", async () => {
  const cut = await recognizer.recognize(new File([bytes.subarray(0, 20001)], "cut.wav"));
  assert.match(cut.problems[0], /^cut\.wav is cut short at second 0\.62/);
  await assert.rejects(recognizer.recognize(new Blob(["no sound at all"])), fails("unreadable", /it is no WAV file/));
  await assert.rejects(recognizer.recognize(5), fails("invalid-argument", /neither an AudioBuffer nor/));
});

test("a recording may have any name, and its sentences say it", async () => {
  for (const name of ["/tmp/a.wav", "./a.wav", "../a.wav", "a/b/", ".", "$& $1.wav", "given.wav", "a\0b.wav"]) {
    assert.deepEqual((await recognizer.recognize(new File([bytes], name))).phones, whole.phones, name);
    const { problems: [cut] } = await recognizer.recognize(new File([bytes.subarray(0, 20001)], name));
    assert.ok(cut.startsWith(`${name} is cut short`), cut);
  }
  const none = new File(["none"], "./$&.wav");
  await assert.rejects(recognizer.recognize(none), fails("unreadable", /\.\/\$&\.wav: it is no WAV file/));
});

/** A WAV file of two channels. */
function stereo(left, right) {
  const header = Buffer.from(bytes.subarray(0, 44)), frames = left.length;
  header.writeUInt32LE(36 + 4 * frames, 4);
  header.writeUInt16LE(2, 22);
  header.writeUInt32LE(4 * 16000, 28);
  header.writeUInt16LE(4, 32);
  header.writeUInt32LE(4 * frames, 40);
  const data = Int16Array.from({ length: 2 * frames }, (_, i) => 32768 * (i % 2 === 0 ? left : right)[i >> 1]);
  return new File([header, data], "two.wav");
}

test("of several channels one is heard, in every form", async () => {
  const still = new Float32Array(samples.length);
  const forms = [stereo(still, samples), { sampleRate: 16000, channels: [still, samples], name: "two.wav" }];
  for (const sound of forms) {
    assert.deepEqual((await recognizer.recognize(sound, { channel: 1 })).phones, whole.phones);
    assert.notDeepEqual((await recognizer.recognize(sound, { channel: 0 })).phones, whole.phones);
    const missing = fails("invalid-argument", /^two\.wav has no channel 2; it has channels 0 to 1/);
    await assert.rejects(recognizer.recognize(sound, { channel: 2 }), missing);
    await assert.rejects(recognizer.recognize(sound, { channel: 0.5 }), fails("invalid-argument", /a channel of 0\.5/));
  }
  await assert.rejects(recognizer.recognize(samples, { channel: 1 }), fails("invalid-argument", /has channel 0 alone/));
});

test("the browser decodes what the library cannot read, and nothing else", async () => {
  let count = 0;
  globalThis.OfflineAudioContext = class {
    async decodeAudioData() {
      ++count;
      return { sampleRate: 16000, numberOfChannels: 2, getChannelData: (i) => samples.map((sample) => i * sample) };
    }
  };
  try {
    const wav = new File([bytes], "said.wav");
    await assert.rejects(recognizer.recognize(wav, { beam: 10 ** 6 }), fails("invalid-argument", /a beam of 1000000/));
    await assert.rejects(recognizer.recognize(wav, { channel: 1 }), fails("invalid-argument", /no channel 1/));
    assert.equal(count, 0);
    const found = await recognizer.recognize(new File(["another kind"], "said.ogg"), { channel: 1 });
    assert.deepEqual([found.recording, found.phones, count], ["said.ogg", whole.phones, 1]);
  } finally {
    delete globalThis.OfflineAudioContext;
  }
});

test("blocks give the phones of the whole, as they come", async () => {
  async function* blocks() {
    for (let first = 0; first < samples.length; first += 1000) yield samples.subarray(first, first + 1000);
  }
  const phones = [], bands = [];
  let last = null;
  for await (const update of recognizer.listen(blocks(), { keep_bands: true })) {
    phones.push(...update.phones);
    bands.push(...update.bands);
    last = update;
  }
  assert.deepEqual(phones, whole.phones);
  assert.deepEqual([last.provisional, last.seconds, last.lost], [[], whole.duration, 0]);
  assert.equal(bands.length % recognizer.info.bands, 0);
  assert.ok(bands.length / recognizer.info.bands > 300);
});

test("a stream's state is told, and it starts anew", () => {
  const stream = recognizer.stream();
  assert.deepEqual([stream.seconds, stream.paused], [0, false]);
  stream.accept(samples, 16000);
  stream.finish();
  assert.equal(stream.seconds, whole.duration);
  assert.deepEqual(stream.poll(), whole.phones);
  assert.throws(() => stream.accept(samples, 16000), fails("closed", /finished/));
  stream.reset();
  stream.accept(new Float32Array([...samples, ...new Float32Array(32000)]), 16000);
  assert.equal(stream.paused, true);
  stream.close();
  assert.throws(() => stream.poll(), fails("closed", /it was closed/));
});

test("options are the library's", async () => {
  const names = recognizer.options.map(({ name }) => name);
  assert.ok(names.includes("beam") && names.includes("keep_scores"));
  assert.deepEqual(Object.keys(recognizer.info).includes("sample_rate"), true);
  const grammar = ["0 0 SH", "0 0 IY", "0"].join("\n");
  const found = await recognizer.recognize(samples, { beam: 4, grammar });
  assert.deepEqual([...new Set(found.phones.map(({ phone }) => phone))].sort(), ["IY", "SH"]);
  assert.throws(() => recognizer.stream({ beam: 10 ** 6 }), fails("invalid-argument", /a beam of 1000000/));
  assert.throws(() => recognizer.stream({ wings: 2 }), fails("invalid-argument", /no stream option wings/));
  assert.throws(() => recognizer.stream({ beam: 4, grammar: "0 1 QQ\n1" }), fails("invalid-argument", /grammar/));
});

test("samples that cannot be taken are refused", () => {
  const stream = recognizer.stream();
  assert.throws(() => stream.accept([0, 0], 16000), fails("invalid-argument", /Float32Array/));
  assert.throws(() => stream.accept(new Float32Array(3), 16000, 2), fails("invalid-argument", /whole frames/));
  assert.throws(() => stream.accept(new Float32Array([NaN]), 16000), fails("invalid-argument", /not a finite number/));
  assert.throws(() => stream.accept(new Float32Array(4), 0), fails("invalid-argument", /0/));
  stream.close();
});

test("a model that is none, damaged or nowhere is refused", async () => {
  const content = readFileSync(model);
  await assert.rejects(Recognizer.load(content.subarray(0, 1000)), fails("not-a-model", /the model is not a Tetra/));
  content[5000] ^= 1;
  await assert.rejects(Recognizer.load(new File([content], "a.pte")), fails("damaged", /^a\.pte .*damaged/));
  await assert.rejects(Recognizer.load("nowhere.pte"), fails("unreadable", /cannot read .*nowhere\.pte/));
});

test("results are written in every format", () => {
  const said = { ...whole, recording: "said.wav", problems: ["it was cut"] };
  const written = Object.fromEntries(recognizer.formats.map(({ name }) => [name, recognizer.write(said, name)]));
  assert.deepEqual(JSON.parse(written.json).problems, ["it was cut"]);
  assert.equal(JSON.parse(written.json).phones.length, whole.phones.length);
  assert.match(written.textgrid, /^File type = "ooTextFile"/);
  assert.match(recognizer.write(said, "text", { alphabet: "ipa" }), /ʃ/);
  assert.ok(!recognizer.write(said, "csv", { first: false }).includes("recording,tier"));
  assert.throws(() => recognizer.write(said, "runes"), fails("invalid-argument", /no format runes/));
  const { duration, phones } = whole;
  assert.equal(recognizer.write({ duration, phones }, "json"), recognizer.write(whole, "json"));
  assert.throws(() => recognizer.write({ duration }, "json"), fails("invalid-argument", /phones .* are undefined/));
});

test("minutes of sound need no more memory than seconds, and little", async () => {
  const { Instance } = WebAssembly;
  let memory = null;
  WebAssembly.Instance = class extends Instance {
    constructor(...given) {
      super(...given);
      ({ memory } = this.exports);
    }
  };
  const loaded = await Recognizer.load(address);
  WebAssembly.Instance = Instance;
  const stream = loaded.stream({ beam: 8, keep_bands: true, keep_scores: true });
  const hear = () => {
    for (let first = 0; first < samples.length; first += 1024) {
      stream.accept(samples.subarray(first, first + 1024), 16000);
      stream.update();
    }
  };
  hear();
  const after = memory.buffer.byteLength;
  while (stream.seconds < 300) hear();
  assert.equal(memory.buffer.byteLength, after);
  assert.ok(after < 6e6, `${after} bytes`);
});

/** What the thread of sound posts for calls with these frames of the clock, none of them the first. */
function captured(frames) {
  const posted = [];
  const scope = {
    Float32Array,
    AudioWorkletProcessor: class {
      port = { postMessage: (message) => posted.push(message) };
    },
    registerProcessor: (name, Processor) => (scope.processor = new Processor()),
    currentFrame: -128,
  };
  runInNewContext(readFileSync(`${folder}/capture.js`, "utf8"), scope);
  const { processor } = scope;
  processor.port.onmessage({ data: { port: { postMessage: (message) => posted.push(message) } } });
  processor.process([[new Float32Array(128).fill(9)]]);
  for (const frame of frames) {
    scope.currentFrame = frame;
    processor.process([frame % 256 === 0 ? [new Float32Array(128).fill(frame + 1)] : []]);
  }
  processor.port.onmessage({ data: {} });
  assert.equal(processor.process([[]]), false);
  return posted;
}

test("the thread of sound hands on what arrives, with the number of its first frame", async () => {
  const { Gaps } = await import(pathToFileURL(`${folder}/microphone.js`));
  const frames = Array.from({ length: 20 }, (_, i) => 128 * i + (i > 9 ? 640 : 0));
  const posted = captured(frames);
  assert.equal(JSON.stringify(posted.splice(-2)), "[null,{}]");  // the end, and that it was told
  const places = posted.map(({ first, samples }) => [first, samples.length]);
  assert.deepEqual(places, [[0, 1024], [1024, 256], [1920, 1024], [2944, 256]]);
  assert.deepEqual([posted[0].samples[0], posted[0].samples[128], posted[2].samples[128]], [1, 0, 2049]);
  const gaps = new Gaps();
  assert.deepEqual(posted.map((block) => gaps.follow(block)), [0, 0, 640, 640]);
});
