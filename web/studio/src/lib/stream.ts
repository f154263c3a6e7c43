/** One stream of events from beginning to end: it notices silence, resumes after a lost connection, and can be stopped. */
import { EventParser, type ServerEvent } from "./sse";

export type StreamState =
  | { name: "connecting" }
  /** Events arrive. */
  | { name: "open" }
  /** Connected, and no event for a while. */
  | { name: "stalled"; seconds: number }
  /** The connection was lost; the next attempt begins in a moment. */
  | { name: "retrying"; attempt: number }
  | { name: "done" }
  | { name: "failed"; message: string; retryAfter?: number | undefined }
  | { name: "stopped" };

export interface StreamTiming {
  /** Silence of the model after which the user is told. */
  stalledAfter: number;
  /** Silence of the connection, heartbeats included, after which it counts as lost. */
  lostAfter: number;
  /** Pause before each attempt to resume. */
  pauses: readonly number[];
}

export const TIMING: StreamTiming = {
  stalledAfter: 20_000,
  // The server sends a comment every 15 s.
  lostAfter: 40_000,
  pauses: [300, 1_000, 2_000, 4_000, 8_000, 15_000],
};

export interface StreamRequest {
  /** The first request. A status other than 2xx is thrown by it. */
  open(signal: AbortSignal): Promise<Response>;
  /** Asks for the events after `lastEventId`; null when this stream can't be resumed. */
  resume: ((response: Response, lastEventId: string, signal: AbortSignal) => Promise<Response>) | null;
  onevent(event: ServerEvent): void;
  onstate(state: StreamState): void;
  /** The first response, before its events. */
  onresponse?(response: Response): void;
  /** What to say about an error of `open` or `resume`; `final` means that trying again can't help. */
  describe(error: unknown): { message: string; final: boolean; retryAfter?: number | undefined };
  timing?: StreamTiming;
}

/** Says that the server ended the answer itself, with an error. */
function doneState(data: string, lastError: string): StreamState {
  let status: unknown;
  let message: unknown;
  try {
    ({ status, message } = JSON.parse(data) as Record<string, unknown>);
  } catch {
    status = "error";
  }
  if (status === "success") return { name: "done" };
  return { name: "failed", message: lastError || (typeof message === "string" ? message : "") };
}

export interface RunningStream {
  /** Settles at the end, however it ends; never rejects. */
  readonly finished: Promise<StreamState>;
  /** Closes the connection. The text so far stays. */
  stop(): void;
}

export function startStream(request: StreamRequest): RunningStream {
  const stopping = new AbortController();
  return { finished: follow(request, stopping.signal), stop: () => stopping.abort() };
}

async function follow(request: StreamRequest, stopping: AbortSignal): Promise<StreamState> {
  const timing = request.timing ?? TIMING;
  let state: StreamState = { name: "connecting" };
  const enter = (next: StreamState) => {
    if (next.name === "open" && state.name === "open") return;
    state = next;
    request.onstate(next);
  };
  let first: Response | undefined;
  let lastEventId = "";
  let lastError = "";
  let attempt = 0;
  enter(state);

  for (;;) {
    let ended: StreamState | undefined;
    const connection = new AbortController();
    const abort = () => connection.abort();
    stopping.addEventListener("abort", abort, { once: true });
    try {
      stopping.throwIfAborted();
      const response =
        first === undefined || request.resume === null
          ? await request.open(connection.signal)
          : await request.resume(first, lastEventId, connection.signal);
      if (first === undefined) {
        first = response;
        request.onresponse?.(response);
      }
      ended = await read(response, connection, timing, {
        event(event) {
          enter({ name: "open" });
          attempt = 0;
          if (event.id !== undefined && event.id !== "") lastEventId = event.id;
          if (event.event === "error") lastError = messageOf(event.data) || lastError;
          request.onevent(event);
          return event.event === "done" ? doneState(event.data, lastError) : undefined;
        },
        stalled(seconds) {
          enter({ name: "stalled", seconds });
        },
      });
    } catch (error) {
      if (!stopping.aborted) {
        const { message, final, retryAfter } = request.describe(error);
        // A request whose answer never arrived may have been carried out: only reading is repeated.
        if (final || first === undefined) ended = { name: "failed", message, retryAfter };
      }
    } finally {
      stopping.removeEventListener("abort", abort);
      connection.abort();
    }
    if (stopping.aborted && ended?.name !== "done") ended = { name: "stopped" };
    if (ended === undefined && (request.resume === null || attempt >= timing.pauses.length)) {
      ended = { name: "failed", message: request.describe(new ConnectionLost()).message };
    }
    if (ended !== undefined) {
      enter(ended);
      return ended;
    }
    enter({ name: "retrying", attempt: attempt + 1 });
    await pause(timing.pauses[attempt] ?? 0, stopping);
    attempt++;
  }
}

export class ConnectionLost extends Error {}

interface Reader {
  event(event: ServerEvent): StreamState | undefined;
  stalled(seconds: number): void;
}

/** Reads one connection: its last state when the answer is complete, undefined when the connection was lost. */
async function read(
  response: Response,
  connection: AbortController,
  timing: StreamTiming,
  reader: Reader,
): Promise<StreamState | undefined> {
  if (response.body === null) return undefined;
  const parser = new EventParser();
  const bytes = response.body.getReader();
  let lastEventAt = Date.now();
  let lastByteAt = lastEventAt;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const watch = () => {
    const now = Date.now();
    const silent = now - lastEventAt;
    if (now - lastByteAt >= timing.lostAfter) {
      connection.abort();
      return;
    }
    if (silent >= timing.stalledAfter) reader.stalled(Math.round(silent / 1000));
    const untilLost = lastByteAt + timing.lostAfter - now;
    const untilStalled = silent >= timing.stalledAfter ? 5_000 : timing.stalledAfter - silent;
    timer = setTimeout(watch, Math.max(1, Math.min(untilLost, untilStalled)));
  };
  watch();
  const aborted = new Promise<never>((_, reject) => {
    connection.signal.addEventListener("abort", () => reject(new ConnectionLost()), { once: true });
  });
  aborted.catch(() => undefined);
  try {
    for (;;) {
      const { done, value } = await Promise.race([bytes.read(), aborted]);
      if (done) return undefined;
      lastByteAt = Date.now();
      for (const event of parser.push(value)) {
        lastEventAt = lastByteAt;
        const ended = reader.event(event);
        if (ended !== undefined) return ended;
      }
    }
  } finally {
    clearTimeout(timer);
    bytes.cancel().catch(() => undefined);
  }
}

function messageOf(data: string): string {
  try {
    const { message } = JSON.parse(data) as { message?: unknown };
    return typeof message === "string" ? message : "";
  } catch {
    return "";
  }
}

function pause(milliseconds: number, stopping: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      stopping.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    stopping.addEventListener("abort", end, { once: true });
  });
}
