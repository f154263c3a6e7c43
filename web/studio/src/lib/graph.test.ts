import { describe, expect, test } from "vitest";

import type { Graph } from "../api/types";
import { freeHandle, freeId, insert, inOrder, isVertical, isWhole, parents, refusal, rename, without } from "./graph";

/** `a>b c>d`: nodes by their first letter, `s` start and `e` end. */
function graph(edges: string): Graph {
  const pairs = edges.split(" ").map((pair) => pair.split(">"));
  const ids = [...new Set(pairs.flat())];
  const type = (id: string) => ({ s: "start", e: "end" })[id[0] ?? ""] ?? "llm";
  return {
    nodes: ids.map((id) => ({ id, type: type(id), position: { x: 0, y: 0 }, data: {} })),
    edges: pairs.flatMap(([source = "", target]) => (target === undefined ? [] : [{ source, target }])),
  };
}

describe("refusal", () => {
  test.each([
    ["s>a a>b b>e", "a", "a", "itself"],
    ["s>a a>b b>e", "a", "b", "exists"],
    ["s>a a>b b>e", "b", "a", "cycle"],
    ["s>a a>b b>e", "a", "s", "into-start"],
    ["s>a a>b b>e", "e", "a", "from-end"],
    ["s>a a>b b>e", "s", "b", undefined],
  ])("%s: %s to %s", (edges, source, target, reason) => {
    expect(refusal(graph(edges), source, target, null)).toBe(reason);
  });

  test("both sides of a condition may lead to one node", () => {
    const both = graph("a>b");
    both.edges = [{ source: "a", target: "b", sourceHandle: "true" }];
    expect(refusal(both, "a", "b", "true")).toBe("exists");
    expect(refusal(both, "a", "b", "false")).toBeUndefined();
  });
});

test("steps come after what they need, at unequal depths and in cycles", () => {
  const ids = (edges: string) => inOrder(graph(edges)).map(({ id }) => id);
  expect(ids("a>d s>a s>b b>c c>d d>e")).toEqual(["s", "a", "b", "c", "d", "e"]);
  expect(ids("s>a b>c c>b")).toEqual(["s", "a", "b", "c"]);
});

test("parents are named once", () => {
  expect(parents(graph("a>c b>c a>c"), "c")).toEqual(["a", "b"]);
});

test("a free id counts on", () => {
  expect(freeId("llm", [])).toBe("llm");
  expect(freeId("llm", ["llm", "llm-2"])).toBe("llm-3");
});

test("a rename changes edges, mappings and templates, and nothing else", () => {
  const before: Graph = {
    nodes: [
      { id: "a", type: "start", position: { x: 0, y: 0 }, data: {} },
      {
        id: "b",
        type: "skill",
        position: { x: 0, y: 0 },
        data: { inputMappings: { x: "a", y: "{{a.output}} a {{ab.output}}" }, skillName: "a", url: "{{ a.x }}" },
      },
    ],
    edges: [{ source: "a", target: "b" }],
  };
  const after = rename(before, "a", "begin");
  expect(after.nodes.map(({ id }) => id)).toEqual(["begin", "b"]);
  expect(after.edges).toEqual([{ source: "begin", target: "b" }]);
  expect(after.nodes[1]?.data).toEqual({
    inputMappings: { x: "begin", y: "{{begin.output}} a {{ab.output}}" },
    skillName: "a",
    url: "{{ begin.x }}",
  });
});

test("a node that is added after another one is connected and covers none", () => {
  let made = insert({ nodes: [], edges: [] }, "start", undefined);
  made = insert(made.graph, "llm", "start");
  made = insert(made.graph, "llm", "start");
  expect(made.graph.edges.map(({ source, target }) => `${source}>${target}`)).toEqual(["start>llm", "start>llm-2"]);
  expect(new Set(made.graph.nodes.map(({ position }) => `${position.x},${position.y}`)).size).toBe(3);
});

test("the second edge of a condition takes the other way", () => {
  const made = insert({ nodes: [], edges: [] }, "condition", undefined);
  expect(freeHandle(made.graph, "condition")).toBe("true");
  const next = insert(made.graph, "end", "condition");
  expect(next.graph.edges[0]?.sourceHandle).toBe("true");
  expect(freeHandle(next.graph, "condition")).toBe("false");
});

test("deleting a node deletes its edges", () => {
  expect(without(graph("a>b b>c a>c"), new Set(["b"])).edges).toEqual([{ source: "a", target: "c" }]);
});

test.each([
  [{ nodes: [], edges: [] }, true],
  [{ nodes: [{ id: "a", type: "start" }], edges: [] }, true],
  [{ nodes: [{ id: "a" }], edges: [] }, false],
  [{ nodes: [] }, false],
  [null, false],
])("%j is whole: %s", (value, whole) => {
  expect(isWhole(value)).toBe(whole);
});

test("a graph is vertical when most of its edges go down", () => {
  const node = (id: string, x: number, y: number) => ({ id, type: "llm", position: { x, y }, data: {} });
  const edges = [
    { source: "a", target: "b" },
    { source: "b", target: "c" },
  ];
  expect(isVertical({ nodes: [node("a", 0, 0), node("b", 0, 120), node("c", 160, 240)], edges })).toBe(true);
  expect(isVertical({ nodes: [node("a", 0, 80), node("b", 280, 0), node("c", 560, 80)], edges })).toBe(false);
  expect(isVertical({ nodes: [], edges: [] })).toBe(false);
});

test("a step of a vertical graph is added below", () => {
  const node = (id: string, y: number) => ({ id, type: "llm", position: { x: 0, y }, data: {} });
  const made = insert({ nodes: [node("a", 0), node("b", 120)], edges: [{ source: "a", target: "b" }] }, "llm", "b");
  const added = made.graph.nodes.find(({ id }) => id === made.id);
  expect(added?.position).toEqual({ x: 0, y: 260 });
});
