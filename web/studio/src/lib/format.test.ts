import { expect, test } from "vitest";

import { ago, bytes, duration, money, plural, show } from "./format";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.0 KB"],
  [51_200, "51 KB"],
  [999_499, "999 KB"],
  [999_500, "1.0 MB"],
  [12_345_678, "12.3 MB"],
])("%i bytes are %s", (size, shown) => {
  expect(bytes(size)).toBe(shown);
});

test.each([
  [20, "0.02 s"],
  [1_800, "1.8 s"],
  [59_960, "1 min 00 s"],
  [125_000, "2 min 05 s"],
])("%i ms are %s", (milliseconds, shown) => {
  expect(duration(milliseconds)).toBe(shown);
});

test.each([
  [0, "$0.00"],
  [1.5, "$1.50"],
  [0.0004, "$0.00040"],
  [0.0000021, "$0.0000021"],
])("%d dollars are %s", (amount, shown) => {
  expect(money(amount, "USD")).toBe(shown);
});

test("an unknown currency is written behind the amount", () => {
  expect(money(2, "credits")).toBe("2.00 credits");
});

test("times are told from now", () => {
  const now = Date.parse("2026-11-19T12:00:00Z");
  expect(ago("2026-11-19T11:59:40Z", now)).toBe("now");
  expect(ago("2026-11-19T11:57:00Z", now)).toBe("3 minutes ago");
  expect(ago("2026-11-18T11:00:00Z", now)).toBe("yesterday");
  expect(ago("not a time", now)).toBe("not a time");
});

test("counts have their noun", () => {
  expect([0, 1, 1234].map((number) => plural(number, "chunk"))).toEqual(["0 chunks", "1 chunk", "1,234 chunks"]);
});

test("values of nodes are shown as they are", () => {
  expect([show("a"), show(undefined), show({ a: 1 })]).toEqual(["a", "", '{\n  "a": 1\n}']);
});
