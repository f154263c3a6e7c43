/** The passage that is open in the dialog of the app, so that a chip anywhere can open it. */
import type { Source } from "../api/types";

class OpenPassage {
  source = $state.raw<Source | undefined>(undefined);
  knowledgeBase = $state("");

  show(source: Source, knowledgeBase: string): void {
    this.source = source;
    this.knowledgeBase = knowledgeBase;
  }
}

export const openPassage = new OpenPassage();
