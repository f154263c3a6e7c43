/** Something that is loaded from the server, with its waiting and its failure. */
import { describeError } from "../api/errors";

export class Resource<T> {
  data = $state.raw<T | undefined>(undefined);
  error = $state("");
  isLoading = $state(true);
  #load: (signal: AbortSignal) => Promise<T>;
  #current: AbortController | undefined;

  constructor(load: (signal: AbortSignal) => Promise<T>) {
    this.#load = load;
  }

  /** Loads again. What was there stays until the answer is, and also when it fails. */
  async reload(): Promise<void> {
    this.#current?.abort();
    const current = new AbortController();
    this.#current = current;
    this.isLoading = true;
    try {
      const data = await this.#load(current.signal);
      if (current.signal.aborted) return;
      this.data = data;
      this.error = "";
    } catch (error) {
      if (current.signal.aborted) return;
      this.error = describeError(error);
    } finally {
      if (this.#current === current) this.isLoading = false;
    }
  }

  stop(): void {
    this.#current?.abort();
  }
}

/** Loads at once, and again whenever something that `load` reads before its first wait changes. */
export function resource<T>(load: (signal: AbortSignal) => Promise<T>): Resource<T> {
  const made = new Resource(load);
  $effect(() => {
    void made.reload();
    return () => made.stop();
  });
  return made;
}

/** An action that runs once at a time and keeps its failure for the form that started it. */
export class Action {
  isRunning = $state(false);
  error = $state("");
  /** The member of the request that the server refused, or "". */
  field = $state("");

  async run(work: () => Promise<void>): Promise<boolean> {
    if (this.isRunning) return false;
    this.isRunning = true;
    this.error = "";
    this.field = "";
    try {
      await work();
      return true;
    } catch (error) {
      this.error = describeError(error);
      this.field = error instanceof Object && "field" in error ? String(error.field) : "";
      return false;
    } finally {
      this.isRunning = false;
    }
  }
}
