// The microphone of a page.

import { TetraphoneError } from "./error.js";
import { Queue } from "./queue.js";

const REFUSALS = {
  NotAllowedError: "the microphone was refused; allow it for this page in the browser's settings",
  NotFoundError: "there is no microphone; connect one",
  NotReadableError: "the microphone cannot be heard; another program may be using it",
};

const LONGEST_END = 500;  // ms that the thread of sound, suspended or busy, may take to tell its end

const refusal = (sentence) => new TetraphoneError(sentence, "microphone");

/** Frames that are missing before each block: `follow` gives their sum. */
export class Gaps {
  lost = 0;
  #next = null;

  follow({ first, samples }) {
    if (this.#next !== null) this.lost += first - this.#next;
    this.#next = first + samples.length;
    return this.lost;
  }
}

/** What the microphone hears from now on, block by block, of one channel: by `for await`, or in a worker by `port`. */
export class Microphone {
  #context;
  #node;
  #stream;
  #port;
  #gaps = new Gaps();
  #giveUp;
  #closed = null;
  /** Fulfilled at the end where the thread of sound did not tell it: whoever has the port ends by hand. */
  untold = new Promise((resolve) => (this.#giveUp = resolve));

  /**
   * Asks the user for the microphone. The browser's own processing of the sound is off unless it is asked for.
   */
  static async open({ deviceId, echoCancellation = false, noiseSuppression = false, autoGainControl = false } = {}) {
    if (!globalThis.navigator?.mediaDevices) {
      throw refusal("there is no microphone here; open the page by https or from this device");
    }
    const audio = { deviceId, echoCancellation, noiseSuppression, autoGainControl, channelCount: 1 };
    let stream;
    try {
      stream = await navigator.mediaDevices.getUserMedia({ audio });
    } catch (error) {
      throw refusal(REFUSALS[error.name] ?? `the microphone cannot be opened: ${error.message}`);
    }
    const rate = stream.getAudioTracks()[0].getSettings().sampleRate;
    const context = new AudioContext(rate ? { sampleRate: rate } : {});
    try {
      await context.audioWorklet.addModule(new URL("capture.js", import.meta.url));
      await context.resume();
      return new Microphone(context, stream);
    } catch (error) {
      stream.getTracks().forEach((track) => track.stop());
      await context.close();
      throw error;
    }
  }

  constructor(context, stream) {
    this.#context = context;
    this.#stream = stream;
    const { port1, port2 } = new MessageChannel();
    this.#port = port2;
    const form = { numberOfOutputs: 0, channelCount: 1, channelCountMode: "explicit" };
    this.#node = new AudioWorkletNode(context, "tetraphone-capture", form);
    context.createMediaStreamSource(stream).connect(this.#node);
    this.#node.port.postMessage({ port: port1 }, [port1]);
    stream.getAudioTracks()[0].addEventListener("ended", () => this.close());  // unplugged, or forbidden
  }

  /** Hz. */
  get rate() {
    return this.#context.sampleRate;
  }

  /** Frames that did not arrive, of those taken by `for await`. */
  get lost() {
    return this.#gaps.lost;
  }

  /** Where blocks {first, samples} arrive, and null at the end: for a worker, once, and then not by `for await`. */
  takePort() {
    const port = this.#port;
    if (port === null) throw new TetraphoneError("the microphone is heard already; open another one", "closed");
    this.#port = null;
    return port;
  }

  async *[Symbol.asyncIterator]() {
    const blocks = new Queue();
    const port = this.takePort();
    port.onmessage = ({ data }) => (data === null ? blocks.end() : blocks.push(data));
    this.untold.then(() => blocks.end());
    try {
      for await (const block of blocks) {
        this.#gaps.follow(block);
        yield block.samples;
      }
    } finally {
      port.close();
    }
  }

  /** Ends the sound; what was heard before still arrives. */
  close() {
    return this.#closed ??= this.#close();
  }

  async #close() {
    const told = new Promise((resolve) => (this.#node.port.onmessage = () => resolve(true)));
    this.#node.port.postMessage({});
    this.#stream.getTracks().forEach((track) => track.stop());
    const isTold = await Promise.race([told, new Promise((resolve) => setTimeout(resolve, LONGEST_END))]);
    if (this.#context.state !== "closed") await this.#context.close();
    if (!isTold) this.#giveUp();
  }
}
