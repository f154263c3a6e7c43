// @vitest-environment happy-dom
import { expect, test } from "vitest";

import { WorkflowRun } from "./workflow-run.svelte";

function after(...events: [string, object][]): WorkflowRun {
  const run = new WorkflowRun();
  for (const [event, data] of events) run.take({ id: undefined, event, data: JSON.stringify(data) });
  return run;
}

test("each node has its state, input and output", () => {
  const run = after(
    ["workflow_start", { execution_id: "e1" }],
    ["node_start", { node_id: "a", node_type: "start" }],
    ["node_complete", { node_id: "a", input: "x", output: { n: 1 } }],
    ["node_start", { node_id: "b" }],
    ["node_error", { node_id: "b", error: "no model" }],
    ["node_skipped", { node_id: "c" }],
    ["workflow_error", { execution_id: "e1", error: "no model" }],
  );
  expect(run.executionId).toBe("e1");
  expect(run.of("a")).toMatchObject({ status: "complete", input: "x", output: '{\n  "n": 1\n}' });
  expect(run.of("b")).toMatchObject({ status: "error", error: "no model" });
  expect(run.of("c").status).toBe("skipped");
  expect(run.of("never").status).toBe("idle");
  expect(run.error).toBe("no model");
});

test("a question marks its node", () => {
  const run = after(["node_start", { node_id: "a" }], ["approval", { id: "q", node_id: "a", skill: "s", tool: "t" }]);
  expect(run.of("a").status).toBe("approval");
  expect(run.questions).toHaveLength(1);
});

test("tokens of a node become its output when it is complete", () => {
  const run = after(
    ["node_start", { node_id: "a" }],
    ["token", { node_id: "a", content: "Hel" }],
    ["token", { node_id: "a", content: "lo" }],
    ["node_complete", { node_id: "a", output: null }],
  );
  expect(run.of("a").output).toBe("Hello");
});

test("a kept execution is shown as it ended", () => {
  const run = new WorkflowRun();
  run.load({
    id: "e",
    workflow_id: "w",
    revision: 1,
    status: "error",
    error: "failed",
    output: null,
    nodes: [{ node_id: "a", status: "complete", output: "x" }],
    can_resume: true,
    started_at: "",
    ended_at: "",
  });
  expect(run.of("a").output).toBe("x");
  expect(run.canResume).toBe(true);
  expect(run.state).toEqual({ name: "failed", message: "failed" });
});
