const fs = require("fs");
const { relative } = require("path");
const { pathToFileURL } = require("url");

const [path, name, folder] = process.argv.slice(1);
// Whatever the handler prints is talk; its result is what it returns.
console.log = console.info = console.error;
process.stdout.write = process.stderr.write.bind(process.stderr);

function tell(text) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += fs.writeSync(3, bytes, at);
}

function fail(reason) {
  tell(JSON.stringify({ failed: reason }));
  process.exitCode = 1;
}

(async () => {
  const given = JSON.parse(fs.readFileSync(0, "utf8"));
  let result;
  try {
    const module = await import(pathToFileURL(path));
    const handler = module[name] ?? module.default?.[name] ?? module.default;
    if (typeof handler !== "function") {
      const all = { ...module.default, ...module };
      const functions = Object.keys(all).filter((key) => typeof all[key] === "function");
      const list = functions.join(", ") || "none";
      return fail(`has no function \`${name}\` in ${relative(folder, path)}; the functions there: ${list}`);
    }
    // JavaScript has no arguments by name: a handler gets them as one object.
    result = (await handler(given)) ?? null;
  } catch (error) {
    console.error(error);
    return fail(`raised ${error}`);
  }
  let text;
  try {
    text = JSON.stringify(result);
  } catch (error) {
    return fail(`returned what can't be JSON: ${error.message}`);
  }
  if (text === undefined) return fail(`returned what can't be JSON: a ${typeof result}`);
  tell(`{"returned":${text}}`);
})();
