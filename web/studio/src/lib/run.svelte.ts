/** One run as it is shown: what its events have said so far. */
import { startRun, readRun } from "../api/client";
import type { Question, Source, Usage } from "../api/types";
import { text } from "../text/en";
import { announcer } from "./announce.svelte";
import type { ServerEvent } from "./sse";
import type { RunningStream, StreamState } from "./stream";

export interface Step {
  type: string;
  status: string;
  message: string;
  /** The skill or the query that the step is about. */
  about: string;
  startedAt: number;
  endedAt: number | undefined;
}

type Data = Record<string, unknown>;

export class RunView {
  state = $state.raw<StreamState | undefined>(undefined);
  output = $state("");
  steps = $state.raw<Step[]>([]);
  sources = $state.raw<Source[]>([]);
  warnings = $state.raw<string[]>([]);
  questions = $state.raw<Question[]>([]);
  usage = $state.raw<Usage | undefined>(undefined);
  queuePosition = $state<number | undefined>(undefined);
  runId = $state("");
  firstTokenMs = $state<number | undefined>(undefined);
  elapsedMs = $state(0);
  #stream: RunningStream | undefined;
  #waiting = "";
  #frame = 0;
  #startedAt = 0;
  #clock: ReturnType<typeof setInterval> | undefined;

  get isRunning(): boolean {
    const name = this.state?.name;
    return name !== undefined && name !== "done" && name !== "failed" && name !== "stopped";
  }

  get error(): string {
    return this.state?.name === "failed" ? this.state.message : "";
  }

  /** Starts a run; the promise settles when it has ended. */
  start(path: string, body: unknown, onresponse?: (response: Response) => void): Promise<StreamState> {
    return this.#follow(startRun, path, body, onresponse);
  }

  /** Shows a run that exists, from its first event. */
  replay(path: string): Promise<StreamState> {
    return this.#follow(readRun, path, undefined);
  }

  #follow(
    open: typeof startRun,
    path: string,
    body: unknown,
    onresponse?: (response: Response) => void,
  ): Promise<StreamState> {
    this.reset();
    this.#startedAt = performance.now();
    this.#clock = setInterval(() => this.#tick(), 200);
    this.#stream = open({
      path,
      body,
      onevent: (event) => this.take(event),
      onstate: (state) => this.#enter(state),
      onresponse: (response) => {
        this.runId = response.headers.get("X-Run-Id") ?? "";
        onresponse?.(response);
      },
    });
    return this.#stream.finished;
  }

  /** Closes the connection; the caller tells the server to end the run. */
  stop(): void {
    this.#stream?.stop();
  }

  /** Ends what runs in this page. The run itself goes on. */
  leave(): void {
    clearInterval(this.#clock);
    cancelAnimationFrame(this.#frame);
    this.#stream?.stop();
  }

  reset(): void {
    this.leave();
    this.state = undefined;
    this.output = "";
    this.#waiting = "";
    this.#frame = 0;
    this.steps = [];
    this.sources = [];
    this.warnings = [];
    this.questions = [];
    this.usage = undefined;
    this.queuePosition = undefined;
    this.runId = "";
    this.firstTokenMs = undefined;
    this.elapsedMs = 0;
  }

  #tick(): void {
    this.elapsedMs = performance.now() - this.#startedAt;
  }

  #enter(state: StreamState): void {
    this.state = state;
    if (!this.isRunning) {
      clearInterval(this.#clock);
      this.#tick();
      this.#flush();
    }
    if (state.name !== "stalled" || state.seconds <= 20) announcer.say(describeState(state, this.queuePosition));
  }

  /** Takes one event. Events that a later server adds are skipped. */
  take(event: ServerEvent): void {
    let data: Data;
    try {
      const read: unknown = JSON.parse(event.data);
      if (typeof read !== "object" || read === null) return;
      data = read as Data;
    } catch {
      return;
    }
    switch (event.event) {
      case "token":
        this.queuePosition = undefined;
        this.firstTokenMs ??= performance.now() - this.#startedAt;
        this.#waiting += string(data["content"]);
        this.#frame ||= requestAnimationFrame(() => this.#flush());
        break;
      case "thought":
        this.queuePosition = undefined;
        this.steps = withThought(this.steps, data, Date.now());
        break;
      case "citation":
        if (Array.isArray(data["sources"])) this.sources = [...this.sources, ...(data["sources"] as Source[])];
        break;
      case "queued":
        this.queuePosition = typeof data["position"] === "number" ? data["position"] : 0;
        break;
      case "warning":
        this.warnings = [...this.warnings, string(data["message"])];
        break;
      case "gap":
        this.warnings = [...this.warnings, text.stream.gap];
        break;
      case "usage":
        this.usage = data as unknown as Usage;
        break;
      case "approval":
        if (typeof data["id"] === "string") this.questions = [...this.questions, data as unknown as Question];
        break;
    }
  }

  /** At most once per frame: a fast model sends more tokens than a screen shows. */
  #flush(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    if (this.#waiting === "") return;
    this.output += this.#waiting;
    this.#waiting = "";
  }
}

function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The end of a step closes the row that its beginning opened. */
export function withThought(steps: readonly Step[], data: Data, now: number): Step[] {
  const type = string(data["type"]) || string(data["type_detail"]);
  const status = string(data["status"]);
  // The question says more than the base that was asked.
  const about = string(data["skill"]) || string(data["query"]);
  const message = string(data["message"]) || resultsOf(data);
  const ends = status === "complete" || status === "error";
  const open = steps.findLastIndex((step) => step.type === type && step.endedAt === undefined);
  const known = steps[open];
  if (status === "start" || known === undefined) {
    return [
      ...steps,
      { type, status, message, about: about || string(data["kb_id"]), startedAt: now, endedAt: ends ? now : undefined },
    ];
  }
  const next: Step = {
    ...known,
    status,
    message: message || known.message,
    about: about || known.about,
    endedAt: ends ? now : undefined,
  };
  return steps.with(open, next);
}

function resultsOf(data: Data): string {
  const found = data["results_count"];
  return typeof found === "number" ? text.knowledge.chunks(found) : "";
}

export function describeState(state: StreamState | undefined, queuePosition?: number): string {
  switch (state?.name) {
    case undefined:
      return "";
    case "connecting":
      return text.stream.connecting;
    case "open":
      return queuePosition === undefined ? text.stream.open : text.stream.queued(queuePosition);
    case "stalled":
      return text.stream.stalled(state.seconds);
    case "retrying":
      return text.stream.retrying(state.attempt);
    case "done":
      return text.stream.done;
    case "failed":
      return state.message === "" ? text.stream.failed : `${text.stream.failed}: ${state.message}`;
    case "stopped":
      return text.stream.stopped;
  }
}
