// Verdicts of Ajv: schemas and documents on standard input, true or false for each document.
const Ajv = require("ajv/dist/2020");
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
// The dialects allow types beside each other and formats without a name; everything else is an error.
const ajv = new Ajv({ strict: true, allowUnionTypes: true, strictTypes: false, strictRequired: false });
const validators = {};
for (const [name, schema] of Object.entries(given.schemas)) {
  validators[name] = ajv.compile(schema);
}
process.stdout.write(JSON.stringify(given.documents.map(([name, document]) => validators[name](document))));
