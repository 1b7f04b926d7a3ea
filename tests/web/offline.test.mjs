// What the page's service worker keeps, with caches and a network of its own: node --test, with TETRAPHONE_PACKAGE.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { test } from "node:test";
import { runInNewContext } from "node:vm";

const page = dirname(process.env.TETRAPHONE_PACKAGE);
const OLD = ["tetraphone-page-old", "tetraphone-model-old"];
const FOREIGN = ["another", "page-of-another", "model-of-another", "another-tetraphone-page-1"];

/** The service worker: {caches, by name and path; fetched; listeners; MODELS}. */
function started() {
  const scope = { caches: new Map(), fetched: [], listeners: {} };
  const open = async (name) => {
    if (!scope.caches.has(name)) scope.caches.set(name, new Map());
    const cache = scope.caches.get(name);
    return {
      match: async (path) => cache.get(path),
      put: async (path, response) => cache.set(path, response),
      addAll: async (requests) => requests.forEach(({ url }) => cache.set(url, url)),
    };
  };
  const globals = {
    self: {
      registration: { scope: "https://owner.example/tetraphone/" },
      clients: { claim: () => {} },
      addEventListener: (name, listener) => (scope.listeners[name] = listener),
    },
    caches: { open, keys: async () => [...scope.caches.keys()], delete: async (name) => scope.caches.delete(name) },
    fetch: async ({ url }, how) => {
      scope.fetched.push([url, how?.cache]);
      return { ok: true, url, clone: () => url };
    },
    Request: class {
      constructor(url) {
        this.url = url;
      }
    },
    URL, importScripts: () => {},
  };
  const code = ["files.js", "sw.js"].map((name) => readFileSync(`${page}/${name}`, "utf8"));
  scope.MODELS = runInNewContext(`${code.join("\n")}; MODELS`, globals);
  OLD.concat(FOREIGN).forEach((name) => scope.caches.set(name, new Map()));
  return scope;
}

const waited = (scope, name) => new Promise((resolve) => scope.listeners[name]({ waitUntil: resolve }));

async function asked(scope, path) {
  const request = { method: "GET", url: `https://owner.example/tetraphone/${path}` };
  return new Promise((resolve) => scope.listeners.fetch({ request, respondWith: resolve }));
}

test("a new version takes away what is its own, and nothing of the origin's other pages", async () => {
  const scope = started();
  await waited(scope, "install");
  const [model] = Object.keys(scope.MODELS);
  await asked(scope, model);
  await waited(scope, "activate");
  const left = [...scope.caches.keys()];
  assert.deepEqual(left.slice(0, FOREIGN.length), FOREIGN);
  assert.match(left.slice(FOREIGN.length).join(" "), /^tetraphone-page-[0-9a-f]{64} tetraphone-model-[0-9a-f]{64}$/);
});

test("a model is fetched once, past what the browser has of it", async () => {
  const scope = started();
  const [model] = Object.keys(scope.MODELS), url = `https://owner.example/tetraphone/${model}`;
  await asked(scope, model);
  assert.equal(await asked(scope, model), url);
  assert.deepEqual(scope.fetched, [[url, "reload"]]);
});
