/** Places the nodes of a workflow from left to right, or from top to bottom. Loaded when somebody asks for it. */
import { Graph as Dagre, layout as dagreLayout } from "@dagrejs/dagre";

import type { GraphEdge } from "../api/types";

export interface Size {
  width: number;
  height: number;
}

export interface Placed {
  positions: Map<string, { x: number; y: number }>;
  /** Bends of the edges that go around nodes, by the edge's index. */
  bends: Map<number, { x: number; y: number }[]>;
}

export function tidy(nodes: Map<string, Size>, edges: readonly GraphEdge[], isVertical = false): Placed {
  const graph = new Dagre({ multigraph: true });
  graph.setGraph({ rankdir: isVertical ? "TB" : "LR", nodesep: 32, ranksep: 72, edgesep: 16 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const [id, size] of nodes) graph.setNode(id, { ...size });
  edges.forEach((edge, index) => {
    if (nodes.has(edge.source) && nodes.has(edge.target)) graph.setEdge(edge.source, edge.target, {}, String(index));
  });
  dagreLayout(graph);

  const positions = new Map<string, { x: number; y: number }>();
  for (const [id, size] of nodes) {
    const { x = 0, y = 0 } = graph.node(id) as { x?: number; y?: number };
    // Dagre gives centres, the canvas wants corners.
    positions.set(id, { x: Math.round(x - size.width / 2), y: Math.round(y - size.height / 2) });
  }
  const bends = new Map<number, { x: number; y: number }[]>();
  for (const edge of graph.edges()) {
    const { points = [] } = graph.edge(edge) as { points?: { x: number; y: number }[] };
    // The first and the last lie on the nodes' borders, and three points are a plain curve.
    if (points.length > 3) bends.set(Number(edge.name), points.slice(1, -1));
  }
  return { positions, bends };
}
