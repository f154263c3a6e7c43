/** Undo and redo of a value that is replaced as a whole. */

const MOST = 200;

/** Changes of the same kind within this time are one step. */
const MERGE_WITHIN = 500;

export class History<T> {
  #past: T[] = [];
  #future: T[] = [];
  #lastKind = "";
  #lastAt = 0;

  /** Remembers the state before a change. Changes with the same kind that follow each other quickly are undone together. */
  record(before: T, kind = "", now = Date.now()): void {
    const continues = kind !== "" && kind === this.#lastKind && now - this.#lastAt < MERGE_WITHIN;
    this.#lastKind = kind;
    this.#lastAt = now;
    this.#future = [];
    if (continues && this.#past.length > 0) return;
    this.#past.push(before);
    if (this.#past.length > MOST) this.#past.shift();
  }

  get canUndo(): boolean {
    return this.#past.length > 0;
  }

  get canRedo(): boolean {
    return this.#future.length > 0;
  }

  undo(current: T): T | undefined {
    const before = this.#past.pop();
    if (before === undefined) return undefined;
    this.#future.push(current);
    this.#lastKind = "";
    return before;
  }

  redo(current: T): T | undefined {
    const after = this.#future.pop();
    if (after === undefined) return undefined;
    this.#past.push(current);
    this.#lastKind = "";
    return after;
  }

  clear(): void {
    this.#past = [];
    this.#future = [];
    this.#lastKind = "";
  }
}
