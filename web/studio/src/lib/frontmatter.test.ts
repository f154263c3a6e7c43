import { describe, expect, test } from "vitest";

import { applyEdit, readForm, setField, type FieldValue } from "./frontmatter";

const SKILL = `---
# Who wrote this knows why.
name: article-summary
description: 'Summarize: articles'   # short
inputs:
  - name: article
    type: textarea
    required: true
  - name: style
    default: concise
model:
  temperature: 0.3 # low
  max_tokens: 1000
x-unknown: [1, 2]
---

Summarize {{article}} in a {{style}} tone.
`;

function set(content: string, path: string[], value: FieldValue): string {
  const edit = setField(content, path, value);
  return edit === undefined ? content : applyEdit(content, edit);
}

describe("readForm", () => {
  test("reads the fields", () => {
    expect(readForm(SKILL)).toMatchObject({
      name: "article-summary",
      description: "Summarize: articles",
      temperature: "0.3",
      max_tokens: "1000",
      inputs: [
        { name: "article", type: "textarea", required: true },
        { name: "style", type: "text", required: false, default: "concise" },
      ],
    });
  });

  test.each(["no front matter", "---\nname: [\n---\n", "---\n- a\n---\n", "---\nname: a\n", "---\na: &a [*a]\n---\n"])(
    "has no form for %j",
    (content) => {
      expect(readForm(content)).toBeUndefined();
    },
  );

  test("an empty front matter is an empty form", () => {
    expect(readForm("---\n---\nbody")?.name).toBe("");
  });
});

describe("setField", () => {
  test("replaces one value and nothing else", () => {
    expect(set(SKILL, ["description"], "Short")).toBe(SKILL.replace("'Summarize: articles'", "Short"));
    expect(set(SKILL, ["model", "temperature"], 0.9)).toBe(SKILL.replace("0.3 #", "0.9 #"));
  });

  test.each([
    "yes: no",
    "# not a comment",
    "true",
    "0x10",
    "- a",
    "{{x}}",
    " space ",
    "'",
    '"',
    "line one\nline two",
    "ü🙂",
  ])("a value is read back as it was typed: %j", (value) => {
    expect(readForm(set(SKILL, ["description"], value))?.description).toBe(value);
    expect(readForm(set(SKILL, ["knowledge_base"], value))?.knowledge_base).toBe(value);
  });

  test("adds a field at the end of its map", () => {
    expect(set(SKILL, ["license"], "MIT")).toBe(
      SKILL.replace("x-unknown: [1, 2]\n", "x-unknown: [1, 2]\nlicense: MIT\n"),
    );
    const without = SKILL.replace("  max_tokens: 1000\n", "");
    expect(set(without, ["model", "max_tokens"], 50)).toBe(without.replace("# low\n", "# low\n  max_tokens: 50\n"));
  });

  test("removes a field with its line", () => {
    expect(set(SKILL, ["model", "max_tokens"], null)).toBe(SKILL.replace("  max_tokens: 1000\n", ""));
    expect(set(SKILL, ["license"], null)).toBe(SKILL);
  });

  test("writes the list of inputs again, and leaves what follows", () => {
    const [first, second] = readForm(SKILL)?.inputs ?? [];
    if (!first || !second) throw new Error("the form has two inputs");
    const changed = set(SKILL, ["inputs"], [second, { ...first, label: "Article text" }]);
    expect(readForm(changed)?.inputs.map(({ name }) => name)).toEqual(["style", "article"]);
    expect(changed).toContain("\nmodel:\n  temperature: 0.3 # low\n");
    expect(changed.startsWith("---\n# Who wrote this knows why.\n")).toBe(true);
  });

  test("a map on one line is kept whole", () => {
    const changed = set("---\nname: a\nmodel: {temperature: 1, max_tokens: 5}\n---\n", ["model", "temperature"], 2);
    expect(readForm(changed)).toMatchObject({ temperature: "2", max_tokens: "5" });
  });

  test("a folded description is replaced as a whole", () => {
    const content = "---\nname: a\ndescription: >\n  one\n  two\nlicense: MIT\n---\nbody\n";
    expect(set(content, ["description"], "three")).toBe("---\nname: a\ndescription: three\nlicense: MIT\n---\nbody\n");
  });

  test("a text without front matter gets one", () => {
    expect(set("Body\n", ["name"], "a")).toBe("---\nname: a\n---\n\nBody\n");
    expect(set("---\n---\nBody\n", ["name"], "a")).toBe("---\nname: a\n---\nBody\n");
  });

  test("text that does not parse is left alone", () => {
    expect(setField("---\nname: [\n---\n", ["name"], "a")).toBeUndefined();
  });
});
