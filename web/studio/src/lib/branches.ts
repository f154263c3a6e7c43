/** The messages of a chat form a tree: an edited message and a repeated answer are siblings of the first. */
import type { ChatMessage } from "../api/types";

/** The messages from the first one to `head`. */
export function pathTo(messages: readonly ChatMessage[], head: string | null): ChatMessage[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const path: ChatMessage[] = [];
  const seen = new Set<string>();
  for (let at = head === null ? undefined : byId.get(head); at !== undefined && !seen.has(at.id);) {
    seen.add(at.id);
    path.push(at);
    at = at.parent_id === null ? undefined : byId.get(at.parent_id);
  }
  return path.reverse();
}

/** The versions of a message, in the order in which they were written. */
export function siblings(messages: readonly ChatMessage[], message: ChatMessage): ChatMessage[] {
  return messages.filter((other) => other.parent_id === message.parent_id && other.role === message.role);
}

/** The end of the newest branch that goes through a message. */
export function newestLeaf(messages: readonly ChatMessage[], from: string): string {
  let leaf = from;
  for (let step = 0; step < messages.length; step++) {
    const next = messages.findLast((message) => message.parent_id === leaf);
    if (next === undefined) break;
    leaf = next.id;
  }
  return leaf;
}
