import { describe, expect, test } from "vitest";

import { headingLevels, MAX_TEXT, parseMarkdown, type Block, type Inline } from "./markdown";

/** All links and all text of a tree. */
function gather(text: string): { links: string[]; text: string; kinds: Set<string> } {
  const found = { links: [] as string[], text: "", kinds: new Set<string>() };
  const inline = (part: Inline) => {
    found.kinds.add(part.kind);
    if (part.kind === "link") found.links.push(part.href);
    if ("text" in part) found.text += part.text;
    if ("children" in part) part.children.forEach(inline);
  };
  const block = (part: Block) => {
    found.kinds.add(part.kind);
    if (part.kind === "list") part.items.forEach((item) => item.children.forEach(block));
    else if (part.kind === "table") [...part.header, ...part.rows.flat()].flat().forEach(inline);
    else if (part.kind === "quote") part.children.forEach(block);
    else if (part.kind === "code") found.text += part.text;
    else if ("children" in part) part.children.forEach(inline);
  };
  parseMarkdown(text).forEach(({ block: part }) => block(part));
  return found;
}

describe("what an attacker writes", () => {
  test.each([
    "<script>alert(1)</script>",
    "a <img src=x onerror=alert(1)> b",
    "<svg/onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<a href='javascript:alert(1)'>x</a>",
    "<details open ontoggle=alert(1)>",
    "| <b onclick=alert(1)>x</b> |\n|-|\n| y |",
    "- <style>*{display:none}</style>",
  ])("markup stays text: %s", (text) => {
    const found = gather(text);
    expect(found.links).toEqual([]);
    expect(found.text).toMatch(/</);
  });

  test.each([
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:msgbox)",
    "[x](&#106;avascript:alert(1))",
    "![x](javascript:alert(1))",
    "[x](file:///etc/passwd)",
    "[x](/api/v1/auth/logout)",
    "<javascript:alert(1)>",
    "[x][y]\n\n[y]: javascript:alert(1)",
  ])("only web addresses are links: %s", (text) => {
    expect(gather(text).links).toEqual([]);
  });

  test("an image is a link, so that nothing is fetched", () => {
    expect(gather("![chart](https://example.com/p.png?secret=1)").links).toEqual([
      "https://example.com/p.png?secret=1",
    ]);
  });

  test.each([">".repeat(5_000) + " a", "- ".repeat(5_000) + "a", "*".repeat(5_000) + "a", "[".repeat(5_000)])(
    "deep nesting does not exhaust the stack",
    (text) => {
      expect(gather(text).text.length).toBeGreaterThan(0);
    },
  );

  test("a text over the limit is one block", () => {
    expect(parseMarkdown("# a\n".repeat(MAX_TEXT / 4 + 1))).toHaveLength(1);
  });
});

describe("citations", () => {
  const inlines = (text: string) => {
    const [first] = parseMarkdown(text);
    return first?.block.kind === "paragraph" ? first.block.children : [];
  };

  test("a number in brackets keeps the full stop after it", () => {
    expect(inlines("It is so [2]. And [1][3]")).toEqual([
      { kind: "text", text: "It is so " },
      { kind: "citation", number: 2, after: "." },
      { kind: "text", text: " And " },
      { kind: "citation", number: 1, after: "" },
      { kind: "citation", number: 3, after: "" },
    ]);
  });

  test("code and links keep their brackets", () => {
    expect(gather("`a[1]` [1](https://example.com)").links).toEqual(["https://example.com"]);
    expect(inlines("`a[1]`")).toEqual([{ kind: "code", text: "a[1]" }]);
  });
});

test("while text arrives, only its last block changes", () => {
  const before = parseMarkdown("# Title\n\nFirst paragraph.\n\nSec");
  const after = parseMarkdown("# Title\n\nFirst paragraph.\n\nSecond paragraph.", before);
  expect(after[0]).toBe(before[0]);
  expect(after[1]).toBe(before[1]);
  expect(after[2]).not.toBe(before[2]);
});

test("tables, tasks and code keep their parts", () => {
  const found = gather("| a | b |\n|:-|-:|\n| 1 | `2` |\n\n- [x] done\n\n```rust\nfn a() {}\n```\n\n~~x~~ **y** _z_");
  expect([...found.kinds].sort()).toEqual(
    ["code", "deleted", "emphasis", "list", "paragraph", "strong", "table", "text"].sort(),
  );
});

test.each([
  ["## a\n\n### b\n\n## c", [3, 4, 3]],
  ["#### deep\n\n# top\n\n### under it", [3, 3, 4]],
  ["# 1\n## 2\n### 3\n#### 4\n##### 5\n###### 6", [3, 4, 5, 6, 6, 6]],
])("headings of %j leave no level out", (text, levels) => {
  expect(headingLevels(parseMarkdown(text), 2).filter((level) => level !== undefined)).toEqual(levels);
});
