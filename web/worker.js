// A recogniser in a worker, for background.js: takes {id, call, given} and answers {id, value} or {id, error}; a
// stream's updates come as {id, update}.

import { Gaps } from "./microphone.js";
import { Recognizer } from "./recognizer.js";

let recognizer = null;
const streams = new Map();  // by the number of the call that opened each

const calls = {
  async load({ model, module }) {
    recognizer = await Recognizer.load(model, { module });
    const { info, phones, options, formats, alphabets } = recognizer;
    return { info, phones, options, formats, alphabets };
  },
  recognize: ({ sound, options }) => recognizer.recognize(sound, options),
  write: ({ recognition, format, options }) => recognizer.write(recognition, format, options),
  listen({ rate, port, options }, id) {
    const stream = recognizer.stream(options);
    const gaps = new Gaps();
    const update = () => postMessage({ id, update: { ...stream.update(), lost: gaps.lost } });
    const guarded = (call) => {
      try {
        call();
      } catch (error) {
        end();
        postMessage({ id, error: said(error) });
      }
    };
    const end = () => {
      stream.close();
      port?.close();
      streams.delete(id);
    };
    const take = (block) => guarded(() => {
      if (block !== null) {
        gaps.follow(block);
        stream.accept(block.samples, rate);
        return update();
      }
      stream.finish();
      update();
      end();
      postMessage({ id, value: null });
    });
    streams.set(id, { take, end });
    if (port) port.onmessage = ({ data }) => take(data);
  },
  accept({ stream, block }) {
    streams.get(stream)?.take(block);
  },
  stop({ stream }) {
    streams.get(stream)?.end();
  },
};

const said = ({ message, code }) => ({ message, code });

onmessage = async ({ data: { id, call, given } }) => {
  try {
    const value = await calls[call](given, id);
    if (call !== "listen") postMessage({ id, value });
  } catch (error) {
    postMessage({ id, error: said(error) });
  }
};
