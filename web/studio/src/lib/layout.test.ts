import { expect, test } from "vitest";

import { tidy } from "./layout";

const SIZE = { width: 200, height: 80 };

function place(names: string, edges: string) {
  const nodes = new Map(names.split("").map((name) => [name, SIZE]));
  return tidy(
    nodes,
    edges.split(" ").map(([source = "", target = ""]) => ({ source, target })),
  );
}

test("nodes go from left to right and never overlap", () => {
  const { positions } = place("abcde", "ab ac bd cd de");
  const boxes = [...positions.values()];
  for (const [index, one] of boxes.entries()) {
    for (const other of boxes.slice(index + 1)) {
      expect(Math.abs(one.x - other.x) >= SIZE.width || Math.abs(one.y - other.y) >= SIZE.height).toBe(true);
    }
  }
  const x = (name: string) => positions.get(name)?.x ?? NaN;
  expect(x("a") < x("b") && x("b") < x("d") && x("d") < x("e")).toBe(true);
});

test("nodes of a vertical workflow go from top to bottom", () => {
  const nodes = new Map(["a", "b"].map((name) => [name, SIZE]));
  const { positions } = tidy(nodes, [{ source: "a", target: "b" }], true);
  expect((positions.get("b")?.y ?? NaN) - (positions.get("a")?.y ?? NaN)).toBeGreaterThanOrEqual(SIZE.height);
});

test("an edge over several columns has bends, so that it goes around what lies between", () => {
  const { bends } = place("abcd", "ab bc cd ad");
  expect([...bends.keys()]).toEqual([3]);
});

test("edges to nodes that do not exist are left out", () => {
  expect(place("ab", "ab ax").positions.size).toBe(2);
});
