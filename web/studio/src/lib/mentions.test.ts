import { expect, test } from "vitest";

import { complete, mentioned, typing, without } from "./mentions";

test.each([
  ["@a-b text", ["a-b"]],
  ["@a @b @a rest @c", ["a", "b"]],
  ["@a", ["a"]],
  ["@a\nlines", ["a"]],
  ["text @a", []],
  ["mail@a.example", []],
  ["@A text", []],
  ["@a @b @c @d @e @f @g", ["a", "b", "c", "d", "e", "f"]],
])("%j begins with %j", (message, names) => {
  expect(mentioned(message)).toEqual(names);
});

test("completion replaces what was typed after the @", () => {
  expect(typing("hello @ar", 9)).toEqual({ from: 6, prefix: "ar" });
  expect(typing("a@ar", 4)).toBeUndefined();
  expect(complete("@ar more", 3, "article-summary")).toEqual({ message: "@article-summary more", cursor: 17 });
});

test("a skill is taken out of the message", () => {
  expect(without("@a @b text", "a")).toBe("@b text");
  expect(without("@ab text", "a")).toBe("@ab text");
});
