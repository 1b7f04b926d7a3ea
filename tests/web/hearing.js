// What a recogniser gives for samples at 16 kHz, in Node and in a page.

const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

async function hash(pieces) {
  const bytes = new Uint8Array(await new Blob(pieces).arrayBuffer());
  return hex(await crypto.subtle.digest("SHA-256", bytes));
}

/** Its phones as [index, start, end, confidence], and the hashes of bands and scores. */
export async function bitsOf(recognizer, samples, piece) {
  const stream = recognizer.stream({ keep_bands: true, keep_scores: true });
  const bands = [], scores = [], phones = [];
  const take = () => {
    bands.push(stream.bands());
    scores.push(stream.scores());
    for (const { phone, start, end, confidence } of stream.poll()) {
      phones.push([recognizer.phones.indexOf(phone), start, end, confidence]);
    }
  };
  for (let first = 0; first < samples.length; first += piece) {
    stream.accept(samples.subarray(first, first + piece), 16000);
    take();
  }
  stream.finish();
  take();
  stream.close();
  return { band: await hash(bands), score: await hash(scores), phones };
}

/** Seconds that recognising the samples takes, for each run. */
export async function secondsOf(recognizer, samples, runs) {
  const seconds = [];
  for (let run = 0; run < runs; ++run) {
    const began = performance.now();
    await recognizer.recognize(samples, { rate: 16000 });
    seconds.push((performance.now() - began) / 1000);
  }
  return seconds;
}

export const samplesOf = (bytes) => Float32Array.from(
  new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2), (sample) => sample / 32768);

/** Bits of each pair of model and recording; the seconds that `long` takes, by the module and by the `scalar` one. */
export async function measured({ models, recordings, long, scalar, runs }, load, read) {
  const bits = [], seconds = {};
  for (const model of models) {
    const recognizer = await load(model);
    for (const path of recordings) bits.push(await bitsOf(recognizer, samplesOf(await read(path)), 4096));
    const samples = samplesOf(await read(long));
    const simd128 = await secondsOf(recognizer, samples, runs);
    seconds[model] = { simd128, scalar: await secondsOf(await load(model, scalar), samples, 3) };
  }
  return { bits, seconds };
}
