// Sound in the forms that a caller may have it in.

import { TetraphoneError } from "./error.js";

/**
 * A recording that the library cannot read, by the browser's decoder, at this rate; `refusal` where that is no such
 * failure, where there is no decoder, or if it fails.
 */
export async function decoded(blob, rate, refusal) {
  if (refusal.code !== "unreadable" || typeof OfflineAudioContext === "undefined") throw refusal;
  try {
    return await new OfflineAudioContext(1, 1, rate).decodeAudioData(await blob.arrayBuffer());
  } catch {
    throw refusal;
  }
}

/** The channels of an AudioBuffer, of {sampleRate, channels}, or the samples themselves. */
export function channelsOf(sound) {
  if (sound instanceof Float32Array) return [sound];
  if (Array.isArray(sound?.channels)) return sound.channels;
  if (typeof sound?.getChannelData !== "function") {
    throw new TetraphoneError("the sound is neither an AudioBuffer nor a Blob nor a Float32Array; give one");
  }
  return Array.from({ length: sound.numberOfChannels }, (_, channel) => sound.getChannelData(channel));
}

/** The channel of this number alone; all of them for -1. */
export function chosen(channels, channel, name) {
  if (channel === -1) return channels;
  if (channels[channel] !== undefined) return [channels[channel]];
  const last = channels.length - 1;
  const all = last === 0 ? "channel 0 alone" : `channels 0 to ${last}`;
  throw new TetraphoneError(`${name || "the sound"} has no channel ${channel}; it has ${all}`);
}

/** Frames of all channels, one after another. */
export function interleaved(channels) {
  if (channels.length === 1) return channels[0];
  const samples = new Float32Array(channels.length * channels[0].length);
  channels.forEach((channel, c) => channel.forEach((sample, i) => (samples[i * channels.length + c] = sample)));
  return samples;
}

/** Arrays of numbers, one behind another. */
export function joined(pieces) {
  const all = new Float32Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let position = 0;
  for (const piece of pieces) {
    all.set(piece, position);
    position += piece.length;
  }
  return all;
}
