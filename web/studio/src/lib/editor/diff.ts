/** Two versions of a skill, one text with the changes marked. */
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";

import { skillLanguage } from "./language";
import { appearance } from "./theme";

export function showDiff(parent: HTMLElement, label: string, before: string, after: string): () => void {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: after,
      extensions: [
        lineNumbers(),
        EditorState.readOnly.of(true),
        EditorView.editable.of(false),
        unifiedMergeView({
          original: before,
          mergeControls: false,
          highlightChanges: true,
          collapseUnchanged: { margin: 3, minSize: 6 },
        }),
        skillLanguage(),
        appearance(label),
      ],
    }),
  });
  return () => view.destroy();
}
