const fs = require("fs");
const { pathToFileURL } = require("url");

const [path, name] = process.argv.slice(1);
// Whatever the handler prints is talk; its result is what it returns.
console.log = console.info = console.error;
process.stdout.write = process.stderr.write.bind(process.stderr);
(async () => {
  const given = JSON.parse(fs.readFileSync(0, "utf8"));
  const module = await import(pathToFileURL(path));
  const handler = module[name] ?? module.default?.[name] ?? module.default;
  if (typeof handler !== "function") throw new Error(`${path} has no function ${name}`);
  // JavaScript has no arguments by name: a handler gets them as one object.
  const result = await handler(given);
  fs.writeSync(3, JSON.stringify(result ?? null));
})().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
