// What the page says, in English and German.

const ENGLISH = {
  claim: "Phonemes of what you say, recognised in this page: nothing that you say leaves your device.",
  controls: "Controls", picture: "Spectrogram with phones", listen: "Listen", stop: "Stop", open: "Open a recording",
  model: "Model", alphabet: "Alphabet", phones: "Phones", downloads: "Download the result",
  loading: (name) => `Loading ${name} …`, ready: "Ready: listen, open a recording, or drop one here.",
  listening: "Listening …", recognising: (name) => `Recognising ${name} …`,
  done: (name, seconds) => `${name}: ${seconds} s`, spoken: "What you said",
  figures: (seconds, phones, lost) => `${seconds} s heard, ${phones} phones, ${lost} samples lost`,
  speed: (factor) => `, recognised in ${factor} of its time`,
};

const GERMAN = {
  claim: "Laute dessen, was du sagst, in dieser Seite erkannt: nichts davon verlässt dein Gerät.",
  controls: "Bedienung", picture: "Spektrogramm mit Lauten", listen: "Zuhören", stop: "Anhalten",
  open: "Aufnahme öffnen", model: "Modell", alphabet: "Alphabet", phones: "Laute",
  downloads: "Ergebnis herunterladen",
  loading: (name) => `${name} wird geladen …`, ready: "Bereit: zuhören, eine Aufnahme öffnen oder hier ablegen.",
  listening: "Ich höre zu …", recognising: (name) => `${name} wird erkannt …`,
  done: (name, seconds) => `${name}: ${seconds} s`, spoken: "Was du sagtest",
  figures: (seconds, phones, lost) => `${seconds} s gehört, ${phones} Laute, ${lost} Abtastwerte verloren`,
  speed: (factor) => `, erkannt in ${factor} ihrer Dauer`,
};

export const language = navigator.language.startsWith("de") ? "de" : "en";
export const texts = { en: ENGLISH, de: GERMAN }[language];

/** Puts the texts where the page names them. */
export function translate() {
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = texts[element.dataset.text];
  for (const element of document.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", texts[element.dataset.label]);
  }
}
