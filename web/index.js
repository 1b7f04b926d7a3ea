export { TetraphoneError } from "./error.js";
export { Recognizer, Stream } from "./recognizer.js";
