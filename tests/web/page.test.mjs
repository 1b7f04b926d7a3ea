// The page in Chromium, with the variables of package.test.mjs; TETRAPHONE_PICTURES: a folder for pictures of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { launch } from "./browser.mjs";
import { serve } from "./server.mjs";

const { TETRAPHONE_PACKAGE: folder, TETRAPHONE_MODEL: model, TETRAPHONE_RECORDING: recording,
  TETRAPHONE_TOOLS: tools, TETRAPHONE_PICTURES: pictures } = process.env;
const { Recognizer } = await import(pathToFileURL(`${folder}/index.js`));
const axe = readFileSync(createRequire(`${tools}/`).resolve("axe-core/axe.min.js"), "utf8");
const recognizer = await Recognizer.load(pathToFileURL(model));
const expected = await recognizer.recognize(new File([readFileSync(recording)], basename(recording)));
const names = expected.phones.map(({ phone }) => phone);
const PHONE = { width: 360, height: 640 };
let server, browser;

before(async () => {
  server = await serve([dirname(folder)]);
  browser = await launch(recording);
});

after(async () => {
  await browser?.close();
  await server?.close();
});

/** A page of a visitor of their own, once its model is loaded; `failures` has what it complains of. */
async function visit(how = {}, from = browser) {
  const context = await from.newContext({ viewport: PHONE, locale: "en-GB", ...how });
  const page = await context.newPage();
  const failures = [];
  page.on("pageerror", (error) => failures.push(error.message));
  page.on("console", (message) => message.type() === "error" && failures.push(message.text()));
  await page.goto(`${server.origin}/`);
  await page.waitForSelector("body[data-ready]");
  return { context, page, failures };
}

const shown = (page) => page.locator("#phones button").allTextContents();
const hear = async (page) => {
  await page.setInputFiles("#open", recording);
  await page.waitForSelector("#downloads:not([hidden])");
};
const picture = (page, name) => pictures && page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });

test("a recording's phones are the library's, played, and written", async () => {
  const { context, page, failures } = await visit();
  await hear(page);
  assert.deepEqual(await shown(page), names);
  assert.match(await page.textContent("#status"), /measure\.wav: 3\.0[78] s/);
  assert.match(await page.textContent("#figures"), /3\.1 s heard, 27 phones, 0 samples lost, recognised in 0\.\d+/);
  await picture(page, "recording");

  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#formats >> text=textgrid")]);
  assert.equal(download.suggestedFilename(), "measure.TextGrid");
  assert.equal(readFileSync(await download.path(), "utf8"), recognizer.write(expected, "textgrid"));

  await page.click("#phones button >> nth=3");
  await page.waitForSelector("#phones .lit");
  await page.selectOption("#alphabet", "ipa");
  await page.waitForSelector("#phones >> text=ʃ");
  assert.deepEqual(failures, []);
  await context.close();
});

test("what is no sound is said, and the page goes on", async () => {
  const { context, page } = await visit();
  await page.setInputFiles("#open", { name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("no sound") });
  await page.waitForSelector("#error:not([hidden])");
  assert.match(await page.textContent("#error"), /a\.txt: it is no WAV file/);
  await hear(page);
  assert.deepEqual(await shown(page), names);
  assert.equal(await page.isVisible("#error"), false);
  await context.close();
});

test("what is said is heard", async () => {
  const { context, page, failures } = await visit({ viewport: { width: 1024, height: 700 } });
  await page.click("#listen");
  await page.waitForFunction(() => document.querySelectorAll("#phones li").length > 15);
  await picture(page, "listening");
  await page.click("#listen");
  await page.waitForSelector("#downloads:not([hidden])");
  assert.match(await page.textContent("#figures"), /^\d\.\d s heard, \d+ phones, \d+ samples lost$/);
  assert.equal(await page.textContent("#listen"), "Listen");
  assert.deepEqual(failures, []);
  await context.close();
});

test("two quick clicks open one microphone", async () => {
  const { context, page, failures } = await visit();
  await page.evaluate(() => {
    const { mediaDevices } = navigator, open = mediaDevices.getUserMedia.bind(mediaDevices);
    window.opened = 0;
    mediaDevices.getUserMedia = (how) => (++window.opened, open(how));
    const button = document.getElementById("listen");
    button.click();
    button.click();
  });
  await page.waitForFunction(() => document.getElementById("listen").textContent === "Stop");
  await page.click("#listen");
  await page.waitForSelector("#downloads:not([hidden])");
  assert.equal(await page.evaluate(() => window.opened), 1);
  assert.deepEqual(failures, []);
  await context.close();
});

test("a refused microphone is said", async () => {
  const other = await launch(null);
  const { page } = await visit({}, other);
  await page.click("#listen");
  await page.waitForSelector("#error:not([hidden])");
  assert.match(await page.textContent("#error"), /microphone/);
  await other.close();
});

test("all comes from here, and works without a network from the second visit on", async () => {
  const { context, page, failures } = await visit();
  const foreign = [];
  context.on("request", (request) => request.url().startsWith(server.origin) || foreign.push(request.url()));
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
  await page.reload();
  await page.waitForSelector("body[data-ready]");  // which keeps the model
  await context.setOffline(true);
  await page.reload();
  await page.waitForSelector("body[data-ready]");
  await hear(page);
  assert.deepEqual(await shown(page), names);
  assert.deepEqual(foreign.filter((url) => !url.startsWith("blob:")), []);
  assert.deepEqual(failures, []);
  await context.close();
});

test("another model is loaded by its name", async () => {
  const { context, page } = await visit();
  await page.selectOption("#model", "english-tiny-int8");
  await page.waitForSelector("body[data-ready='english-tiny-int8']");
  await hear(page);
  assert.ok((await shown(page)).length > 10);
  await context.close();
});

for (const [name, how] of Object.entries({
  phone: {}, landscape: { viewport: { width: 640, height: 360 } }, german: { locale: "de-DE" },
  dark: { colorScheme: "dark" }, zoomed: { viewport: { width: 320, height: 512 } },
})) {
  test(`nothing is out of reach: ${name}`, async () => {
    const { context, page } = await visit({ ...how, bypassCSP: true });  // for axe
    await hear(page);
    await picture(page, name);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wide, 0, "the page is wider than the screen");
    await page.addScriptTag({ content: axe });
    const { violations } = await page.evaluate(() => axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), []);
    await context.close();
  });
}
