/**
 * The front matter of a skill as a form: reads its fields, and changes one at a time. A change replaces the bytes of that
 * field; comments, order and everything else stay as the author wrote them.
 */
import {
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  stringify,
  type Document,
  type Pair,
  type Scalar,
  type YAMLMap,
} from "yaml";

/** A replacement in the text, by UTF-16 offsets. */
export interface TextEdit {
  from: number;
  to: number;
  text: string;
}

export interface FormInput {
  name: string;
  label: string;
  type: "text" | "textarea";
  required: boolean;
  default: string;
  description: string;
}

export interface Form {
  name: string;
  description: string;
  license: string;
  knowledge_base: string;
  temperature: string;
  max_tokens: string;
  tags: string;
  inputs: FormInput[];
}

interface Parts {
  /** Offset of the YAML text. */
  start: number;
  yaml: string;
  document: Document.Parsed;
}

const FENCE = /^---[ \t]*\r?\n/;

function parts(content: string): Parts | undefined {
  const opening = FENCE.exec(content);
  if (opening === null) return undefined;
  const start = opening[0].length;
  const closing = /^---[ \t]*(?:\r?\n|$)/m.exec(content.slice(start));
  if (closing === null) return undefined;
  const yaml = content.slice(start, start + closing.index);
  const document = parseDocument(yaml, { keepSourceTokens: true, uniqueKeys: false, maxAliasCount: 0 } as object);
  if (document.errors.length > 0) return undefined;
  if (document.contents !== null && !isMap(document.contents)) return undefined;
  return { start, yaml, document };
}

function asText(value: unknown): string {
  return typeof value === "string"
    ? value
    : typeof value === "number" || typeof value === "boolean"
      ? String(value)
      : "";
}

