// The recogniser in a worker, and the microphone, with a thread of Node for the worker and none for the sound: node
// --test, with the variables of interface.test.mjs.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterEach, test } from "node:test";
import { pathToFileURL } from "node:url";
import { Worker as Thread } from "node:worker_threads";

const { TETRAPHONE_PACKAGE: folder, TETRAPHONE_MODEL: model, TETRAPHONE_RECORDING: recording } = process.env;
const { BackgroundRecognizer, Microphone, Recognizer } = await import(pathToFileURL(`${folder}/index.js`));
const sound = new Blob([readFileSync(recording)]);
const LIMIT = { timeout: 60_000 };  // ms: what is broken may wait for ever
let worker = null;  // the last one
let background = null;

globalThis.document = { baseURI: "file:///" };
globalThis.Worker = class {
  posted = [];

  constructor(url) {
    const program = `import { parentPort } from "node:worker_threads";
      Object.assign(globalThis, { onmessage: null, postMessage: (data) => parentPort.postMessage(data) });
      await import(${JSON.stringify(url.href)});
      parentPort.on("message", (data) => onmessage({ data }));`;
    this.thread = new Thread(new URL(`data:text/javascript,${encodeURIComponent(program)}`));
    this.thread.on("message", (data) => this.onmessage({ data }));
    worker = this;
  }

  postMessage(data, transfer) {
    this.posted.push(data);
    this.thread.postMessage(data, transfer);
  }

  terminate() {
    this.thread.terminate();
  }
};

let port = null;  // where the last microphone's thread of sound would post
globalThis.AudioWorkletNode = class {
  port = { postMessage: (given) => (port = given.port ?? port) };  // never answers
};

/** A microphone whose thread of sound says nothing. */
function silent() {
  const context = { state: "suspended", sampleRate: 16000, close: () => {} };
  context.createMediaStreamSource = () => ({ connect: () => {} });
  const track = { stop: () => {}, addEventListener: () => {} };
  return new Microphone(context, { getTracks: () => [track], getAudioTracks: () => [track] });
}

const load = async () => (background = await BackgroundRecognizer.load(pathToFileURL(model)));
const calls = () => worker.posted.map(({ call }) => call);

afterEach(() => background?.close());

/** Counts the blocks that are read, and whether they are told that none is wanted any more. */
async function* blocks(seen) {
  try {
    for (seen.count = 0; ; ++seen.count) yield new Float32Array(1600);
  } finally {
    seen.isEnded = true;
  }
}

test("a recording has the phones of the recogniser in the same thread, and is written", LIMIT, async () => {
  await load();
  const recognizer = await Recognizer.load(pathToFileURL(model));
  const found = await background.recognize(sound, { keep_bands: true });
  assert.deepEqual(found, await recognizer.recognize(sound, { keep_bands: true }));
  assert.equal(await background.write(found, "json"), recognizer.write(found, "json"));
  assert.deepEqual(Object.keys(worker.posted.at(-1).given.recognition).sort(),
    ["duration", "phones", "problems", "recording"]);
  const samples = new Float32Array(16000).fill(0.01), phones = [];
  for await (const update of background.listen([samples, samples])) phones.push(...update.phones);
  assert.deepEqual(phones, (await recognizer.recognize(new Float32Array(32000).fill(0.01))).phones);
});

test("what the page decodes keeps its name and its channels", LIMIT, async () => {
  await load();
  globalThis.OfflineAudioContext = class {
    decodeAudioData = async () =>
      ({ sampleRate: 16000, numberOfChannels: 2, getChannelData: () => new Float32Array(16000) });
  };
  try {
    const { recording, duration } = await background.recognize(new File(["another kind"], "a.ogg"), { channel: 1 });
    assert.deepEqual([recording, duration], ["a.ogg", 1]);
  } finally {
    delete globalThis.OfflineAudioContext;
  }
});

for (const [name, end, message] of [
  ["was closed", () => background.close(), /the recogniser was closed/],
  ["failed", () => worker.onerror({ preventDefault: () => {}, message: "it broke" }), /the worker failed: it broke/],
]) {
  test(`a worker that ${name} says so to every call, before and after`, LIMIT, async () => {
    await load();
    const heard = background.listen(blocks({}));
    await heard.next();
    const waits = background.recognize(sound);
    end();
    const refused = { name: "TetraphoneError", code: "closed", message };
    await assert.rejects(waits, refused);
    await assert.rejects(async () => { for await (const _ of heard); }, refused);
    await assert.rejects(background.recognize(sound), refused);
    await assert.rejects(background.write({ phones: [] }, "json"), refused);
    await assert.rejects(background.listen(blocks({})).next(), refused);
    const microphone = silent();
    await assert.rejects(background.listen(microphone).next(), refused);
    microphone.takePort().close();  // which is still there
  });
}

test("a loop that is left ends its source and its stream", LIMIT, async () => {
  await load();
  const seen = {};
  for await (const _ of background.listen(blocks(seen))) if (seen.count > 1) break;
  assert.deepEqual(seen, { count: 2, isEnded: true });
  assert.equal(calls().at(-1), "stop");
  const updates = [];
  worker.thread.on("message", ({ update }) => update && updates.push(update));
  const { stream } = worker.posted.at(-1).given;
  worker.postMessage({ id: 0, call: "accept", given: { stream, block: { first: 0, samples: new Float32Array(9) } } });
  await background.recognize(new Float32Array(0));
  assert.deepEqual(updates, []);
});

for (const [name, listen] of [
  ["in a worker", (microphone) => background.listen(microphone)], ["in the page", (microphone) => microphone],
]) {
  test(`a loop that is left takes nothing more from the microphone: ${name}`, LIMIT, async () => {
    await load();
    const microphone = silent();
    port.postMessage({ first: 0, samples: new Float32Array(1024) });
    const end = once(port, "close");
    for await (const _ of listen(microphone)) break;
    await end;
  });
}

test("a source that fails ends its stream", LIMIT, async () => {
  await load();
  async function* broken() {
    yield new Float32Array(1600);
    throw new Error("unplugged");
  }
  await assert.rejects(async () => { for await (const _ of background.listen(broken())); }, /unplugged/);
  assert.equal(calls().at(-1), "stop");
});

test("a microphone ends although its thread of sound does not tell it", LIMIT, async () => {
  await load();
  const [here, there, late] = [silent(), silent(), silent()];
  const heard = background.listen(there), first = heard.next();  // which asks the worker
  for (const microphone of [here, there, late]) microphone.close();
  for await (const _ of here) assert.fail();
  assert.equal((await first).value.seconds, 0);
  assert.deepEqual(await heard.next(), { value: undefined, done: true });
  await late.close();
  for await (const _ of late) assert.fail();
});
