/** Requests to the studio's API, with the session's token. */
import { ConnectionLost, startStream, type RunningStream, type StreamRequest } from "../lib/stream";
import { EventTooLarge } from "../lib/sse";
import { text } from "../text/en";
import { ApiError, describeError, errorOf } from "./errors";
import { session } from "./session.svelte";

const BASE = "/api/v1";

export type Query = Record<string, string | number | null | undefined>;

export interface RequestOptions {
  query?: Query;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** `path` with its query; members without a value are left out. */
export function address(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") parameters.set(name, String(value));
  }
  const rest = parameters.toString();
  return rest === "" ? `${BASE}${path}` : `${BASE}${path}?${rest}`;
}

/** One part of a path. */
export function part(name: string): string {
  return encodeURIComponent(name);
}

async function send(method: string, path: string, body: unknown, options: RequestOptions): Promise<Response> {
  const attempt = (token: string) => {
    const headers: Record<string, string> = { ...options.headers };
    if (token !== "") headers["Authorization"] = `Bearer ${token}`;
    const init: RequestInit = { method, headers };
    if (options.signal !== undefined) init.signal = options.signal;
    if (body instanceof FormData || typeof body === "string") {
      init.body = body;
    } else if (body !== undefined) {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(body);
    }
    return fetch(address(path, options.query), init);
  };
  const token = await session.token();
  let response = await attempt(token);
  if (response.status === 401 && token !== "") {
    const renewed = await session.renew(token);
    if (renewed !== "") response = await attempt(renewed);
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

async function json<T>(method: string, path: string, body: unknown, options: RequestOptions = {}): Promise<T> {
  const response = await send(method, path, body, options);
  // An answer without a body is typed `void` by the caller.
  if (response.status === 204 || response.status === 202) return undefined as T;
  return (await response.json()) as T;
}

export const api = {
  get: <T>(path: string, options?: RequestOptions) => json<T>("GET", path, undefined, options),
  post: <T = void>(path: string, body?: unknown, options?: RequestOptions) => json<T>("POST", path, body, options),
  put: <T = void>(path: string, body: unknown, options?: RequestOptions) => json<T>("PUT", path, body, options),
  patch: <T = void>(path: string, body: unknown, options?: RequestOptions) => json<T>("PATCH", path, body, options),
  delete: <T = void>(path: string, options?: RequestOptions) => json<T>("DELETE", path, undefined, options),
  response: (path: string, options: RequestOptions = {}) => send("GET", path, undefined, options),
};

export interface EventStreamOptions extends Pick<StreamRequest, "onevent" | "onstate"> {
  path: string;
  body?: unknown;
  onresponse?: (response: Response) => void;
}

const STREAM = { Accept: "text/event-stream" };

/** Starts a run and reads its events; after a lost connection the rest is read from the run. */
export function startRun({ path, body, ...rest }: EventStreamOptions): RunningStream {
  return startStream({
    ...rest,
    describe,
    open: (signal) => send("POST", path, body ?? {}, { headers: STREAM, signal }),
    resume: (first, lastEventId, signal) => {
      const run = first.headers.get("X-Run-Id");
      if (run === null) return Promise.reject(new ApiError({ status: 0, message: text.stream.lost }));
      return send("GET", `/runs/${part(run)}/events`, undefined, {
        headers: { ...STREAM, "Last-Event-ID": lastEventId === "" ? "0" : lastEventId },
        signal,
      });
    },
  });
}

/** Reads the events of a run that exists, from its beginning. */
export function readRun({ path, ...rest }: EventStreamOptions): RunningStream {
  return startStream({
    ...rest,
    describe,
    open: (signal) => send("GET", path, undefined, { headers: STREAM, signal }),
    resume: (_, lastEventId, signal) =>
      send("GET", path, undefined, { headers: { ...STREAM, "Last-Event-ID": lastEventId || "0" }, signal }),
  });
}

function describe(error: unknown): { message: string; final: boolean; retryAfter?: number | undefined } {
  if (error instanceof ConnectionLost) return { message: text.stream.lost, final: false };
  if (error instanceof EventTooLarge) return { message: error.message, final: true };
  if (error instanceof ApiError) {
    // The server is restarting, or the proxy before it has no server: worth another try.
    const final = ![502, 503, 504].includes(error.status);
    return { message: describeError(error), final, retryAfter: error.retryAfter };
  }
  return { message: describeError(error), final: false };
}
