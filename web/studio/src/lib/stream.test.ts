import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import type { ServerEvent } from "./sse";
import { startStream, type StreamRequest, type StreamState } from "./stream";

/** A response whose parts the test sends, and whose connection it can cut. */
class Connection {
  response: Response;
  isClosed = false;
  #controller!: ReadableStreamDefaultController<Uint8Array>;

  constructor(signal: AbortSignal) {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
      },
      cancel: () => {
        this.isClosed = true;
      },
    });
    signal.addEventListener("abort", () => {
      if (!this.isClosed) this.#controller.error(new DOMException("aborted", "AbortError"));
      this.isClosed = true;
    });
    this.response = new Response(body, { headers: { "X-Run-Id": "run-1" } });
  }

  async send(text: string): Promise<void> {
    this.#controller.enqueue(new TextEncoder().encode(text));
    await vi.advanceTimersByTimeAsync(0);
  }

  async cut(): Promise<void> {
    this.#controller.error(new TypeError("network error"));
    this.isClosed = true;
    await vi.advanceTimersByTimeAsync(0);
  }

  async close(): Promise<void> {
    this.#controller.close();
    await vi.advanceTimersByTimeAsync(0);
  }
}

const token = (id: number, content: string) => `id: ${id}\nevent: token\ndata: ${JSON.stringify({ content })}\n\n`;
const DONE = 'id: 99\nevent: done\ndata: {"status":"success"}\n\n';

function start(overrides: Partial<StreamRequest> = {}) {
  const connections: Connection[] = [];
  const asked: string[] = [];
  const states: string[] = [];
  const events: ServerEvent[] = [];
  const connect = (signal: AbortSignal, lastEventId: string) => {
    asked.push(lastEventId);
    const connection = new Connection(signal);
    connections.push(connection);
    return Promise.resolve(connection.response);
  };
  const stream = startStream({
    open: (signal) => connect(signal, "-"),
    resume: (_, lastEventId, signal) => connect(signal, lastEventId),
    onevent: (event) => events.push(event),
    onstate: (state: StreamState) => states.push(state.name),
    describe: (error) => ({ message: String(error), final: false }),
    ...overrides,
  });
  const text = () =>
    events
      .map(({ event, data }) => (event === "token" ? (JSON.parse(data) as { content: string }).content : ""))
      .join("");
  return { stream, connections, asked, states, text, settle: () => vi.advanceTimersByTimeAsync(0) };
}

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("startStream", () => {
  test("reads to the end", async () => {
    const run = start();
    await run.settle();
    await run.connections[0]?.send(token(1, "Hel") + token(2, "lo"));
    await run.connections[0]?.send(DONE);
    expect(await run.stream.finished).toEqual({ name: "done" });
    expect(run.states).toEqual(["connecting", "open", "done"]);
    expect(run.text()).toBe("Hello");
    expect(run.connections[0]?.isClosed).toBe(true);
  });

  test("says when nothing arrives, gives a dead connection up, and resumes at the last event", async () => {
    const run = start();
    await run.settle();
    await run.connections[0]?.send(token(1, "one "));
    await vi.advanceTimersByTimeAsync(20_000);
    expect(run.states.at(-1)).toBe("stalled");
    await vi.advanceTimersByTimeAsync(20_000);
    expect(run.states.at(-1)).toBe("retrying");
    await vi.advanceTimersByTimeAsync(300);
    await run.connections[1]?.send(token(2, "two") + DONE);
    await run.stream.finished;
    expect([...new Set(run.states)]).toEqual(["connecting", "open", "stalled", "retrying", "done"]);
    expect(run.asked).toEqual(["-", "1"]);
    expect(run.text()).toBe("one two");
  });

  test("heartbeats keep a silent connection open", async () => {
    const run = start();
    await run.settle();
    for (let beat = 0; beat < 8; beat++) {
      await vi.advanceTimersByTimeAsync(15_000);
      await run.connections[0]?.send(": heartbeat\n\n");
    }
    expect(run.states.at(-1)).toBe("stalled");
    expect(run.connections).toHaveLength(1);
    await run.connections[0]?.send(DONE);
    expect((await run.stream.finished).name).toBe("done");
  });

  test.each(["cut", "close"] as const)("resumes after the connection was %s", async (how) => {
    const run = start();
    await run.settle();
    await run.connections[0]?.send(token(5, "a"));
    await run.connections[0]?.[how]();
    await vi.advanceTimersByTimeAsync(300);
    await run.connections[1]?.send(token(6, "b") + DONE);
    await run.stream.finished;
    expect(run.asked).toEqual(["-", "5"]);
    expect(run.states).toEqual(["connecting", "open", "retrying", "open", "done"]);
    expect(run.text()).toBe("ab");
  });

  test("gives up after the last attempt, and keeps the text", async () => {
    const run = start();
    await run.settle();
    await run.connections[0]?.send(token(1, "kept"));
    await run.connections[0]?.cut();
    for (let attempt = 1; attempt <= 6; attempt++) {
      await vi.advanceTimersByTimeAsync(15_000);
      await run.connections[attempt]?.cut();
    }
    expect((await run.stream.finished).name).toBe("failed");
    expect(run.connections).toHaveLength(7);
    expect(run.text()).toBe("kept");
  });

  test("does not repeat a request whose answer never arrived", async () => {
    const open = vi.fn(() => Promise.reject(new TypeError("Failed to fetch")));
    const run = start({ open });
    expect(await run.stream.finished).toEqual({ name: "failed", message: "TypeError: Failed to fetch" });
    expect(open).toHaveBeenCalledTimes(1);
  });

  test("a done event with an error is a failure, with the message of the error event", async () => {
    const run = start();
    await run.settle();
    await run.connections[0]?.send('event: error\ndata: {"message":"no such model"}\n\n');
    await run.connections[0]?.send('event: done\ndata: {"status":"error","message":"failed"}\n\n');
    expect(await run.stream.finished).toEqual({ name: "failed", message: "no such model" });
  });

  test("stop closes the connection at once", async () => {
    const run = start();
    await run.settle();
    await run.connections[0]?.send(token(1, "a"));
    run.stream.stop();
    expect((await run.stream.finished).name).toBe("stopped");
    expect(run.connections[0]?.isClosed).toBe(true);
    expect(run.text()).toBe("a");
  });

  test("stop ends the wait for the next attempt", async () => {
    const run = start();
    await run.settle();
    await run.connections[0]?.cut();
    run.stream.stop();
    expect((await run.stream.finished).name).toBe("stopped");
    expect(run.connections).toHaveLength(1);
  });
});
