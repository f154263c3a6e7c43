/** `@skill` in a message. */

/** More than this in one message are refused by the server. */
export const MOST_SKILLS = 6;

/** The skills that a message begins with. */
export function mentioned(message: string): string[] {
  const names: string[] = [];
  let rest = message.trimStart();
  for (;;) {
    const match = /^@([a-z0-9-]+)(?:\s+|$)/.exec(rest);
    if (match?.[1] === undefined || names.length === MOST_SKILLS) return names;
    if (!names.includes(match[1])) names.push(match[1]);
    rest = rest.slice(match[0].length);
  }
}

/** What is being typed after an `@` before the cursor: where it begins, and its letters. */
export function typing(message: string, cursor: number): { from: number; prefix: string } | undefined {
  const match = /(?:^|\s)@([a-z0-9-]*)$/.exec(message.slice(0, cursor));
  if (match?.[1] === undefined) return undefined;
  return { from: cursor - match[1].length - 1, prefix: match[1] };
}

/** The message with the completed name, and the cursor after it. */
export function complete(message: string, cursor: number, name: string): { message: string; cursor: number } {
  const found = typing(message, cursor);
  if (found === undefined) return { message, cursor };
  const before = `${message.slice(0, found.from)}@${name} `;
  return { message: before + message.slice(cursor).replace(/^ /, ""), cursor: before.length };
}

export function without(message: string, name: string): string {
  return message.replace(new RegExp(`(^|\\s)@${name}(?:\\s+|$)`), "$1");
}
