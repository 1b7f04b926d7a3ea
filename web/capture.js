// In the browser's thread of sound: hands on what the microphone delivers, in blocks, each with the number of its first
// frame, so that whoever takes them sees what is missing. Null ends them.

const BLOCK = 1024;  // frames
const SILENCE = new Float32Array(128);  // as many as each call of `process` has

class Capture extends AudioWorkletProcessor {
  #port = null;
  #block = new Float32Array(BLOCK);
  #filled = 0;
  #first = 0;
  #called = false;
  #stopped = false;

  constructor() {
    super();
    this.port.onmessage = ({ data }) => {
      if (data.port) this.#port = data.port;
      else this.#stop();
    };
  }

  #send() {
    if (this.#filled === 0) return;
    const samples = this.#block.slice(0, this.#filled);
    this.#port.postMessage({ first: this.#first, samples }, [samples.buffer]);
    this.#filled = 0;
  }

  /** Tells the end at once, and that it is told: a suspended context calls `process` no more. */
  #stop() {
    this.#stopped = true;
    this.#send();
    this.#port.postMessage(null);
    this.port.postMessage({});
  }

  process([channels]) {
    if (this.#stopped) return false;
    if (this.#port === null || !this.#called) {  // the first call may have the number of an earlier frame
      this.#called = true;
      return true;
    }
    const [samples = SILENCE] = channels;  // nothing arrives from a muted track, nor while one starts
    if (this.#filled > 0 && currentFrame !== this.#first + this.#filled) this.#send();
    if (this.#filled === 0) this.#first = currentFrame;
    this.#block.set(samples, this.#filled);
    this.#filled += samples.length;
    if (this.#filled + samples.length > BLOCK) this.#send();
    return true;
  }
}

registerProcessor("tetraphone-capture", Capture);
