/** Workflows as the canvas and the step list see them. Everything here is pure. */
import type { Graph, GraphEdge, GraphNode } from "../api/types";

export const NODE_TYPES = ["start", "llm", "skill", "knowledge", "condition", "http", "code", "end"] as const;
export type NodeType = (typeof NODE_TYPES)[number];

export const ICONS: Record<NodeType, string> = {
  start: "circle-play",
  llm: "bot",
  skill: "book-open",
  knowledge: "search",
  condition: "split",
  http: "globe",
  code: "code",
  end: "circle-stop",
};

export function isNodeType(type: string): type is NodeType {
  return (NODE_TYPES as readonly string[]).includes(type);
}

/** What a new node begins with. */
export function initialData(type: NodeType): Record<string, unknown> {
  switch (type) {
    case "start":
      return { inputVariable: "input" };
    case "llm":
      return { systemPrompt: "", temperature: 0.7 };
    case "skill":
      return { skillName: "", inputMappings: {} };
    case "knowledge":
      return { knowledgeBaseId: "" };
    case "condition":
      return { expression: "" };
    case "http":
      return { method: "GET", url: "", timeoutSeconds: 10 };
    case "code":
      return { code: "", timeoutSeconds: 10, memoryLimitMb: 128 };
    case "end":
      return { outputVariable: "" };
  }
}

/** `draft`, `draft-2`, `draft-3`: the first that is free. */
export function freeId(base: string, taken: Iterable<string>): string {
  const used = new Set(taken);
  if (!used.has(base)) return base;
  let number = 2;
  while (used.has(`${base}-${number}`)) number++;
  return `${base}-${number}`;
}

export function edgeId(edge: GraphEdge, index: number): string {
  return edge.id ?? `${edge.source}-${edge.sourceHandle ?? ""}-${edge.target}-${index}`;
}

export function title(node: GraphNode): string {
  const { label } = node.data;
  if (typeof node.label === "string" && node.label !== "") return node.label;
  return typeof label === "string" && label !== "" ? label : node.id;
}

/** The one detail that tells nodes of a type apart. */
export function detail(node: GraphNode): string {
  const member: Partial<Record<string, string>> = {
    start: "inputVariable",
    llm: "model",
    skill: "skillName",
    knowledge: "knowledgeBaseId",
    condition: "expression",
    http: "url",
    end: "outputVariable",
  };
  const name = member[node.type];
  const value = name === undefined ? undefined : node.data[name];
  return typeof value === "string" ? value : "";
}

/** Why an edge can't be drawn, or undefined when it can. */
export type Refusal = "itself" | "exists" | "cycle" | "into-start" | "from-end";

export function refusal(
  graph: Graph,
  source: string,
  target: string,
  sourceHandle: string | null,
): Refusal | undefined {
  if (source === target) return "itself";
  const type = (id: string) => graph.nodes.find((node) => node.id === id)?.type;
  if (type(target) === "start") return "into-start";
  if (type(source) === "end") return "from-end";
  const same = graph.edges.some(
    (edge) => edge.source === source && edge.target === target && (edge.sourceHandle ?? null) === sourceHandle,
  );
  if (same) return "exists";
  return reaches(graph, target, source) ? "cycle" : undefined;
}

function reaches(graph: Graph, from: string, to: string): boolean {
  const seen = new Set<string>();
  const open = [from];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === to) return true;
    if (seen.has(id)) continue;
    seen.add(id);
    for (const edge of graph.edges) if (edge.source === id) open.push(edge.target);
  }
  return false;
}

/** Nodes in an order in which each comes after what it needs; nodes of a cycle come last. */
export function inOrder(graph: Graph): GraphNode[] {
  const waiting = new Map(graph.nodes.map((node) => [node.id, 0]));
  for (const edge of graph.edges) {
    if (waiting.has(edge.source)) waiting.set(edge.target, (waiting.get(edge.target) ?? 0) + 1);
  }
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  const ready = graph.nodes.filter((node) => waiting.get(node.id) === 0);
  const order: GraphNode[] = [];
  for (let node = ready.shift(); node !== undefined; node = ready.shift()) {
    order.push(node);
    byId.delete(node.id);
    for (const edge of graph.edges) {
      if (edge.source !== node.id) continue;
      const left = (waiting.get(edge.target) ?? 0) - 1;
      waiting.set(edge.target, left);
      const next = byId.get(edge.target);
      if (left === 0 && next) ready.push(next);
    }
  }
  return [...order, ...byId.values()];
}

export function parents(graph: Graph, id: string): string[] {
  return [...new Set(graph.edges.filter((edge) => edge.target === id).map((edge) => edge.source))];
}

/** A plain copy, which later changes of either side don't reach. */
export function copy(graph: Graph): Graph {
  return structuredClone(graph);
}

/** Whether two graphs are saved as the same text. */
export function same(one: Graph, other: Graph): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Another id for a node, with every reference to it in edges, mappings and templates. */
export function rename(graph: Graph, from: string, to: string): Graph {
  const reference = new RegExp(`(\\{\\{\\s*)${from.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?=[\\s.}])`, "g");
  const inValue = (value: unknown, isReference: boolean): unknown => {
    if (typeof value === "string") return isReference && value === from ? to : value.replace(reference, `$1${to}`);
    if (Array.isArray(value)) return value.map((item) => inValue(item, false));
    if (typeof value === "object" && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inValue(item, isReference)]));
    }
    return value;
  };
  // A mapping or a result that is a node's id means this node; other texts only do so in braces.
  const inData = (data: Record<string, unknown>) =>
    Object.fromEntries(
      Object.entries(data).map(([key, value]) => [
        key,
        inValue(value, key === "inputMappings" || key === "outputVariable"),
      ]),
    );
  return {
    ...graph,
    nodes: graph.nodes.map((node) => ({ ...node, id: node.id === from ? to : node.id, data: inData(node.data) })),
    edges: graph.edges.map((edge) => ({
      ...edge,
      source: edge.source === from ? to : edge.source,
      target: edge.target === from ? to : edge.target,
    })),
  };
}

