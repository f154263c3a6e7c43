/**
 * Markdown of models, documents and skills as a tree. Components render the tree, so markup in the text stays text: there
 * is no way from here to HTML.
 */
import { lexer, type Token, type Tokens } from "marked";

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "emphasis" | "deleted"; children: Inline[] }
  | { kind: "link"; href: string; children: Inline[] }
  | { kind: "break" }
  /** `[2]` with what follows without a space, so that a full stop stays beside its number. */
  | { kind: "citation"; number: number; after: string };

export type Block =
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "quote"; children: Block[] }
  | { kind: "list"; ordered: boolean; start: number; items: { checked: boolean | null; children: Block[] }[] }
  | { kind: "table"; align: ("left" | "center" | "right" | null)[]; header: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

/** A block with the text it was made of: the same text is the same block, so only the last one changes while text arrives. */
export interface TextBlock {
  raw: string;
  block: Block;
}

/** More text than this is shown as it is. */
export const MAX_TEXT = 400_000;

/** Deeper nesting is shown as text. */
const MAX_DEPTH = 16;

const WEB = /^(https?:\/\/|mailto:)/i;

export function parseMarkdown(text: string, before: readonly TextBlock[] = []): TextBlock[] {
  if (text.length > MAX_TEXT) return [{ raw: text, block: { kind: "code", language: "", text } }];
  const tokens = tokensOf(text);
  if (tokens === undefined) return [{ raw: text, block: { kind: "code", language: "", text } }];
  const blocks: TextBlock[] = [];
  for (const token of tokens) {
    const known = before[blocks.length];
    if (known?.raw === token.raw) {
      blocks.push(known);
      continue;
    }
    const block = blockOf(token, 0);
    if (block !== undefined) blocks.push({ raw: token.raw, block });
  }
  return blocks;
}

/**
 * The level of each block that is a heading. Levels continue the heading above and leave none out, whatever the text does, so that
 * the page keeps one outline.
 */
export function headingLevels(blocks: readonly TextBlock[], below: number): (number | undefined)[] {
  const open: number[] = [];
  return blocks.map(({ block }) => {
    if (block.kind !== "heading") return undefined;
    while ((open.at(-1) ?? 0) >= block.level) open.pop();
    open.push(block.level);
    return Math.min(below + open.length, 6);
  });
}

/** Nesting is bounded before parsing: the lexer calls itself for each level. */
function tokensOf(text: string): Token[] | undefined {
  const deepest = 4 * MAX_DEPTH;
  if (new RegExp(`^[ \\t]*(?:(?:>|[-*+]|\\d{1,9}[.)])[ \\t]*){${deepest},}`, "m").test(text)) return undefined;
  try {
    return lexer(text, { gfm: true, breaks: false });
  } catch {
    return undefined;
  }
}

function blockOf(token: Token, depth: number): Block | undefined {
  if (depth > MAX_DEPTH) return { kind: "paragraph", children: [{ kind: "text", text: token.raw }] };
  switch (token.type) {
    case "space":
    case "def":
      return undefined;
    case "heading": {
      const heading = token as Tokens.Heading;
      return { kind: "heading", level: heading.depth, children: inlinesOf(heading.tokens, depth) };
    }
    case "code": {
      const code = token as Tokens.Code;
      return { kind: "code", language: code.lang ?? "", text: code.text };
    }
    case "blockquote":
      return { kind: "quote", children: blocksOf((token as Tokens.Blockquote).tokens, depth + 1) };
    case "hr":
      return { kind: "rule" };
    case "list": {
      const list = token as Tokens.List;
      return {
        kind: "list",
        ordered: list.ordered,
        start: typeof list.start === "number" ? list.start : 1,
        items: list.items.map((item) => ({
          checked: item.task ? (item.checked ?? false) : null,
          children: blocksOf(item.tokens, depth + 1),
        })),
      };
    }
    case "table": {
      const table = token as Tokens.Table;
      return {
        kind: "table",
        align: table.align,
        header: table.header.map((cell) => inlinesOf(cell.tokens, depth)),
        rows: table.rows.map((row) => row.map((cell) => inlinesOf(cell.tokens, depth))),
      };
    }
    case "paragraph":
    case "text": {
      const { tokens, text } = token as Tokens.Paragraph;
      return { kind: "paragraph", children: tokens ? inlinesOf(tokens, depth) : textOf(text) };
    }
    default:
      // HTML, and anything that a later version of the lexer adds.
      return { kind: "paragraph", children: [{ kind: "text", text: token.raw.trimEnd() }] };
  }
}

function blocksOf(tokens: Token[], depth: number): Block[] {
  return tokens.flatMap((token) => {
    // The box of a task is drawn by the list.
    if (token.type === "checkbox") return [];
    return blockOf(token, depth) ?? [];
  });
}

function inlinesOf(tokens: Token[] | undefined, depth: number): Inline[] {
  return (tokens ?? []).flatMap((token) => inlineOf(token, depth + 1));
}

function inlineOf(token: Token, depth: number): Inline[] {
  if (depth > MAX_DEPTH) return [{ kind: "text", text: token.raw }];
  switch (token.type) {
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inlinesOf(tokens, depth) : textOf(text);
    }
    case "escape":
      return [{ kind: "text", text: (token as Tokens.Escape).text }];
    case "codespan":
      return [{ kind: "code", text: (token as Tokens.Codespan).text }];
    case "strong":
      return [{ kind: "strong", children: inlinesOf((token as Tokens.Strong).tokens, depth) }];
    case "em":
      return [{ kind: "emphasis", children: inlinesOf((token as Tokens.Em).tokens, depth) }];
    case "del":
      return [{ kind: "deleted", children: inlinesOf((token as Tokens.Del).tokens, depth) }];
    case "br":
      return [{ kind: "break" }];
    case "checkbox":
      return [];
    case "link": {
      const link = token as Tokens.Link;
      const children = inlinesOf(link.tokens, depth);
      return isWebAddress(link.href) ? [{ kind: "link", href: link.href, children }] : textOf(link.raw);
    }
    case "image": {
      // An image is a request to a foreign server that tells it who reads; it becomes a link.
      const { href, text, raw } = token as Tokens.Image;
      if (!isWebAddress(href)) return [{ kind: "text", text: raw }];
      return [{ kind: "link", href, children: [{ kind: "text", text: text || href }] }];
    }
    default:
      return [{ kind: "text", text: token.raw }];
  }
}

function isWebAddress(href: string): boolean {
  return WEB.test(href) && URL.canParse(href);
}

const CITATION = /\[(\d{1,3})\]([.,;:!?)]*)/g;

/** Text with the numbers in brackets that may name sources. */
function textOf(text: string): Inline[] {
  const parts: Inline[] = [];
  let end = 0;
  for (const match of text.matchAll(CITATION)) {
    if (match.index > end) parts.push({ kind: "text", text: text.slice(end, match.index) });
    parts.push({ kind: "citation", number: Number(match[1]), after: match[2] ?? "" });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push({ kind: "text", text: text.slice(end) });
  return parts;
}
