// Serves folders at 127.0.0.1 as any server of static files does, with a strict content security policy.
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES = {
  ".css": "text/css", ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".json": "application/json",
  ".png": "image/png", ".svg": "image/svg+xml", ".wasm": "application/wasm",
  ".webmanifest": "application/manifest+json",
};
const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; media-src 'self' blob:; object-src 'none'; " +
  "base-uri 'none'";

/** Serves what is in the first of the folders that has it; {origin, requests, close}. */
export async function serve(folders) {
  const requests = [];
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://localhost").pathname));
    requests.push(path);
    const name = path.endsWith("/") ? `${path}index.html` : path;
    const isFile = (place) => existsSync(place) && statSync(place).isFile();
    const file = folders.map((folder) => join(folder, name)).find(isFile);
    if (file === undefined) {
      response.writeHead(404);
      response.end();
      return;
    }
    const type = TYPES[extname(file)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type, "content-security-policy": POLICY, "cache-control": "no-cache" });
    createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
  return { origin: `http://127.0.0.1:${server.address().port}`, requests, close };
}
