import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import globals from "globals";
import typescript from "typescript-eslint";

import svelteConfig from "./svelte.config.js";

export default typescript.config(
  { ignores: ["dist/", "node_modules/"] },
  js.configs.recommended,
  ...typescript.configs.strict,
  ...svelte.configs.recommended,
  {
    languageOptions: { globals: { ...globals.browser, ...globals.node } },
    rules: {
      eqeqeq: "error",
      "no-console": "error",
      // Text of a model, a document or a skill never becomes markup.
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Markup from text is an injection." },
        { property: "outerHTML", message: "Markup from text is an injection." },
        { property: "insertAdjacentHTML", message: "Markup from text is an injection." },
      ],
      "no-restricted-syntax": [
        "error",
        { selector: "NewExpression[callee.name='EventSource']", message: "It can't send a token; use lib/stream.ts." },
      ],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
    },
  },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: {
      parserOptions: { extraFileExtensions: [".svelte"], parser: typescript.parser, svelteConfig },
    },
    rules: {
      "svelte/no-at-html-tags": "error",
      // The policy forbids style attributes in markup. Values that change go through `style:` directives.
      "svelte/no-inline-styles": ["error", { allowTransitions: false }],
      // Maps here are replaced as a whole; nothing changes inside one.
      "svelte/prefer-svelte-reactivity": "off",
      // Paths are resolved by our own router.
      "svelte/no-navigation-without-resolve": "off",
    },
  },
  { files: ["tools/**"], rules: { "no-console": "off" } },
);
