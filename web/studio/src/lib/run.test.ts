// @vitest-environment happy-dom
import { expect, test } from "vitest";

import { RunView, withThought, type Step } from "./run.svelte";

const event = (name: string, data: unknown) => ({ id: undefined, event: name, data: JSON.stringify(data) });

test("a step's beginning and end are one row", () => {
  let steps: Step[] = [];
  const thoughts = [
    { type: "validation", status: "start" },
    { type: "validation", status: "complete", message: "All required inputs provided" },
    { type: "retrieval", status: "start", kb_id: "papers" },
    { type: "retrieval", status: "searching", query: "budget" },
    { type: "retrieval", status: "complete", kb_id: "papers", results_count: 5 },
    { type: "generation", status: "start" },
  ];
  thoughts.forEach((thought, at) => {
    steps = withThought(steps, thought, at);
  });
  expect(steps.map(({ type, status, message, about }) => [type, status, message, about])).toEqual([
    ["validation", "complete", "All required inputs provided", ""],
    ["retrieval", "complete", "5 chunks", "budget"],
    ["generation", "start", "", ""],
  ]);
  expect(steps.map(({ endedAt }) => endedAt)).toEqual([1, 4, undefined]);
});

test("a second skill is a second row", () => {
  const thoughts = ["start", "complete", "start"].map((status) => ({ type: "skill", status, skill: "a" }));
  const steps = thoughts.reduce<Step[]>((rows, thought, at) => withThought(rows, thought, at), []);
  expect(steps).toHaveLength(2);
});

test.each(["not json", "null", "[]", "7"])("skips data that is not an object: %s", (data) => {
  const run = new RunView();
  run.take({ id: undefined, event: "token", data });
  run.take({ id: undefined, event: "an event of a later server", data: "{}" });
  expect(run.output).toBe("");
});

test("keeps sources, warnings and usage", () => {
  const run = new RunView();
  run.take(event("citation", { sources: [{ doc_id: "a.pdf", chunk_index: 0, score: 1, text: "" }] }));
  run.take(event("warning", { message: "truncated" }));
  run.take(event("usage", { input_tokens: 1, output_tokens: 2 }));
  run.take(event("queued", { position: 3 }));
  expect(run.sources).toHaveLength(1);
  expect(run.warnings).toEqual(["truncated"]);
  expect(run.usage?.output_tokens).toBe(2);
  expect(run.queuePosition).toBe(3);
});