export function without(graph: Graph, nodes: ReadonlySet<string>, edges: ReadonlySet<string> = new Set()): Graph {
  return {
    ...graph,
    nodes: graph.nodes.filter(({ id }) => !nodes.has(id)),
    edges: graph.edges.filter(
      (edge, index) => !nodes.has(edge.source) && !nodes.has(edge.target) && !edges.has(edgeId(edge, index)),
    ),
  };
}

export function connect(graph: Graph, source: string, target: string, sourceHandle: string | null): Graph {
  const taken = graph.edges.map(edgeId);
  const edge: GraphEdge = { id: freeId(`${source}-${target}`, taken), source, target };
  if (sourceHandle !== null) edge.sourceHandle = sourceHandle;
  return { ...graph, edges: [...graph.edges, edge] };
}

/** The handle that a new edge from a node should use: a condition has one for each way. */
export function freeHandle(graph: Graph, source: string): string | null {
  if (graph.nodes.find(({ id }) => id === source)?.type !== "condition") return null;
  const used = graph.edges.filter((edge) => edge.source === source).map((edge) => edge.sourceHandle);
  return used.includes("true") ? "false" : "true";
}

/** Whether most steps follow one another downwards; then connections leave below and arrive above. */
export function isVertical(graph: Graph): boolean {
  const at = new Map(graph.nodes.map(({ id, position }) => [id, position]));
  let down = 0;
  for (const { source, target } of graph.edges) {
    const [from, to] = [at.get(source), at.get(target)];
    if (!from || !to) continue;
    down += to.y - from.y > Math.abs(to.x - from.x) / 2 ? 1 : -1;
  }
  return down > 0;
}

const STEP = { x: 260, y: 140 };

/** Adds a node, after another one when there is one. */
export function insert(
  graph: Graph,
  type: NodeType,
  after: string | undefined,
  position?: { x: number; y: number },
): { graph: Graph; id: string } {
  const id = freeId(
    type,
    graph.nodes.map((node) => node.id),
  );
  const source = graph.nodes.find((node) => node.id === after);
  const last = graph.nodes.at(-1);
  let at = position ?? {
    x: (source ?? last)?.position.x ?? 0,
    y: (source ?? last)?.position.y ?? 0,
  };
  const [ahead, aside] = isVertical(graph)
    ? [
        { x: 0, y: STEP.y },
        { x: STEP.x, y: 0 },
      ]
    : [
        { x: STEP.x, y: 0 },
        { x: 0, y: STEP.y },
      ];
  if (position === undefined && (source ?? last)) at = { x: at.x + ahead.x, y: at.y + ahead.y };
  while (graph.nodes.some((node) => Math.abs(node.position.x - at.x) < 40 && Math.abs(node.position.y - at.y) < 40)) {
    at = { x: at.x + aside.x, y: at.y + aside.y };
  }
  const node: GraphNode = { id, type, position: at, data: initialData(type) };
  const grown: Graph = { ...graph, nodes: [...graph.nodes, node] };
  const handle = after === undefined ? null : freeHandle(graph, after);
  const isAllowed = after !== undefined && refusal(grown, after, id, handle) === undefined;
  return { graph: isAllowed ? connect(grown, after, id, handle) : grown, id };
}

export function duplicate(graph: Graph, ids: ReadonlySet<string>): { graph: Graph; ids: Set<string> } {
  const taken = graph.nodes.map(({ id }) => id);
  const made = new Set<string>();
  const copies = graph.nodes.flatMap((node) => {
    if (!ids.has(node.id)) return [];
    const id = freeId(node.id, [...taken, ...made]);
    made.add(id);
    return [{ ...structuredClone(node), id, position: { x: node.position.x + 40, y: node.position.y + 40 } }];
  });
  return { graph: { ...graph, nodes: [...graph.nodes, ...copies] }, ids: made };
}

/** The inputs that a workflow asks for, by the names of its starts. */
export function inputNames(graph: Graph): string[] {
  const names = graph.nodes.flatMap((node) => {
    if (node.type !== "start") return [];
    const name = node.data["inputVariable"];
    return [typeof name === "string" && name !== "" ? name : "input"];
  });
  return [...new Set(names)];
}

/** Whether an answer is a graph that can be shown and saved without losing a part of it. */
export function isWhole(graph: unknown): graph is Graph {
  if (typeof graph !== "object" || graph === null) return false;
  const { nodes, edges } = graph as Record<string, unknown>;
  const hasMembers = (list: unknown, ...members: string[]) =>
    Array.isArray(list) &&
    list.every((item: unknown) => typeof item === "object" && item !== null && members.every((name) => name in item));
  return hasMembers(nodes, "id", "type") && hasMembers(edges, "source", "target");
}

/** Nodes of other programs may lack a position or data. */
export function complete(graph: Graph): Graph {
  return {
    ...graph,
    nodes: graph.nodes.map((node, index) => ({
      ...node,
      data: typeof node.data === "object" && node.data !== null ? node.data : {},
      position: Number.isFinite(node.position?.x) ? node.position : { x: index * STEP.x, y: 0 },
    })),
  };
}
