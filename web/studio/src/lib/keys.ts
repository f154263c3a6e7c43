/** Keys that work anywhere on a page. */

export function isTyping(event: KeyboardEvent): boolean {
  const element = event.target instanceof Element ? event.target : null;
  return element?.closest("input, textarea, select, [contenteditable='true'], .cm-editor") !== null;
}

export function isModified(event: KeyboardEvent): boolean {
  return event.ctrlKey || event.metaKey || event.altKey;
}

/** Ctrl on most keyboards, Command on Apple's. */
export function isCommand(event: KeyboardEvent, key: string): boolean {
  return (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === key;
}
