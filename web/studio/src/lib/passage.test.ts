import { expect, test } from "vitest";

import { marked, placeOf } from "./passage";

const DOCUMENT = "One.\n\nThe deficit  was\n3.2 percent.\n\nThe deficit grew.";

test("the named offsets win while they hold the passage", () => {
  const passage = { text: "The deficit grew.", start: 37, end: 54 };
  expect(placeOf(DOCUMENT, passage)).toEqual({ from: 37, to: 54 });
  expect(placeOf(`Longer. ${DOCUMENT}`, passage)).toEqual({ from: 45, to: 62 });
});

test("offsets are bytes, and the second of two equal passages is found", () => {
  const document = "Grüße. 🙂 Same.\n\nSame.";
  expect(placeOf(document, { text: "Same.", start: 21, end: 26 })).toEqual({ from: 17, to: 22 });
});

test("white space may differ", () => {
  expect(placeOf(DOCUMENT, { text: "The deficit was 3.2 percent." })).toEqual({ from: 6, to: 35 });
});

test("a passage that is gone is not found", () => {
  expect(placeOf(DOCUMENT, { text: "The surplus" })).toBeUndefined();
  expect(placeOf(DOCUMENT, { text: " " })).toBeUndefined();
});

test("ranges that overlap are joined, and ranges outside are cut", () => {
  const parts = marked("abcdef", [
    [4, 99],
    [1, 3],
    [2, 4],
  ]);
  expect(parts.filter(({ isMarked }) => isMarked).map(({ text }) => text)).toEqual(["bc", "d", "ef"]);
  expect(parts.map(({ text }) => text).join("")).toBe("abcdef");
});
