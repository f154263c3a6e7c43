import { expect, test } from "vitest";

import { quizzesOf } from "./quiz";

test("questions come without their answers", () => {
  const content = `---
name: a
quiz:
  - title: Units
    passing-score: 100
    questions:
      - question: Which unit?
        options:
          - label: Kilograms
          - label: Grams
            correct: true
        explanation: Always grams.
---
body
`;
  expect(quizzesOf(content)).toEqual([
    { title: "Units", passPercent: 100, questions: [{ text: "Which unit?", options: ["Kilograms", "Grams"] }] },
  ]);
});

test.each([
  "---\nname: a\n---\n",
  "---\nquiz: 7\n---\n",
  "---\nquiz: [\n---\n",
  "no front matter",
  "---\nquiz: [1]\n---",
])("%j asks nothing that could be shown wrongly", (content) => {
  expect(quizzesOf(content).every(({ questions }) => questions.length === 0)).toBe(true);
});
