import type { Edge, Node } from "@xyflow/svelte";

import type { GraphDiagnostic, GraphNode } from "../../api/types";
import type { NodeRun } from "../../lib/workflow-run.svelte";

/** A step on the canvas. */
export type StepNodeType = Node<
  { step: GraphNode; run: NodeRun; problems: GraphDiagnostic[]; isVertical: boolean },
  "step"
>;

/** A connection, with the bends that lead it around other steps. */
export type BentEdgeType = Edge<{ bends: { x: number; y: number }[]; isLive: boolean }, "bent">;

/** What the toolbar does with the canvas. */
export interface CanvasControls {
  fit(): void;
  zoom(direction: 1 | -1): void;
  sizes(): Map<string, { width: number; height: number }>;
  focus(id: string): void;
}
