/** The questions that a skill asks before it may be used, as its front matter has them. Loaded when somebody asks for them. */
import { parse } from "yaml";

export interface Quiz {
  title: string;
  passPercent: number | undefined;
  questions: { text: string; options: string[] }[];
}

const FRONT_MATTER = /^---[ \t]*\r?\n([\s\S]*?)^---[ \t]*$/m;

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function words(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The right answers are left out: the preview shows what a model is asked. */
export function quizzesOf(content: string): Quiz[] {
  let fields: Record<string, unknown>;
  try {
    fields = record(parse(FRONT_MATTER.exec(content)?.[1] ?? "", { maxAliasCount: 0 }));
  } catch {
    return [];
  }
  return list(fields["quiz"]).map((item) => {
    const quiz = record(item);
    const score = quiz["passing-score"];
    return {
      title: words(quiz["title"]),
      passPercent: typeof score === "number" ? score : undefined,
      questions: list(quiz["questions"]).map((entry) => {
        const question = record(entry);
        return {
          text: words(question["question"]),
          options: list(question["options"]).map((option) => words(option) || words(record(option)["label"])),
        };
      }),
    };
  });
}
