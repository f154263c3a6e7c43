/** Files on their way into a knowledge base, each with its progress. */
import { address, part } from "../api/client";
import { ApiError, describeError } from "../api/errors";
import { session } from "../api/session.svelte";
import type { Upload } from "../api/types";
import { text } from "../text/en";
import { EventParser } from "./sse";

export class UploadRow {
  readonly file: File;
  readonly key: number;
  stage = $state("waiting");
  /** 0 to 1 while the bytes are sent. */
  sent = $state(0);
  result = $state.raw<Upload | undefined>(undefined);
  error = $state("");
  cancel: (() => void) | undefined;

  constructor(file: File, key: number) {
    this.file = file;
    this.key = key;
  }

  get isFinished(): boolean {
    return this.result !== undefined || this.error !== "";
  }
}

/** More at once would take connections away from streams. */
const AT_ONCE = 2;

export class Uploads {
  rows = $state.raw<UploadRow[]>([]);
  #base: string;
  #limit: () => number | undefined;
  #onadded: () => void;
  #running = 0;
  #next = 0;

  constructor(base: string, limit: () => number | undefined, onadded: () => void) {
    this.#base = base;
    this.#limit = limit;
    this.#onadded = onadded;
  }

  get isRunning(): boolean {
    return this.rows.some((row) => !row.isFinished);
  }

  add(files: Iterable<File>): void {
    const rows = [...files].map((file) => new UploadRow(file, this.#next++));
    const limit = this.#limit();
    for (const row of rows) {
      if (limit !== undefined && row.file.size > limit) row.error = text.knowledge.tooLarge(limit);
    }
    this.rows = [...rows, ...this.rows];
    this.#start();
  }

  again(row: UploadRow): void {
    this.rows = this.rows.filter((other) => other !== row);
    this.add([row.file]);
  }

  clear(): void {
    this.rows = this.rows.filter((row) => !row.isFinished);
  }

  #start(): void {
    for (const row of this.rows.toReversed()) {
      if (this.#running >= AT_ONCE) return;
      if (row.stage !== "waiting" || row.isFinished) continue;
      row.stage = "sending";
      this.#running++;
      this.#send(row)
        .catch((error: unknown) => {
          row.error = describeError(error);
        })
        .finally(() => {
          this.#running--;
          this.#onadded();
          this.#start();
        });
    }
  }

  /** Only XMLHttpRequest reports how much of a body has been sent. */
  async #send(row: UploadRow): Promise<void> {
    const token = await session.token();
    const form = new FormData();
    form.append("file", row.file, row.file.name);
    await new Promise<void>((resolve, reject) => {
      const request = new XMLHttpRequest();
      const parser = new EventParser();
      let read = 0;
      let refused = "";
      const take = () => {
        if (request.status !== 200) return;
        const fresh = request.responseText.slice(read);
        read = request.responseText.length;
        for (const { event, data } of parser.push(new TextEncoder().encode(fresh))) {
          const about = JSON.parse(data) as Record<string, unknown>;
          if (event === "progress" && typeof about["stage"] === "string") row.stage = about["stage"];
          if (event === "document") row.result = about as unknown as Upload;
          if (event === "done" && about["status"] !== "success") refused = String(about["message"] ?? "");
        }
      };
      row.cancel = () => request.abort();
      request.upload.onprogress = ({ loaded, total }) => {
        row.sent = total > 0 ? loaded / total : 0;
      };
      request.onprogress = take;
      request.onabort = () => {
        row.error = text.stream.stopped;
        resolve();
      };
      request.onerror = () => reject(new TypeError("the connection was lost"));
      request.onload = () => {
        if (request.status >= 400) {
          reject(refusal(request));
          return;
        }
        if (request.status === 200 && !request.responseText.startsWith("{")) take();
        // A server without events answers with the same rows at the end.
        row.result ??= firstDocument(request.responseText);
        if (row.result === undefined) row.error = refused || text.errors.status(request.status);
        resolve();
      };
      request.open("POST", address(`/knowledge/${part(this.#base)}/upload`));
      request.setRequestHeader("Authorization", `Bearer ${token}`);
      request.setRequestHeader("Accept", "text/event-stream");
      request.send(form);
    });
  }
}

function refusal(request: XMLHttpRequest): ApiError {
  const document = firstDocument(request.responseText);
  let message = document?.error ?? "";
  try {
    const { detail } = JSON.parse(request.responseText) as { detail?: { message?: string } };
    message ||= detail?.message ?? "";
  } catch {
    // A proxy answered.
  }
  return new ApiError({ status: request.status, message: message || text.errors.status(request.status) });
}

function firstDocument(body: string): Upload | undefined {
  try {
    return (JSON.parse(body) as { documents?: Upload[] }).documents?.[0];
  } catch {
    return undefined;
  }
}
