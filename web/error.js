// In the order of ErrorCode in native/common/result.h, from 1 on.
const CODES = ["invalid-argument", "unreadable", "not-a-model", "version", "damaged", "out-of-memory", "closed"];

export const codeName = (number) => CODES[Math.abs(number) - 1];

/** What went wrong, in the recogniser's own sentence. */
export class TetraphoneError extends Error {
  constructor(message, code = "invalid-argument") {
    super(message);
    this.name = "TetraphoneError";
    this.code = code;
  }
}
