/** Search and replace in the editor, loaded when somebody searches. */
import { highlightSelectionMatches, openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { Prec, type Extension } from "@codemirror/state";
import { keymap, type EditorView } from "@codemirror/view";

// Above the key that loads this file.
export const extension: Extension = [search(), highlightSelectionMatches(), Prec.high(keymap.of(searchKeymap))];

export function open(view: EditorView): void {
  openSearchPanel(view);
}
