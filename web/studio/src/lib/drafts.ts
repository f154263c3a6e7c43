/** Unsaved work, kept on this device until it is saved or discarded. */

const PREFIX = "prowess.draft.";

export interface Draft<T> {
  value: T;
  /** The version that the draft began with. */
  base: number;
}

export function readDraft<T>(key: string): Draft<T> | undefined {
  try {
    const kept = localStorage.getItem(PREFIX + key);
    return kept === null ? undefined : (JSON.parse(kept) as Draft<T>);
  } catch {
    return undefined;
  }
}

/** Whether it was kept: storage may be full or blocked. */
export function writeDraft<T>(key: string, draft: Draft<T>): boolean {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

export function dropDraft(key: string): void {
  localStorage.removeItem(PREFIX + key);
}
