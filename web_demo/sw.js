// Keeps the page for use without a network: all files of one version, and each model once it was used.

importScripts("files.js");  // VERSION, FILES and MODELS: the digests of models

const core = `page-${VERSION}`;
const kept = (path) => `model-${MODELS[path]}`;

self.addEventListener("install", (event) => {
  const requests = FILES.map((path) => new Request(path, { cache: "reload" }));
  event.waitUntil(caches.open(core).then((cache) => cache.addAll(requests)));
});

self.addEventListener("activate", (event) => {
  const known = new Set([core, ...Object.keys(MODELS).map(kept)]);
  const old = caches.keys().then((names) => names.filter((name) => !known.has(name)));
  event.waitUntil(old.then((names) => Promise.all(names.map((name) => caches.delete(name))))
    .then(() => self.clients.claim()));
});

async function answer(request) {
  const path = new URL(request.url).pathname.slice(new URL(self.registration.scope).pathname.length);
  if (path in MODELS) {
    const cache = await caches.open(kept(path));
    const found = await cache.match(path);
    if (found) return found;
    const response = await fetch(request);
    if (response.ok) await cache.put(path, response.clone());
    return response;
  }
  const found = await (await caches.open(core)).match(path === "" ? "index.html" : path);
  return found ?? fetch(request);
}

self.addEventListener("fetch", (event) => {
  if (event.request.method === "GET") event.respondWith(answer(event.request));
});
