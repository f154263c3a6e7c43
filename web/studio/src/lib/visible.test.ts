import { expect, test } from "vitest";

import { visible } from "./visible";

test.each([
  ["plain text\nwith lines\t", "plain text\nwith lines\t"],
  ["rm\u202Efdp.exe", "rm\\u{202E}fdp.exe"],
  ["a\u200Bb\u2060c", "a\\u{200B}b\\u{2060}c"],
  ["\u001B[2J", "\\u{001B}[2J"],
  ["tag\u{E0041}", "tag\\u{E0041}"],
  ["Grüße 🙂", "Grüße 🙂"],
])("%j", (text, shown) => {
  expect(visible(text)).toBe(shown);
});
