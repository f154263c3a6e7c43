/** Finds a passage in the text of its document. */

export interface Place {
  from: number;
  to: number;
}

/**
 * The offsets that the server named, when they hold the passage; else the passage itself. A document that was uploaded
 * again may have moved or lost it.
 */
export function placeOf(document: string, passage: { text: string; start?: number; end?: number }): Place | undefined {
  const { start, end, text } = passage;
  if (text.trim() === "") return undefined;
  if (start !== undefined && end !== undefined) {
    const named = utf16(document, start, end);
    if (document.slice(named.from, named.to).trim() === text.trim()) return named;
  }
  const exact = document.indexOf(text);
  if (exact >= 0) return { from: exact, to: exact + text.length };
  return squeezed(document, text);
}

/** The server counts bytes of UTF-8, a browser's texts count UTF-16. */
function utf16(document: string, start: number, end: number): Place {
  const bytes = new TextEncoder().encode(document);
  const decoder = new TextDecoder();
  const from = decoder.decode(bytes.subarray(0, start)).length;
  return { from, to: from + decoder.decode(bytes.subarray(start, end)).length };
}

/** The same words with other white space between them. */
function squeezed(document: string, passage: string): Place | undefined {
  const words = passage.trim().split(/\s+/);
  const first = words[0];
  if (first === undefined || first === "") return undefined;
  for (let at = document.indexOf(first); at >= 0; at = document.indexOf(first, at + 1)) {
    let end = at;
    const holds = words.every((word) => {
      while (end < document.length && /\s/.test(document[end] ?? "")) end++;
      if (!document.startsWith(word, end)) return false;
      end += word.length;
      return true;
    });
    if (holds) return { from: at, to: end };
  }
  return undefined;
}

/** Texts between and inside ranges, in order; ranges that overlap are joined. */
export function marked(
  text: string,
  ranges: readonly (readonly [number, number])[],
): { text: string; isMarked: boolean }[] {
  const sorted = [...ranges]
    .map(([from, to]) => [Math.max(0, from), Math.min(text.length, to)] as const)
    .filter(([from, to]) => from < to)
    .sort((left, right) => left[0] - right[0]);
  const parts: { text: string; isMarked: boolean }[] = [];
  let at = 0;
  for (const [from, to] of sorted) {
    if (to <= at) continue;
    if (from > at) parts.push({ text: text.slice(at, from), isMarked: false });
    parts.push({ text: text.slice(Math.max(at, from), to), isMarked: true });
    at = to;
  }
  if (at < text.length) parts.push({ text: text.slice(at), isMarked: false });
  return parts;
}