/** Undefined while the front matter does not parse; the form then asks to fix the text first. */
export function readForm(content: string): Form | undefined {
  const found = parts(content);
  if (found === undefined) return undefined;
  let fields: Record<string, unknown>;
  try {
    fields = (found.document.toJS({ maxAliasCount: 0 }) ?? {}) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const model = record(fields["model"]);
  const inputs = Array.isArray(fields["inputs"]) ? fields["inputs"] : [];
  const tags = record(fields["metadata"])["tags"] ?? fields["tags"];
  return {
    name: asText(fields["name"]),
    description: asText(fields["description"]),
    license: asText(fields["license"]),
    knowledge_base: asText(fields["knowledge_base"]),
    temperature: asText(model["temperature"]),
    max_tokens: asText(model["max_tokens"]),
    tags: Array.isArray(tags) ? tags.map(asText).join(", ") : asText(tags),
    inputs: inputs.map((input) => {
      const of = record(input);
      return {
        name: asText(of["name"]),
        label: asText(of["label"]),
        type: of["type"] === "textarea" ? "textarea" : "text",
        required: of["required"] === true,
        default: asText(of["default"]),
        description: asText(of["description"]),
      };
    }),
  };
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

export type FieldValue = string | number | boolean | null | FormInput[] | string[];

/** The edit that gives the field at `path` this value, or removes it when the value is null. */
export function setField(content: string, path: readonly string[], value: FieldValue): TextEdit | undefined {
  const found = parts(content);
  if (found === undefined) {
    // A file without front matter gets one.
    if (FENCE.test(content) || value === null) return undefined;
    return { from: 0, to: 0, text: `---\n${entry(path, value, "")}---\n\n` };
  }
  const { document, yaml } = found;
  const at = (offset: number) => found.start + offset;
  let map = document.contents as YAMLMap | null;
  for (let depth = 0; depth < path.length; depth++) {
    const key = path[depth] ?? "";
    const pair = map === null ? undefined : pairOf(map, key);
    const isLast = depth === path.length - 1;
    if (pair === undefined) {
      if (value === null) return undefined;
      const indent = map === null || depth === 0 ? "" : indentOf(yaml, map);
      const end = map === null ? yaml.length : endOfLine(yaml, map.range?.[1] ?? yaml.length);
      const text = entry(path.slice(depth), value, indent);
      const lead = end > 0 && yaml[end - 1] !== "\n" ? "\n" : "";
      return { from: at(end), to: at(end), text: lead + text };
    }
    if (!isLast && isMap(pair.value) && !(pair.value as YAMLMap).flow) {
      map = pair.value as YAMLMap;
      continue;
    }
    if (isLast && isScalar(pair.value) && isOneLine(yaml, pair.value) && isPlainValue(value)) {
      const [from = 0, to = 0] = pair.value.range ?? [];
      if (to > from) return { from: at(from), to: at(to), text: scalarText(value) };
    }
    // Everything else is written again as a whole entry.
    const start = startOfLine(yaml, (pair.key as Scalar).range?.[0] ?? 0);
    const end = endOfEntry(yaml, pair);
    const indent = /^[ \t]*/.exec(yaml.slice(start))?.[0] ?? "";
    const kept = !isLast && isMap(pair.value) ? merged(pair.value as YAMLMap, path.slice(depth + 1), value) : value;
    return { from: at(start), to: at(end), text: kept === null ? "" : entry([key], kept as FieldValue, indent) };
  }
  return undefined;
}

function isPlainValue(value: FieldValue): value is string | number | boolean {
  return typeof value === "string" ? !value.includes("\n") : typeof value === "number" || typeof value === "boolean";
}

function pairOf(map: YAMLMap, key: string): Pair | undefined {
  return map.items.find((pair) => isScalar(pair.key) && pair.key.value === key);
}

function isOneLine(yaml: string, scalar: Scalar): boolean {
  const [from = 0, to = 0] = scalar.range ?? [];
  return !yaml.slice(from, to).includes("\n") && scalar.type !== "BLOCK_FOLDED" && scalar.type !== "BLOCK_LITERAL";
}

function merged(map: YAMLMap, path: readonly string[], value: FieldValue): unknown {
  const whole = map.toJSON() as Record<string, unknown>;
  const [key = ""] = path;
  if (value === null) Reflect.deleteProperty(whole, key);
  else whole[key] = value;
  return whole;
}

function startOfLine(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

function endOfLine(text: string, offset: number): number {
  // A block value ends behind its line break already.
  if (offset > 0 && text[offset - 1] === "\n") return offset;
  const end = text.indexOf("\n", offset);
  return end < 0 ? text.length : end + 1;
}

function endOfEntry(yaml: string, pair: Pair): number {
  const value = pair.value as { range?: [number, number, number] | null } | null;
  const end = value?.range?.[1] ?? (pair.key as Scalar).range?.[1] ?? 0;
  return endOfLine(yaml, end);
}

function indentOf(yaml: string, map: YAMLMap): string {
  const first = map.items[0]?.key as Scalar | undefined;
  const offset = first?.range?.[0] ?? 0;
  return yaml.slice(startOfLine(yaml, offset), offset);
}

function entry(path: readonly string[], value: FieldValue | object, indent: string): string {
  let whole: unknown = Array.isArray(value) ? value.map(withoutDefaults) : value;
  for (const key of [...path].reverse()) whole = { [key]: whole };
  const text = stringify(whole, { lineWidth: 0 });
  return indent === "" ? text : text.replace(/^(?=.)/gm, indent);
}

/** What equals its default is not written. */
function withoutDefaults(input: FormInput | string): unknown {
  if (typeof input === "string") return input;
  const { name, label, type, required, default: value, description } = input;
  return {
    name,
    ...(label !== "" && label !== name && { label }),
    ...(type !== "text" && { type }),
    ...(required && { required }),
    ...(value !== "" && { default: value }),
    ...(description !== "" && { description }),
  };
}

/** A value on one line, quoted where YAML would read something else. */
function scalarText(value: string | number | boolean): string {
  return stringify(value, { lineWidth: 0, defaultStringType: "PLAIN", blockQuote: false }).trimEnd();
}

/** Edits of a sequence are a new list; whether the text holds one that can be written back. */
export function canEditInputs(content: string): boolean {
  const found = parts(content);
  const inputs =
    found?.document.contents && isMap(found.document.contents) ? pairOf(found.document.contents, "inputs") : undefined;
  return inputs === undefined || isSeq(inputs.value) || inputs.value === null;
}

export function applyEdit(content: string, edit: TextEdit): string {
  return content.slice(0, edit.from) + edit.text + content.slice(edit.to);
}
