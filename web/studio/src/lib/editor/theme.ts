/** The editor in the design's values. */
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

// CodeMirror draws squiggles and marks as `data:` images, which the content security policy blocks without a word.
const wavy = (colour: string) => ({
  backgroundImage: "none",
  paddingBottom: "0",
  textDecoration: `underline wavy ${colour}`,
  textDecorationSkipInk: "none",
  textUnderlineOffset: "3px",
});

const mark = (colour: string) => ({
  content: '""',
  display: "block",
  width: "8px",
  height: "8px",
  margin: "6px 2px 0",
  borderRadius: "50%",
  background: colour,
});

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "var(--size-2)", color: "var(--text)", backgroundColor: "var(--surface)" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { padding: "var(--space-3) 0", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { color: "var(--text-2)", backgroundColor: "var(--surface)", border: "0" },
  ".cm-activeLine": { backgroundColor: "color-mix(in oklab, var(--accent-soft) 45%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in oklab, var(--accent) 28%, transparent)",
  },
  ".cm-placeholder-name": {
    color: "var(--accent)",
    backgroundColor: "var(--accent-soft)",
    borderRadius: "3px",
    fontWeight: "600",
  },
  ".cm-lintRange-error": wavy("var(--danger)"),
  ".cm-lintRange-warning": wavy("var(--warn)"),
  ".cm-lintRange-info, .cm-lintRange-hint": wavy("var(--info)"),
  ".cm-lintRange-active": { backgroundColor: "var(--warn-soft)" },
  ".cm-lint-marker": { content: "none" },
  ".cm-lint-marker-error": { content: "none" },
  ".cm-lint-marker-warning": { content: "none" },
  ".cm-lint-marker-error::before": mark("var(--danger)"),
  ".cm-lint-marker-warning::before": mark("var(--warn)"),
  ".cm-lint-marker-info::before": mark("var(--info)"),
  ".cm-tooltip": {
    color: "var(--text)",
    backgroundColor: "var(--surface)",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius-2)",
    boxShadow: "var(--shadow)",
    overflow: "hidden",
  },
  ".cm-diagnostic": { padding: "var(--space-2) var(--space-3)", fontFamily: "var(--font)", maxWidth: "56ch" },
  ".cm-diagnostic-error": { borderLeft: "4px solid var(--danger)" },
  ".cm-diagnostic-warning": { borderLeft: "4px solid var(--warn)" },
  ".cm-diagnostic-info": { borderLeft: "4px solid var(--info)" },
  ".cm-diagnosticAction": {
    padding: "2px 10px",
    margin: "4px 8px 0 0",
    font: "inherit",
    fontSize: "var(--size-1)",
    color: "var(--on-accent)",
    backgroundColor: "var(--accent)",
    borderRadius: "var(--radius-1)",
    cursor: "pointer",
  },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { color: "var(--on-accent)", background: "var(--accent)" },
  ".cm-panels": { color: "var(--text)", backgroundColor: "var(--sunken)" },
  ".cm-panels input, .cm-panels button": { minHeight: "28px", width: "auto" },
  ".cm-searchMatch": { backgroundColor: "var(--warn-soft)", outline: "1px solid var(--warn)" },
  ".cm-changedLine, &.cm-merge-b .cm-changedLine": { backgroundColor: "var(--diff-add)" },
  ".cm-deletedChunk": { backgroundColor: "var(--diff-del)" },
  ".cm-changedText, &.cm-merge-b .cm-changedText": {
    background: "none",
    textDecoration: "underline",
    textDecorationThickness: "2px",
  },
});

/** The nonce that the server put into the page: the policy allows no style sheet without it. */
export function styleNonce(): string {
  return document.querySelector('meta[name="csp-nonce"]')?.getAttribute("content") ?? "";
}

export function appearance(label: string): Extension {
  return [
    theme,
    EditorView.cspNonce.of(styleNonce()),
    EditorView.lineWrapping,
    // A scrolling area has to be reachable by keyboard.
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "true" }),
    EditorState.phrases.of({}),
  ];
}
