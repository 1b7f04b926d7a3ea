// Keeps the page for use without a network: all files of one version, and each model once it was used.

importScripts("files.js");  // VERSION, FILES and MODELS: the digests of models

const PREFIXES = ["tetraphone-page-", "tetraphone-model-"];  // other pages of the origin have caches, too
const core = PREFIXES[0] + VERSION;
const kept = (path) => PREFIXES[1] + MODELS[path];

self.addEventListener("install", (event) => {
  const requests = FILES.map((path) => new Request(path, { cache: "reload" }));
  event.waitUntil(caches.open(core).then((cache) => cache.addAll(requests)));
});

self.addEventListener("activate", (event) => {
  const known = new Set([core, ...Object.keys(MODELS).map(kept)]);
  const isOld = (name) => !known.has(name) && PREFIXES.some((prefix) => name.startsWith(prefix));
  const old = caches.keys().then((names) => names.filter(isOld));
  event.waitUntil(old.then((names) => Promise.all(names.map((name) => caches.delete(name))))
    .then(() => self.clients.claim()));
});

async function answer(request) {
  const path = new URL(request.url).pathname.slice(new URL(self.registration.scope).pathname.length);
  if (path in MODELS) {
    const cache = await caches.open(kept(path));
    const found = await cache.match(path);
    if (found) return found;
    const response = await fetch(request, { cache: "reload" });  // the browser may have one of another digest
    if (response.ok) await cache.put(path, response.clone());
    return response;
  }
  const found = await (await caches.open(core)).match(path === "" ? "index.html" : path);
  return found ?? fetch(request);
}

self.addEventListener("fetch", (event) => {
  if (event.request.method === "GET") event.respondWith(answer(event.request));
});
