/** One execution of a workflow as it is shown: the state of each node, and what it was given and gave. */
import { readRun, startRun } from "../api/client";
import type { Execution, Question } from "../api/types";
import { text } from "../text/en";
import { announcer } from "./announce.svelte";
import { show } from "./format";
import { describeState } from "./run.svelte";
import type { ServerEvent } from "./sse";
import type { RunningStream, StreamState } from "./stream";

export type NodeStatus = "idle" | "waiting" | "running" | "complete" | "restored" | "error" | "skipped" | "approval";

export interface NodeRun {
  status: NodeStatus;
  input: string | undefined;
  output: string;
  error: string;
  startedAt: number | undefined;
  endedAt: number | undefined;
}

const IDLE: NodeRun = {
  status: "idle",
  input: undefined,
  output: "",
  error: "",
  startedAt: undefined,
  endedAt: undefined,
};

type Data = Record<string, unknown>;

export class WorkflowRun {
  state = $state.raw<StreamState | undefined>(undefined);
  nodes = $state.raw<ReadonlyMap<string, NodeRun>>(new Map());
  questions = $state.raw<Question[]>([]);
  result = $state("");
  error = $state("");
  executionId = $state("");
  canResume = $state(false);
  #stream: RunningStream | undefined;
  /** Text of nodes that arrived since the last frame. */
  #text = new Map<string, string>();
  #frame = 0;

  get isRunning(): boolean {
    const name = this.state?.name;
    return name !== undefined && name !== "done" && name !== "failed" && name !== "stopped";
  }

  of(id: string): NodeRun {
    return this.nodes.get(id) ?? IDLE;
  }

  start(path: string, body: unknown, waiting: readonly string[]): Promise<StreamState> {
    this.reset();
    this.nodes = new Map(waiting.map((id) => [id, { ...IDLE, status: "waiting" }]));
    return this.#follow(startRun, path, body);
  }

  /** Runs what is left; nodes that are complete keep what they gave. */
  resume(path: string, waiting: readonly string[]): Promise<StreamState> {
    this.leave();
    const nodes = new Map(this.nodes);
    for (const id of waiting) {
      const status = this.of(id).status;
      if (status !== "complete" && status !== "restored") nodes.set(id, { ...IDLE, status: "waiting" });
    }
    this.nodes = nodes;
    this.error = "";
    this.result = "";
    this.questions = [];
    this.canResume = false;
    return this.#follow(startRun, path, {});
  }

  replay(path: string): Promise<StreamState> {
    this.reset();
    return this.#follow(readRun, path, undefined);
  }

  /** Shows an execution that has ended, from what was kept of it. */
  load(execution: Execution): void {
    this.reset();
    this.executionId = execution.id;
    this.canResume = execution.can_resume;
    this.error = execution.error ?? "";
    this.result = show(execution.output);
    this.nodes = new Map(
      execution.nodes.map((node) => [
        node.node_id,
        {
          ...IDLE,
          status: statusOf(node.status),
          input: node.input === undefined ? undefined : show(node.input),
          output: show(node.output),
          error: node.error ?? "",
        },
      ]),
    );
    this.state =
      execution.status === "success"
        ? { name: "done" }
        : execution.status === "cancelled"
          ? { name: "stopped" }
          : { name: "failed", message: this.error };
  }

  #follow(open: typeof startRun, path: string, body: unknown): Promise<StreamState> {
    this.#stream = open({
      path,
      body,
      onevent: (event) => this.take(event),
      onstate: (state) => {
        this.state = state;
        if (!this.isRunning) this.#end(state);
        announcer.say(describeState(state));
      },
    });
    return this.#stream.finished;
  }

  #end(state: StreamState): void {
    this.#flush();
    if (state.name === "failed" && this.error === "") this.error = state.message;
    const isOver = (status: NodeStatus) => !["waiting", "running", "approval"].includes(status);
    const nodes = new Map(this.nodes);
    for (const [id, node] of nodes) if (!isOver(node.status)) nodes.set(id, { ...node, status: "idle" });
    this.nodes = nodes;
    this.canResume = state.name !== "done" && this.executionId !== "";
  }

  stop(): void {
    this.#stream?.stop();
  }

  leave(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#text.clear();
    this.#stream?.stop();
  }

  reset(): void {
    this.leave();
    this.state = undefined;
    this.nodes = new Map();
    this.questions = [];
    this.result = "";
    this.error = "";
    this.executionId = "";
    this.canResume = false;
  }

  take(event: ServerEvent): void {
    let data: Data;
    try {
      data = JSON.parse(event.data) as Data;
    } catch {
      return;
    }
    const id = typeof data["node_id"] === "string" ? data["node_id"] : "";
    const now = Date.now();
    switch (event.event) {
      case "workflow_start":
        this.executionId = String(data["execution_id"] ?? "");
        break;
      case "node_start":
        this.#set(id, { ...IDLE, status: "running", startedAt: now, ...withInput(data) });
        announcer.say(`${id}: ${text.workflows.status["running"] ?? ""}`);
        break;
      case "token":
        if (id === "") break;
        this.#text.set(id, (this.#text.get(id) ?? "") + String(data["content"] ?? ""));
        this.#frame ||= requestAnimationFrame(() => this.#flush());
        break;
      case "node_complete":
        this.#flush();
        this.#set(id, {
          ...this.of(id),
          status: data["restored"] === true ? "restored" : "complete",
          output: show(data["output"]) || this.of(id).output,
          endedAt: now,
          ...withInput(data),
        });
        break;
      case "node_error":
        this.#flush();
        this.#set(id, { ...this.of(id), status: "error", error: String(data["error"] ?? ""), endedAt: now });
        announcer.say(`${id}: ${text.workflows.status["error"] ?? ""}`);
        break;
      case "node_skipped":
        this.#set(id, { ...IDLE, status: "skipped" });
        break;
      case "approval":
        this.questions = [...this.questions, data as unknown as Question];
        if (id !== "") this.#set(id, { ...this.of(id), status: "approval" });
        break;
      case "workflow_complete":
        this.result = show(data["final_output"]);
        break;
      case "workflow_error":
        this.error = String(data["error"] ?? "");
        break;
    }
  }

  #set(id: string, node: NodeRun): void {
    if (id !== "") this.nodes = new Map(this.nodes).set(id, node);
  }

  #flush(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    if (this.#text.size === 0) return;
    const nodes = new Map(this.nodes);
    for (const [id, more] of this.#text) {
      const node = nodes.get(id) ?? IDLE;
      nodes.set(id, { ...node, output: node.output + more });
    }
    this.#text.clear();
    this.nodes = nodes;
  }
}

function withInput(data: Data): { input?: string } {
  return "input" in data ? { input: show(data["input"]) } : {};
}

function statusOf(status: string): NodeStatus {
  const known: NodeStatus[] = ["running", "complete", "restored", "error", "skipped"];
  return known.find((name) => name === status) ?? "idle";
}
