import { expect, test } from "vitest";

import type { ChatMessage } from "../api/types";
import { newestLeaf, pathTo, siblings } from "./branches";

const message = (id: string, parent_id: string | null): ChatMessage => ({
  id,
  parent_id,
  role: id.startsWith("u") ? "user" : "assistant",
  content: id,
  created_at: "",
});
const MESSAGES = [
  message("u1", null),
  message("a1", "u1"),
  message("u2", "a1"),
  message("a2", "u2"),
  message("u2b", "a1"),
  message("a2b", "u2b"),
  message("a2c", "u2b"),
];
const ids = (messages: ChatMessage[]) => messages.map(({ id }) => id).join(" ");

test("a branch is read from its end", () => {
  expect(ids(pathTo(MESSAGES, "a2"))).toBe("u1 a1 u2 a2");
  expect(ids(pathTo(MESSAGES, "a2c"))).toBe("u1 a1 u2b a2c");
  expect(ids(pathTo(MESSAGES, null))).toBe("");
  expect(ids(pathTo([message("a", "b"), message("b", "a")], "a"))).toBe("b a");
});

test("edits and retries are siblings", () => {
  const of = (id: string) => {
    const found = MESSAGES.find((one) => one.id === id);
    return found ? ids(siblings(MESSAGES, found)) : "";
  };
  expect([of("u2"), of("a2b"), of("u1")]).toEqual(["u2 u2b", "a2b a2c", "u1"]);
});

test("another version continues with its newest answer", () => {
  expect(newestLeaf(MESSAGES, "u2b")).toBe("a2c");
  expect(newestLeaf(MESSAGES, "u1")).toBe("a2c");
  expect(newestLeaf(MESSAGES, "a2")).toBe("a2");
});
