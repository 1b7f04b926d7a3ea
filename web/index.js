export { BackgroundRecognizer } from "./background.js";
export { TetraphoneError } from "./error.js";
export { Microphone } from "./microphone.js";
export { Recognizer, Stream } from "./recognizer.js";
