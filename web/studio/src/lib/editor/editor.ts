/** The text editor of a skill. */
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
  type CompletionContext,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentOnInput } from "@codemirror/language";
import { forEachDiagnostic, lintGutter, lintKeymap, setDiagnostics, type Diagnostic as Mark } from "@codemirror/lint";
import { Compartment, EditorState } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";

import type { Diagnostic } from "../../api/types";
import { skillLanguage } from "./language";
import { appearance } from "./theme";

export interface EditorOptions {
  parent: HTMLElement;
  label: string;
  content: string;
  /** Names to complete after `{{`. */
  inputs: () => string[];
  onchange(content: string): void;
}

export interface SkillEditor {
  /** Replaces what differs, so that the cursor and the history stay. */
  setContent(content: string): void;
  setDiagnostics(content: string, diagnostics: Diagnostic[]): void;
  apply(edits: Diagnostic["fix"]): void;
  goTo(offset: number): void;
  destroy(): void;
}

/** Search and replace, empty until it is first used: it is larger than the rest of a first load has room for. */
const search = new Compartment();

function openSearch(view: EditorView): boolean {
  void import("./search").then(({ extension, open }) => {
    if (!view.dom.isConnected) return;
    view.dispatch({ effects: search.reconfigure(extension) });
    open(view);
  });
  return true;
}

export function createEditor(options: EditorOptions): SkillEditor {
  const view = new EditorView({
    parent: options.parent,
    state: EditorState.create({
      doc: options.content,
      extensions: [
        lineNumbers(),
        highlightActiveLineGutter(),
        highlightSpecialChars(),
        history(),
        drawSelection(),
        EditorState.allowMultipleSelections.of(true),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ override: [(context) => completeInput(context, options.inputs())] }),
        highlightActiveLine(),
        search.of([]),
        lintGutter(),
        keymap.of([
          { key: "Mod-.", run: fixAtCursor },
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...lintKeymap,
          { key: "Mod-f", run: openSearch },
          ...historyKeymap,
          ...defaultKeymap,
          // Escape, then Tab, leaves the editor; a hint below the editor says so.
          indentWithTab,
        ]),
        skillLanguage(),
        appearance(options.label),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.onchange(update.state.doc.toString());
        }),
      ],
    }),
  });

  return {
    setContent(content) {
      const current = view.state.doc.toString();
      if (current === content) return;
      let from = 0;
      const shorter = Math.min(current.length, content.length);
      while (from < shorter && current[from] === content[from]) from++;
      let end = 0;
      while (end < shorter - from && current[current.length - 1 - end] === content[content.length - 1 - end]) end++;
      view.dispatch({ changes: { from, to: current.length - end, insert: content.slice(from, content.length - end) } });
    },
    setDiagnostics(content, diagnostics) {
      // The text went on while it was being checked: the next answer fits.
      if (view.state.doc.toString() !== content) return;
      view.dispatch(
        setDiagnostics(
          view.state,
          diagnostics.map((found) => markOf(found, content.length)),
        ),
      );
    },
    apply(fix) {
      if (fix) applyFix(view, fix.edits);
    },
    goTo(offset) {
      const at = Math.min(offset, view.state.doc.length);
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}

function markOf(found: Diagnostic, length: number): Mark {
  const from = Math.min(found.from, length);
  const to = Math.min(Math.max(found.to, from), length);
  const { fix } = found;
  return {
    from,
    to,
    severity: found.severity,
    source: found.rule,
    message: found.help ? `${found.message}\n${found.help}` : found.message,
    actions: fix ? [{ name: fix.title, apply: (view) => applyFix(view, fix.edits) }] : [],
  };
}

function applyFix(view: EditorView, edits: { from: number; to: number; text: string }[]): void {
  const length = view.state.doc.length;
  if (edits.some(({ from, to }) => from > to || to > length)) return;
  view.dispatch({ changes: edits.map(({ from, to, text }) => ({ from, to, insert: text })), userEvent: "input.fix" });
  view.focus();
}

/** Applies the first fix of a problem at the cursor. */
function fixAtCursor(view: EditorView): boolean {
  const { head } = view.state.selection.main;
  const line = view.state.doc.lineAt(head);
  let fix: { action: NonNullable<Mark["actions"]>[number]; from: number; to: number } | undefined;
  forEachDiagnostic(view.state, (found, from, to) => {
    const [action] = found.actions ?? [];
    if (action === undefined || from > line.to || to < line.from) return;
    const isNearer = fix === undefined || Math.abs(from - head) < Math.abs(fix.from - head);
    if (isNearer) fix = { action, from, to };
  });
  fix?.action.apply(view, fix.from, fix.to);
  return fix !== undefined;
}

function completeInput(context: CompletionContext, inputs: string[]): CompletionResult | null {
  const open = context.matchBefore(/\{\{[\w-]*/);
  if (open === null) return null;
  const closes = context.state.sliceDoc(context.pos, context.pos + 2) === "}}";
  return {
    from: open.from + 2,
    options: inputs.map((name) => ({ label: name, apply: closes ? name : `${name}}}`, type: "variable" })),
    validFor: /^[\w-]*$/,
  };
}
