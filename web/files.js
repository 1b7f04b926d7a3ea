// What a WebAssembly module asks of its system (WASI), with files that are bytes in memory: there is no other system.

const SUCCESS = 0, BAD_DESCRIPTOR = 8, INVALID = 28, NO_FILE = 44, NOT_SUPPORTED = 52;
const FOLDER = 3;  // the descriptor of the only folder, "/"
const KINDS = { folder: 3, file: 4, terminal: 2 };

export class Files {
  #contents = new Map();
  #open = new Map();  // by descriptor: {content, position}
  #memory = null;
  #written = "";

  /** Gives a file to the module under a name; null takes it away. */
  set(name, content) {
    if (content === null) this.#contents.delete(name);
    else this.#contents.set(name, content);
  }

  /** The functions that these imports of a module name; the memory is told once there is one. */
  imports(module) {
    const modules = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      const call = this.#calls[name] ?? (() => NOT_SUPPORTED);
      (modules[from] ??= {})[name] = call;
    }
    return modules;
  }

  attach(memory) {
    this.#memory = memory;
  }

  get #view() {
    return new DataView(this.#memory.buffer);
  }

  /** Calls `take` with each of the buffers that an array of WASI describes, until one is not filled; their bytes. */
  #each(vectors, count, take) {
    let total = 0;
    for (let i = 0; i < count; ++i) {
      const begin = this.#view.getUint32(vectors + 8 * i, true), size = this.#view.getUint32(vectors + 8 * i + 4, true);
      const taken = take(new Uint8Array(this.#memory.buffer, begin, size));
      total += taken;
      if (taken < size) break;
    }
    return total;
  }

  #calls = {
    environ_sizes_get: (count, size) => {
      this.#view.setUint32(count, 0, true);
      this.#view.setUint32(size, 0, true);
      return SUCCESS;
    },
    environ_get: () => SUCCESS,
    fd_prestat_get: (descriptor, at) => {
      if (descriptor !== FOLDER) return BAD_DESCRIPTOR;
      this.#view.setUint32(at, 0, true);
      this.#view.setUint32(at + 4, 1, true);
      return SUCCESS;
    },
    fd_prestat_dir_name: (descriptor, at, size) => {
      if (descriptor !== FOLDER || size < 1) return INVALID;
      this.#view.setUint8(at, "/".charCodeAt(0));
      return SUCCESS;
    },
    path_open: (folder, follow, path, size, how, rights, inherited, flags, at) => {
      const name = new TextDecoder().decode(new Uint8Array(this.#memory.buffer, path, size).slice());
      const content = this.#contents.get(name);
      if (content === undefined) return NO_FILE;
      let descriptor = FOLDER + 1;
      while (this.#open.has(descriptor)) ++descriptor;
      this.#open.set(descriptor, { content, position: 0 });
      this.#view.setUint32(at, descriptor, true);
      return SUCCESS;
    },
    fd_read: (descriptor, vectors, count, at) => {
      const file = this.#open.get(descriptor);
      if (file === undefined) return BAD_DESCRIPTOR;
      const read = this.#each(vectors, count, (buffer) => {
        const bytes = file.content.subarray(file.position, file.position + buffer.length);
        buffer.set(bytes);
        file.position += bytes.length;
        return bytes.length;
      });
      this.#view.setUint32(at, read, true);
      return SUCCESS;
    },
    fd_seek: (descriptor, offset, from, at) => {
      const file = this.#open.get(descriptor);
      if (file === undefined) return BAD_DESCRIPTOR;
      const position = Number(offset) + [0, file.position, file.content.length][from];
      if (!(position >= 0)) return INVALID;
      file.position = position;
      this.#view.setBigUint64(at, BigInt(position), true);
      return SUCCESS;
    },
    fd_write: (descriptor, vectors, count, at) => {
      if (descriptor !== 1 && descriptor !== 2) return BAD_DESCRIPTOR;
      const decoder = new TextDecoder();
      const written = this.#each(vectors, count, (buffer) => {
        this.#written += decoder.decode(buffer.slice());
        return buffer.length;
      });
      const lines = this.#written.split("\n");
      this.#written = lines.pop();
      for (const line of lines) console.warn(line);
      this.#view.setUint32(at, written, true);
      return SUCCESS;
    },
    fd_close: (descriptor) => (this.#open.delete(descriptor) ? SUCCESS : BAD_DESCRIPTOR),
    fd_fdstat_get: (descriptor, at) => {
      const kind = this.#kind(descriptor);
      if (kind === undefined) return BAD_DESCRIPTOR;
      new Uint8Array(this.#memory.buffer, at, 24).fill(0);
      this.#view.setUint8(at, kind);
      this.#view.setBigUint64(at + 8, ~0n, true);  // all rights, here and below
      this.#view.setBigUint64(at + 16, ~0n, true);
      return SUCCESS;
    },
    fd_filestat_get: (descriptor, at) => {
      const kind = this.#kind(descriptor);
      if (kind === undefined) return BAD_DESCRIPTOR;
      new Uint8Array(this.#memory.buffer, at, 64).fill(0);
      this.#view.setUint8(at + 16, kind);
      this.#view.setBigUint64(at + 32, BigInt(this.#open.get(descriptor)?.content.length ?? 0), true);
      return SUCCESS;
    },
    proc_exit: (code) => {
      throw new Error(`the recogniser ended itself with code ${code}`);
    },
  };

  #kind(descriptor) {
    if (descriptor === FOLDER) return KINDS.folder;
    if (descriptor >= 0 && descriptor < FOLDER) return KINDS.terminal;
    return this.#open.has(descriptor) ? KINDS.file : undefined;
  }
}
