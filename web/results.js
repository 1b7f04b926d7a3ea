// Results as other programs read them, by the library's writer (native/results).

import { TetraphoneError } from "./error.js";

const RESULT_BYTES = 40, TIER_BYTES = 16, INTERVAL_BYTES = 32, FORMAT_BYTES = 16;

/** The formats: name, suffix of a file, help, and whether results of several recordings make one file. */
export function formatsOf(native) {
  return native.withMemory([FORMAT_BYTES], (at) => {
    const formats = [];
    while (native.exports.tetraphone_result_format_at(formats.length, at)) {
      const [name, suffix, help] = [0, 4, 8].map((offset) => native.text(native.view.getUint32(at + offset, true)));
      formats.push({ name, suffix, help, joins: native.view.getInt32(at + 12, true) === 1 });
    }
    return formats;
  });
}

/** The alphabets' names, the model's own first. */
export function alphabetsOf(native) {
  const names = [];
  let name;
  while ((name = native.text(native.exports.tetraphone_alphabet_at(names.length))) !== null) names.push(name);
  return names;
}

/** A recognition as text. */
export function written(native, { recording = "", duration, phones, problems = [] }, format, alphabet, first) {
  if (!Array.isArray(phones)) {
    throw new TetraphoneError(`the phones of the recognition are ${phones}; give a list, as recognize() does`);
  }
  const texts = [format, alphabet, recording, "phones", ...phones.map(({ phone }) => phone), ...problems];
  return native.withTexts(texts, (formatAt, alphabetAt, recordingAt, tierName, ...rest) =>
    native.withMemory(
      [RESULT_BYTES, TIER_BYTES, INTERVAL_BYTES * phones.length, 4 * problems.length],
      (result, tier, intervals, list) => {
        const view = native.view;
        phones.forEach(({ start, end, confidence }, i) => {
          const at = intervals + INTERVAL_BYTES * i;
          view.setUint32(at, rest[i], true);
          [start, end, confidence].forEach((value, place) => view.setFloat64(at + 8 + 8 * place, value, true));
        });
        problems.forEach((_, i) => view.setUint32(list + 4 * i, rest[phones.length + i], true));
        [tierName, intervals, phones.length].forEach((value, i) => view.setUint32(tier + 4 * i, value, true));
        view.setBigUint64(result, BigInt(RESULT_BYTES), true);
        view.setUint32(result + 8, recordingAt, true);
        view.setFloat64(result + 16, duration, true);
        [tier, 1, list, problems.length].forEach((value, i) => view.setUint32(result + 24 + 4 * i, value, true));
        return native.copied((text, room) =>
          native.exports.tetraphone_format_result(result, formatAt, alphabetAt, first ? 1 : 0, text, room));
      }));
}
