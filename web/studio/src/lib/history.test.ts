import { expect, test } from "vitest";

import { History } from "./history";

test("undo and redo go through the same states", () => {
  const history = new History<number>();
  history.record(1);
  history.record(2);
  expect(history.undo(3)).toBe(2);
  expect(history.undo(2)).toBe(1);
  expect(history.undo(1)).toBeUndefined();
  expect(history.redo(1)).toBe(2);
  expect(history.redo(2)).toBe(3);
  expect(history.redo(3)).toBeUndefined();
});

test("changes of one kind within half a second are one step", () => {
  const history = new History<string>();
  history.record("a", "move", 0);
  history.record("b", "move", 400);
  history.record("c", "move", 800);
  history.record("d", "move", 1400);
  expect(history.undo("e")).toBe("d");
  expect(history.undo("d")).toBe("a");
  expect(history.canUndo).toBe(false);
});

test("an undo ends a step, and a change forgets what was undone", () => {
  const history = new History<string>();
  history.record("a", "move", 0);
  history.undo("b");
  history.record("a", "move", 1);
  expect(history.canUndo).toBe(true);
  expect(history.canRedo).toBe(false);
});

test("keeps the latest 200 steps", () => {
  const history = new History<number>();
  for (let step = 0; step < 300; step++) history.record(step);
  let oldest: number | undefined;
  for (let state = history.undo(300); state !== undefined; state = history.undo(state)) oldest = state;
  expect(oldest).toBe(100);
});
