/** What one side puts in and the other takes by `for await`, once. */
export class Queue {
  #items = [];
  #waiting = null;
  #over = false;
  #error = null;

  push(item) {
    this.#items.push(item);
    this.#wake();
  }

  /** Nothing follows, but for an error if there is one. */
  end(error = null) {
    this.#over = true;
    this.#error = error;
    this.#wake();
  }

  #wake() {
    this.#waiting?.();
    this.#waiting = null;
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      while (this.#items.length > 0) yield this.#items.shift();
      if (this.#error !== null) throw this.#error;
      if (this.#over) return;
      await new Promise((resolve) => (this.#waiting = resolve));
    }
  }
}
