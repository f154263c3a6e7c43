/** The languages of a skill file: YAML between the fences, Markdown below. */
import { yamlFrontmatter } from "@codemirror/lang-yaml";
import {
  defineLanguageFacet,
  HighlightStyle,
  Language,
  LanguageSupport,
  languageDataProp,
  syntaxHighlighting,
} from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import {
  Decoration,
  MatchDecorator,
  ViewPlugin,
  type DecorationSet,
  type EditorView,
  type ViewUpdate,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { GFM, parser } from "@lezer/markdown";

// @codemirror/lang-markdown would bring the grammars of HTML, CSS and JavaScript: 86 KB for nothing that a skill needs.
const data = defineLanguageFacet({});
const markdown = new Language(
  data,
  parser.configure([GFM, { props: [languageDataProp.add((type) => (type.isTop ? data : undefined))] }]),
  [],
  "markdown",
);

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--syntax-key)" },
  { tag: [tags.string, tags.monospace], color: "var(--syntax-string)" },
  { tag: [tags.comment, tags.meta, tags.processingInstruction], color: "var(--syntax-comment)" },
  { tag: [tags.keyword, tags.heading, tags.link], color: "var(--syntax-keyword)" },
  { tag: [tags.number, tags.bool, tags.null, tags.url], color: "var(--syntax-number)" },
  { tag: tags.heading, fontWeight: "600" },
  { tag: tags.strong, fontWeight: "600" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.strikethrough, textDecoration: "line-through" },
]);

const matcher = new MatchDecorator({
  regexp: /\{\{[a-zA-Z0-9_-]+\}\}/g,
  decoration: Decoration.mark({ class: "cm-placeholder-name" }),
});

const placeholders = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = matcher.createDeco(view);
    }
    update(update: ViewUpdate) {
      this.decorations = matcher.updateDeco(update, this.decorations);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

export function skillLanguage(): Extension {
  return [yamlFrontmatter({ content: new LanguageSupport(markdown) }), syntaxHighlighting(colours), placeholders];
}
