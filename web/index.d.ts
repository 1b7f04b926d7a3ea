import type { ModelInfo, StreamOptions } from "./fields.js";

export type { ModelInfo, StreamOptions };

/** The address of something, or its bytes. */
export type Source = string | URL | ArrayBuffer | ArrayBufferView | Blob;

/** A phone that was heard. */
export interface Phone {
  phone: string;
  /** Seconds. */
  start: number;
  /** Seconds. */
  end: number;
  /** The chance that it is right, 0 to 1. */
  confidence: number;
}

/** What was heard in a recording. */
export interface Recognition {
  /** Its name; "" where it has none. */
  recording: string;
  /** Seconds. */
  duration: number;
  phones: Phone[];
  /** Why this is not all of it, or what is wrong with its samples; a sentence each. */
  problems: string[];
  /** With `keep_bands`: log-mel energies, rows of `info.bands`. */
  bands?: Float32Array;
  /** With `keep_scores`: unnormalised scores, rows of blank and phones. */
  scores?: Float32Array;
}

/** What is new after some sound. */
export interface Update {
  /** Final ones, which no later sound can change; each is told once. */
  phones: Phone[];
  /** Those that would follow if the sound ended now. */
  provisional: Phone[];
  /** Of sound, since the start. */
  seconds: number;
  /** Whether the speaker pauses. */
  paused: boolean;
  /** With `keep_bands`: log-mel energies, rows of `info.bands`. */
  bands: Float32Array;
  /** With `keep_scores`: unnormalised scores, rows of blank and phones. */
  scores: Float32Array;
}

/** An update of what is heard as it comes. */
export interface Heard extends Update {
  /** Frames of the microphone that did not arrive. */
  lost: number;
}

/** A row of the library's list of options. */
export interface Option {
  name: keyof StreamOptions;
  kind: "Whole" | "Real" | "Switch" | "File";
  help: string;
  initial: number;
  least: number;
  greatest: number;
}

export interface ResultFormat {
  name: string;
  /** Of a file, such as ".TextGrid". */
  suffix: string;
  help: string;
  /** Whether results of several recordings make one file. */
  joins: boolean;
}

export interface LoadOptions {
  /** The WebAssembly module, where it is not beside this one. */
  module?: Source | WebAssembly.Module;
}

/** For a microphone `rate` is its own; else it is the model's unless it is given. */
export type HearingOptions = StreamOptions & { rate?: number };

/** Of several channels the one of this number, from 0 on; the mean of all (-1) unless it is given. */
export type RecordingOptions = HearingOptions & { channel?: number };

/** What is written of a recognition: without a name and problems where it has none. */
export type Written = Pick<Recognition, "duration" | "phones"> & Partial<Pick<Recognition, "recording" | "problems">>;

/** In what alphabet a result is written, and whether it begins a file. */
export interface WriteOptions {
  alphabet?: string;
  first?: boolean;
}

/** Channels of a recording, in [-1, 1]. */
export interface Channels {
  sampleRate: number;
  channels: Float32Array[];
}

export type Sound = AudioBuffer | Channels | Blob | Float32Array;

export type Blocks = AsyncIterable<Float32Array> | Iterable<Float32Array>;

/** What went wrong, in the recogniser's own sentence. */
export class TetraphoneError extends Error {
  readonly code:
    | "invalid-argument" | "unreadable" | "not-a-model" | "version" | "damaged" | "out-of-memory" | "closed"
    | "microphone";
}

/** A loaded model. */
export class Recognizer {
  static load(model: Source, options?: LoadOptions): Promise<Recognizer>;
  private constructor();
  readonly info: ModelInfo;
  /** The phone set, in the order of the scores; the blank's score comes before them. */
  readonly phones: string[];
  readonly options: Option[];
  readonly formats: ResultFormat[];
  /** The model's own first. */
  readonly alphabets: string[];
  stream(options?: StreamOptions): Stream;
  /** The phones of a whole recording. A Blob that is no WAV file is decoded by the browser. */
  recognize(sound: Sound, options?: RecordingOptions): Promise<Recognition>;
  /** What is heard as it comes: an update after each block. */
  listen(source: Microphone | Blocks, options?: HearingOptions): AsyncGenerator<Heard, void, undefined>;
  /** A recognition as text, in one of `formats`. */
  write(recognition: Written, format: string, options?: WriteOptions): string;
}

/** One source of sound. */
export class Stream {
  private constructor();
  /** Takes samples in [-1, 1], those of several channels interleaved. The first call fixes rate and channels. */
  accept(samples: Float32Array, rate: number, channels?: number): void;
  /** Ends the sound; provisional phones become final. */
  finish(): void;
  reset(): void;
  close(): void;
  poll(): Phone[];
  provisional(): Phone[];
  update(): Update;
  bands(): Float32Array;
  scores(): Float32Array;
  readonly paused: boolean;
  readonly seconds: number;
}

/** A recogniser in a worker of the page, so that the page never waits for it. Browsers only. */
export class BackgroundRecognizer {
  static load(model: Source, options?: LoadOptions): Promise<BackgroundRecognizer>;
  private constructor();
  readonly info: ModelInfo;
  readonly phones: string[];
  readonly options: Option[];
  readonly formats: ResultFormat[];
  readonly alphabets: string[];
  recognize(sound: Sound, options?: RecordingOptions): Promise<Recognition>;
  /** As Recognizer.listen; a microphone's sound reaches the worker without the page. */
  listen(source: Microphone | Blocks, options?: HearingOptions): AsyncGenerator<Heard, void, undefined>;
  write(recognition: Written, format: string, options?: WriteOptions): Promise<string>;
  /** Ends the worker; what waits for it, and what is called later, fails. */
  close(): void;
}

export interface MicrophoneOptions {
  deviceId?: string;
  echoCancellation?: boolean;
  noiseSuppression?: boolean;
  autoGainControl?: boolean;
}

/** What the microphone hears, block by block, once. Browsers only. */
export class Microphone implements AsyncIterable<Float32Array> {
  /** Asks the user for it. The browser's own processing of the sound is off unless it is asked for. */
  static open(options?: MicrophoneOptions): Promise<Microphone>;
  private constructor();
  /** Hz. */
  readonly rate: number;
  /** Frames that did not arrive. */
  readonly lost: number;
  [Symbol.asyncIterator](): AsyncGenerator<Float32Array, void, undefined>;
  /** Ends the sound; what was heard before still arrives. */
  close(): Promise<void>;
}
