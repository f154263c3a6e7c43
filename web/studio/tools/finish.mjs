// After `vite build`: writes `.gz` and `.br` beside the files of dist/ that compress, and fails when the first load of a
// page is over its budget. A first load is the shell, the page's own modules and their style sheets; what a page fetches
// later, on a click, does not count.
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import zlib from "node:zlib";

const BUDGET = 250_000;
const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const gzip = promisify(zlib.gzip);
const brotli = promisify(zlib.brotliCompress);

// `vite build` empties the folder, and git keeps it by this file.
await writeFile(join(dist, ".gitkeep"), "");

/** Bytes of each file after gzip, by its path below dist/. */
const sizes = new Map();

for (const entry of await readdir(dist, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/\.(js|css|svg)$/.test(entry.name)) continue;
  const path = join(entry.parentPath ?? entry.path, entry.name);
  const content = await readFile(path);
  const small = await gzip(content, { level: 9 });
  const options = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 11 } };
  await writeFile(`${path}.gz`, small);
  await writeFile(`${path}.br`, await brotli(content, options));
  sizes.set(path.slice(dist.length).replaceAll("\\", "/"), small.length);
}

const manifest = JSON.parse(await readFile(join(dist, ".vite/manifest.json"), "utf8"));

/** The files that a module needs before it runs. */
function needed(key, seen = new Set()) {
  if (seen.has(key)) return [];
  seen.add(key);
  const chunk = manifest[key];
  return [chunk.file, ...(chunk.css ?? []), ...(chunk.imports ?? []).flatMap((next) => needed(next, seen))];
}

/** Modules that a page fetches by itself when it opens, on a wide screen. */
const FETCHED = { "src/routes/SkillEditor.svelte": ["src/ui/skill/SkillForm.svelte"] };

const shell = needed("index.html");
const pages = Object.keys(manifest).filter((key) => key.startsWith("src/routes/"));
if (pages.length === 0) throw new Error("the manifest names no page; have the routes moved?");
const rows = pages.map((page) => {
  const files = new Set([...shell, ...needed(page), ...(FETCHED[page] ?? []).flatMap((key) => needed(key))]);
  const bytes = [...files].reduce((sum, file) => sum + (sizes.get(file) ?? 0), 0);
  return { page: page.slice("src/routes/".length).replace(/\.svelte$/, ""), bytes };
});
rows.sort((left, right) => right.bytes - left.bytes);

console.log("first load, JavaScript and styles after gzip:");
for (const { page, bytes } of rows) console.log(`  ${(bytes / 1000).toFixed(1).padStart(6)} KB  ${page}`);
const over = rows.filter(({ bytes }) => bytes > BUDGET);
if (over.length > 0) {
  console.error(`over the budget of ${BUDGET / 1000} KB: ${over.map(({ page }) => page).join(", ")}`);
  process.exit(1);
}
