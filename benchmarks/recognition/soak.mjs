// Lets the page listen to a recording in a loop, for minutes, and says what it lost and what memory it has.
//   make web && node benchmarks/recognition/soak.mjs [SECONDS] > benchmarks/results/web_soak.json
import { execFileSync } from "node:child_process";
import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
process.env.TETRAPHONE_TOOLS ??= join(root, "build/web-tools");
process.env.TETRAPHONE_CHROMIUM ??= execFileSync("which", ["chromium"], { encoding: "utf8" }).trim();
const { launch } = await import("../../tests/web/browser.mjs");
const { serve } = await import("../../tests/web/server.mjs");

const seconds = Number(process.argv[2] ?? 600);
const server = await serve([join(root, "build/web")]);
const browser = await launch(join(root, "android_demo/app/src/main/assets/measure.wav"), { loop: true });
const page = await browser.newPage();
await page.goto(`${server.origin}/`);
await page.evaluate(() => navigator.serviceWorker.ready);
await page.reload();  // a second visit: from the page's cache
await page.waitForSelector("body[data-ready]");
const began = Date.now();
await page.click("#listen");
await page.waitForFunction(() => document.getElementById("figures").textContent !== "");
const toFirst = Date.now() - began;

// Megabytes that the browser's processes have, in pages of their own.
const megabytes = () => {
  const lines = execFileSync("ps", ["-eo", "rss,args"], { encoding: "utf8" }).split("\n");
  const renderers = lines.filter((line) => line.includes("--type=renderer"));
  return Math.max(...renderers.map((line) => Number(line.trim().split(" ")[0]))) / 1000;
};
const memory = [];
for (let minute = 0; Date.now() - began < 1000 * seconds; ++minute) {
  await new Promise((resolve) => setTimeout(resolve, Math.min(60_000, 1000 * seconds / 10)));
  memory.push(Math.round(megabytes()));
}
const figures = await page.textContent("#figures");
const load = Number(execFileSync("cut", ["-d ", "-f2", "/proc/loadavg"], { encoding: "utf8" }));
console.log(JSON.stringify({
  seconds, figures, "from the click to the first sound, ms": toFirst, "renderer's memory by the minute, MB": memory,
  "load of the machine": load, processor: cpus()[0].model, cores: cpus().length, chromium: browser.version(),
}, null, 1));
await browser.close();
await server.close();
