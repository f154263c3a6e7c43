// Runs the journeys: all files below studio/, real/ and registry/, or those whose path contains the given word.
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { run } from "node:test";
import { spec } from "node:test/reporters";

const folder = fileURLToPath(new URL(".", import.meta.url));
const wanted = process.argv[2] ?? "";
const files = ["studio", "real", "registry"]
  .flatMap((name) => {
    try {
      return readdirSync(`${folder}${name}`).map((file) => `${folder}${name}/${file}`);
    } catch {
      return [];
    }
  })
  .filter((file) => file.endsWith(".test.mjs") && file.slice(folder.length).includes(wanted))
  .sort();
if (files.length === 0) {
  console.error(`no journey is named \`${wanted}\``);
  process.exit(2);
}

// One browser at a time: each takes a processor. What a journey waits for has its own limit; this one ends a file that hangs, also
// on a machine that is busy with other things.
const stream = run({ files, concurrency: 1, timeout: 600_000 });
stream.on("test:fail", () => {
  process.exitCode = 1;
});
stream.compose(new spec()).pipe(process.stdout);
