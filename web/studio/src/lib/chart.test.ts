import { expect, test } from "vitest";

import { days, niceTop, shape } from "./chart";

test.each([
  [0, 1],
  [1, 1],
  [3, 5],
  [7, 10],
  [1234, 2000],
  [0.0004, 0.0005],
])("the axis for %d ends at %d", (most, top) => {
  expect(niceTop(most)).toBeCloseTo(top, 10);
});

test("all points lie inside the picture", () => {
  const { paths, width, height } = shape([{ name: "a", values: [0, 5, 3] }]);
  const numbers = [...(paths[0] ?? "").matchAll(/([\d.]+) ([\d.]+)/g)];
  expect(numbers).toHaveLength(3);
  for (const [, x, y] of numbers) {
    expect(Number(x)).toBeLessThanOrEqual(width);
    expect(Number(y)).toBeLessThanOrEqual(height);
  }
});

test("a chart of one day and of none has no NaN", () => {
  expect(JSON.stringify(shape([{ name: "a", values: [3] }]))).not.toMatch(/null|NaN/);
  expect(shape([{ name: "a", values: [] }]).paths).toEqual([""]);
});

test("days include both ends, over the end of a month", () => {
  expect(days("2026-02-27", "2026-03-01")).toEqual(["2026-02-27", "2026-02-28", "2026-03-01"]);
});

test.each([1, 2, 5, 10, 20, 50, 1000])("an axis of counts up to %d has whole numbers", (most) => {
  const { ticks } = shape([{ name: "a", values: [most] }], true);
  expect(ticks.length).toBeGreaterThan(1);
  expect(ticks.every(({ value }) => Number.isInteger(value))).toBe(true);
});
