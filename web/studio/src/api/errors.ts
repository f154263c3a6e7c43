import { text } from "../text/en";

/** A refusal or a failure, in words for the user. */
export class ApiError extends Error {
  readonly status: number;
  /** The member of the request that is wrong, or "". */
  readonly field: string;
  readonly code: string;
  /** Seconds until another try makes sense. */
  readonly retryAfter: number | undefined;
  readonly body: unknown;

  constructor(details: {
    status: number;
    message: string;
    field?: string;
    code?: string;
    retryAfter?: number | undefined;
    body?: unknown;
  }) {
    super(details.message);
    this.status = details.status;
    this.field = details.field ?? "";
    this.code = details.code ?? "";
    this.retryAfter = details.retryAfter;
    this.body = details.body;
  }
}

/** Reads an answer that is not 2xx, whichever of the two shapes of errors it has. */
export async function errorOf(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => undefined);
  const { field, message } = messageOf(body);
  const wait = Number(response.headers.get("Retry-After"));
  const retryAfter = Number.isFinite(wait) && wait > 0 ? wait : undefined;
  return new ApiError({
    status: response.status,
    field,
    message: message || text.errors.status(response.status),
    code: response.headers.get("X-Problem-Code") ?? "",
    retryAfter,
    body,
  });
}

function messageOf(body: unknown): { field: string; message: string } {
  if (typeof body !== "object" || body === null) return { field: "", message: "" };
  const detail = "detail" in body ? body.detail : undefined;
  if (typeof detail === "string") return { field: "", message: detail };
  if (typeof detail === "object" && detail !== null) {
    const { field, message } = detail as Record<string, unknown>;
    return { field: typeof field === "string" ? field : "", message: typeof message === "string" ? message : "" };
  }
  return { field: "", message: "title" in body && typeof body.title === "string" ? body.title : "" };
}

/** What failed and what to do, for any error that a request can end with. */
export function describeError(error: unknown): string {
  if (error instanceof ApiError) {
    if (error.status === 429 && error.retryAfter !== undefined) return text.errors.limited(error.retryAfter);
    return error.message;
  }
  if (error instanceof TypeError) return text.errors.unreachable;
  return error instanceof Error ? error.message : String(error);
}
