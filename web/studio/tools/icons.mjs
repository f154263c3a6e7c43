// Writes web/shared/icons.svg, one sprite of the icons that web/shared/icons.txt names. With `--check` it only compares.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const shared = new URL("../../shared/", import.meta.url);
const icons = new URL("../node_modules/lucide-static/icons/", import.meta.url);

const names = (await readFile(new URL("icons.txt", shared), "utf8"))
  .split("\n")
  .map((line) => line.trim())
  .filter((line) => line !== "" && !line.startsWith("#"))
  .sort();

const repeated = names.find((name, index) => name === names[index + 1]);
if (repeated !== undefined) throw new Error(`icons.txt names \`${repeated}\` twice`);

const symbols = await Promise.all(
  names.map(async (name) => {
    const svg = await readFile(new URL(`${name}.svg`, icons), "utf8").catch(() => {
      throw new Error(`Lucide has no icon \`${name}\``);
    });
    const [, drawing] = /<svg[^>]*>([\s\S]*)<\/svg>/.exec(svg) ?? [];
    if (drawing === undefined) throw new Error(`\`${name}.svg\` is not an SVG file`);
    return `<symbol id="${name}" viewBox="0 0 24 24">${drawing.replace(/\s*\n\s*/g, "").trim()}</symbol>`;
  }),
);

const sprite = `<svg xmlns="http://www.w3.org/2000/svg">
<!-- Icons of Lucide, https://lucide.dev, ISC licence; generated from icons.txt by web/studio/tools/icons.mjs. -->
${symbols.join("\n")}
</svg>
`;

const target = new URL("icons.svg", shared);
if (process.argv.includes("--check")) {
  const kept = await readFile(target, "utf8").catch(() => "");
  if (kept !== sprite) {
    console.error(`${fileURLToPath(target)} is not what icons.txt asks for; run \`cargo xtask web\``);
    process.exit(1);
  }
} else {
  await writeFile(target, sprite);
}
