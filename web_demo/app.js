// The page: what is heard, by the microphone or in a recording.

import { BackgroundRecognizer, Microphone } from "./tetraphone/index.js";
import { Spectrogram } from "./spectrogram.js";
import { texts, translate } from "./texts.js";

const at = (id) => document.getElementById(id);
const fixed = (value, digits) => value.toFixed(digits);
const picture = new Spectrogram(at("picture"));
let recognizer = null;
let microphone = null;
let opening = false;  // the user is asked for it
let result = null;  // of the last recording, or of what was said
let labels = new Map();  // phones, as the chosen alphabet has them
let shown = "";  // what the list of phones shows

function say(text) {
  at("status").textContent = text;
}

function complain(error) {
  at("error").textContent = error.message;
  at("error").hidden = false;
}

/** Runs what the user asked for; a failure is shown. */
async function attempt(call) {
  at("error").hidden = true;
  try {
    await call();
  } catch (error) {
    complain(error);
    say(texts.ready);
  }
}

async function load() {
  const models = await (await fetch("models.json")).json();
  at("model").replaceChildren(...models.map(({ name, bytes }) =>
    new Option(`${name} (${fixed(bytes / 1e6, 2)} MB)`, name)));
  await choose(models[0].name);
}

async function choose(name) {
  say(texts.loading(name));
  at("listen").disabled = true;
  recognizer?.close();
  recognizer = await BackgroundRecognizer.load(`models/${name}.pte`);
  if (at("alphabet").length === 0) {
    at("alphabet").replaceChildren(...recognizer.alphabets.map((alphabet) => new Option(alphabet)));
  }
  await spell();
  picture.start(recognizer.info, true);
  at("listen").disabled = false;
  document.body.dataset.ready = name;
  say(texts.ready);
}

/** Learns the chosen alphabet from the library's writer. */
async function spell() {
  const { phones } = recognizer;
  const every = phones.map((phone, i) => ({ phone, start: i, end: i + 1, confidence: 1 }));
  const recognition = { recording: "", duration: phones.length, phones: every, problems: [] };
  const written = await recognizer.write(recognition, "json", { alphabet: at("alphabet").value });
  labels = new Map(JSON.parse(written).phones.map(({ phone }, i) => [phones[i], phone]));
}

function show({ phones, provisional = [] }) {
  const all = [...phones, ...provisional];
  const names = all.map(({ phone }) => labels.get(phone));
  picture.phones = all.map(({ start, end }, i) => ({ start, end, label: names[i] }));
  picture.draw();
  const content = JSON.stringify([phones.length, result !== null, all, names]);
  if (content === shown) return;
  shown = content;
  at("phones").replaceChildren(...all.map(({ start, confidence }, i) => {
    const item = document.createElement("li");
    const final = i < phones.length;
    const label = document.createElement(final && result !== null ? "button" : "span");
    label.textContent = names[i];
    label.title = `${fixed(start, 2)} s, ${Math.round(100 * confidence)} %`;
    label.style.borderStyle = final ? "solid" : "dashed";
    if (label instanceof HTMLButtonElement) label.addEventListener("click", () => play(start));
    item.append(label);
    return item;
  }));
}

function play(start) {
  if (at("player").hidden) return;
  at("player").currentTime = start;
  at("player").play();
}

async function listen() {
  if (microphone !== null) return microphone.close();
  if (opening) return;
  opening = true;
  try {
    microphone = await Microphone.open();
  } finally {
    opening = false;
  }
  at("listen").textContent = texts.stop;
  say(texts.listening);
  offer(null);
  const phones = [];
  picture.start(recognizer.info, true);
  let seconds = 0;
  try {
    for await (const update of recognizer.listen(microphone, { keep_bands: true })) {
      phones.push(...update.phones);
      seconds = update.seconds;
      picture.add(update.bands);
      show({ phones: phones.slice(-60), provisional: update.provisional });
      at("figures").textContent = texts.figures(fixed(seconds, 1), phones.length, update.lost);
    }
  } finally {
    await microphone.close();
    microphone = null;
    at("listen").textContent = texts.listen;
  }
  offer({ recording: texts.spoken, duration: seconds, phones, problems: [] });
  show(result);
  say(texts.done(texts.spoken, fixed(seconds, 2)));
}

async function recognize(file) {
  say(texts.recognising(file.name));
  offer(null);
  const began = performance.now();
  const found = await recognizer.recognize(file, { keep_bands: true });
  const spent = (performance.now() - began) / 1000;
  picture.start(recognizer.info, false);
  picture.add(found.bands);
  offer(found);
  show(found);
  URL.revokeObjectURL(at("player").src);
  at("player").src = URL.createObjectURL(file);
  at("player").hidden = false;
  const factor = found.duration > 0 ? texts.speed(fixed(spent / found.duration, 3)) : "";
  at("figures").textContent = texts.figures(fixed(found.duration, 1), found.phones.length, 0) + factor;
  say([texts.done(file.name, fixed(found.duration, 2)), ...found.problems].join("; "));
}

/** The result that can be downloaded and played; null: none. */
function offer(found) {
  result = found;
  at("player").pause();
  at("player").hidden = true;
  at("downloads").hidden = found === null;
  if (found === null) return;
  at("formats").replaceChildren(...recognizer.formats.map(({ name, suffix }) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.addEventListener("click", () => attempt(() => download(name, suffix)));
    return button;
  }));
}

async function download(format, suffix) {
  const text = await recognizer.write(result, format, { alphabet: at("alphabet").value });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text]));
  link.download = result.recording.replace(/\.[^.]*$/, "") + suffix;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Lights the phone that is played. */
function follow() {
  const now = at("player").currentTime;
  [...at("phones").children].forEach(({ firstChild }, i) => {
    const { start, end } = result.phones[i];
    firstChild.classList.toggle("lit", start <= now && now < end);
  });
  at("view").scrollLeft = picture.place(now) - at("view").clientWidth / 2;
  if (!at("player").paused) requestAnimationFrame(follow);
}

translate();
at("listen").addEventListener("click", () => attempt(listen));
at("open").addEventListener("change", () => at("open").files[0] && attempt(() => recognize(at("open").files[0])));
at("model").addEventListener("change", () => attempt(() => choose(at("model").value)));
at("alphabet").addEventListener("change", () => attempt(async () => {
  await spell();
  if (result !== null) show(result);
}));
at("player").addEventListener("play", () => result !== null && follow());
for (const name of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(name, (event) => {
    event.preventDefault();
    at("view").classList.toggle("over", name === "dragover");
    const [file] = name === "drop" ? event.dataTransfer.files : [];
    if (file) attempt(() => recognize(file));
  });
}
attempt(load);
if ("serviceWorker" in navigator) navigator.serviceWorker.register("sw.js");
