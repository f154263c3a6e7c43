import { expect, test } from "vitest";

import { declaredInputs } from "./declared";

test.each([
  [
    "---\nname: a\ninputs:\n  - name: article\n    label: x\n  - label: y\n    name: 'style'\nmodel:\n  name: z\n---\nbody",
    "article style",
  ],
  ["---\ninputs:\n- name: a\n- name: a\n- name: b-c\n---\n", "a b-c"],
  ["---\nname: a\n---\ninputs:\n  - name: x\n", ""],
  ["no front matter", ""],
  ["---\ninputs: [\n---\n", ""],
])("%j declares %s", (content, names) => {
  expect(declaredInputs(content).join(" ")).toBe(names);
});
