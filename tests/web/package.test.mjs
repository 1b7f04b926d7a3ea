// The package in Chromium, compared with the same in Node: node --test, with the variables of interface.test.mjs,
// TETRAPHONE_TOOLS and TETRAPHONE_CHROMIUM.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { launch } from "./browser.mjs";
import { serve } from "./server.mjs";

const { TETRAPHONE_PACKAGE: folder, TETRAPHONE_MODEL: model, TETRAPHONE_RECORDING: recording } = process.env;
const { Recognizer } = await import(pathToFileURL(`${folder}/index.js`));
const recognizer = await Recognizer.load(pathToFileURL(model));
const wav = readFileSync(recording);
let server, browser, page, place;

before(async () => {
  place = mkdtempSync(join(tmpdir(), "tetraphone-"));
  writeFileSync(join(place, "empty.html"), "<!doctype html><title>A page</title>");
  server = await serve([place, dirname(folder), dirname(model), dirname(recording)]);
  browser = await launch(recording);
  page = await browser.newPage();
  await page.goto(`${server.origin}/empty.html`);
  await page.evaluate(async ([model, recording]) => {
    window.tetraphone = await import("/tetraphone/index.js");
    window.sound = new File([await (await fetch(recording)).blob()], "said.wav");
    window.background = await tetraphone.BackgroundRecognizer.load(model);
  }, [basename(model), basename(recording)]);
});

after(async () => {
  await browser?.close();
  await server?.close();
  rmSync(place, { recursive: true });
});

test("a recording has the same phones, in the page and in a worker", async () => {
  const expected = await recognizer.recognize(new File([wav], "said.wav"));
  const [here, there, buffer] = await page.evaluate(async (model) => {
    const recognizer = await tetraphone.Recognizer.load(model);
    const decoded = await new OfflineAudioContext(1, 1, 16000).decodeAudioData(await sound.arrayBuffer());
    return [await recognizer.recognize(sound), await background.recognize(sound), await background.recognize(decoded)];
  }, basename(model));
  assert.deepEqual(here, expected);
  assert.deepEqual(there, expected);
  const names = ({ phones }) => phones.map(({ phone }) => phone);
  assert.deepEqual(names(buffer), names(expected));  // Chromium scales samples above 0 and below differently
});

test("what the page cannot decode is refused in the library's sentence", async () => {
  const [code, message] = await page.evaluate(() =>
    background.recognize(new Blob(["no sound"])).catch(({ code, message }) => [code, message]));
  assert.equal(code, "unreadable");
  assert.match(message, /it is no WAV file/);
});

test("a model that is nowhere is refused, and ends its worker", async () => {
  const said = await page.evaluate(() =>
    tetraphone.BackgroundRecognizer.load("nowhere.pte").catch(({ message }) => message));
  assert.match(said, /cannot fetch .*nowhere\.pte: status 404/);
});

test("the microphone's samples have the phones that Node gives for them", async () => {
  const { phones, samples, rate } = await page.evaluate(async () => {
    const microphone = await tetraphone.Microphone.open();
    const heard = [], phones = [];
    async function* kept() {
      for await (const samples of microphone) {
        heard.push(...samples);
        yield samples;
        if (heard.length > 3.5 * microphone.rate) await microphone.close();
      }
    }
    for await (const update of background.listen(kept(), { rate: microphone.rate })) phones.push(...update.phones);
    const bytes = new Uint8Array(Float32Array.from(heard).buffer);
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return { phones, samples: btoa(text), rate: microphone.rate };
  });
  const bytes = Buffer.from(samples, "base64");
  const heard = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  assert.ok(phones.length > 15, `${phones.length} phones`);
  assert.deepEqual(phones, (await recognizer.recognize(heard, { rate })).phones);
});

test("the microphone reaches the worker without the page", async () => {
  const fresh = await browser.newPage();  // the fake microphone plays once for each
  await fresh.goto(`${server.origin}/empty.html`);
  const { phones, lost, seconds } = await fresh.evaluate(async (model) => {
    const tetraphone = await import("/tetraphone/index.js");
    const background = await tetraphone.BackgroundRecognizer.load(model);
    const microphone = await tetraphone.Microphone.open();
    const phones = [];
    let last = null;
    for await (const update of background.listen(microphone)) {
      phones.push(...update.phones);
      last = update;
      if (update.seconds > 1.5 && update.seconds < 1.6) {
        const until = performance.now() + 300;
        while (performance.now() < until);  // the page is busy
      }
      if (update.seconds > 3.5) microphone.close();
    }
    return { phones, lost: last.lost, seconds: last.seconds };
  }, basename(model));
  assert.ok(Number.isInteger(lost));  // a busy machine loses some
  assert.ok(seconds >= 3.5);
  assert.ok(phones.length > 15, `${phones.length} phones`);
  await fresh.close();
});

test("a microphone that is refused is said", async () => {
  const other = await launch(null);
  try {
    const page = await other.newPage();
    await page.goto(`${server.origin}/empty.html`);
    const [code, message] = await page.evaluate(async () => {
      const { Microphone } = await import("/tetraphone/index.js");
      return Microphone.open().then(() => ["opened"], ({ code, message }) => [code, message]);
    });
    assert.equal(code, "microphone");
    assert.match(message, /microphone/);
  } finally {
    await other.close();
  }
});
