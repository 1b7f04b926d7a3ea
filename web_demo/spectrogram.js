// Log-mel energies as a picture, phones under them at their times.

const PIXELS = 320;  // of a second
const LABELS = 42;  // pixels of height: two lines in turn, since phones are shorter than their names
const MOST_WIDTH = 16000;  // of a canvas
const LIVE_SECONDS = 8;

export class Spectrogram {
  #canvas;
  #context;
  #info;
  #frames = [];  // of energies
  #dropped = 0;
  #drawing = false;
  #small = new OffscreenCanvas(1, 1);  // a pixel for each value

  constructor(canvas) {
    this.#canvas = canvas;
    this.#context = canvas.getContext("2d");
  }

  /** Begins anew, with the figures of a model; `live` keeps the last seconds alone. */
  start(info, live) {
    this.#info = info;
    this.#frames = [];
    this.#dropped = 0;
    this.live = live;
    this.phones = [];
    this.draw();
  }

  add(bands) {
    const width = this.#info.bands;
    for (let first = 0; first < bands.length; first += width) this.#frames.push(bands.subarray(first, first + width));
    const most = this.live ? Math.round(LIVE_SECONDS / this.#info.hop) : Infinity;
    while (this.#frames.length > most) {
      this.#frames.shift();
      ++this.#dropped;
    }
  }

  /** Draws before the display shows its next picture, at most once for each. */
  draw() {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      this.#paint();
    });
  }

  /** Pixels of the canvas from its left, of a time in seconds. */
  place(seconds) {
    return (seconds - this.#dropped * this.#info.hop) * this.#scale;
  }

  get #scale() {
    return Math.min(PIXELS, MOST_WIDTH / Math.max(1, this.#heard));
  }

  /** Seconds of the frames that are kept. */
  get #heard() {
    return this.#frames.length * this.#info.hop;
  }

  #paint() {
    const seconds = this.live ? LIVE_SECONDS : this.#heard;
    const canvas = this.#canvas, height = canvas.parentElement.clientHeight;
    const width = Math.max(canvas.parentElement.clientWidth, Math.ceil(seconds * this.#scale));
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    this.#context.fillStyle = "#0d0f12";
    this.#context.fillRect(0, 0, canvas.width, height);
    if (this.#frames.length > 0) this.#paintBands(height - LABELS);
    this.#paintPhones(height);
    if (this.live) canvas.parentElement.scrollLeft = this.#heard * this.#scale - canvas.parentElement.clientWidth;
  }

  #paintBands(height) {
    const step = Math.ceil(this.#frames.length / MOST_WIDTH);
    const frames = this.#frames.filter((_, i) => i % step === 0), bands = this.#info.bands;
    const image = new ImageData(frames.length, bands);
    let least = Infinity, greatest = -Infinity;
    for (const frame of frames) {
      for (const value of frame) {
        least = Math.min(least, value);
        greatest = Math.max(greatest, value);
      }
    }
    const range = Math.max(greatest - Math.max(least, greatest - 12), 1e-3);
    frames.forEach((frame, x) => frame.forEach((value, band) => {
      const part = Math.max(0, 1 - (greatest - value) / range);
      const at = 4 * ((bands - 1 - band) * frames.length + x);
      image.data[at] = 255 * part * part;
      image.data[at + 1] = 230 * part;
      image.data[at + 2] = 90 + 110 * part * (1 - part);
      image.data[at + 3] = 255;
    }));
    this.#small.width = frames.length;
    this.#small.height = bands;
    this.#small.getContext("2d").putImageData(image, 0, 0);
    this.#context.drawImage(this.#small, 0, 0, this.#heard * this.#scale, height);
  }

  #paintPhones(height) {
    this.#context.font = "14px system-ui, sans-serif";
    this.#context.textAlign = "center";
    this.#context.fillStyle = "#ffffff";
    this.phones.forEach(({ label, start, end }, i) => {
      const [left, right] = [this.place(start), this.place(end)];
      this.#context.fillText(label, (left + right) / 2, height - (i % 2 ? 6 : 22));
      this.#context.fillRect(left, height - LABELS, Math.max(1, right - left), 2);
    });
  }
}
