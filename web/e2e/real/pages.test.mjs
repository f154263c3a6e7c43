// Every page of the real studio with what people have in it: examples, a long name, a long chat, runs that failed.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { inspect, launch, openPage } from "../browser.mjs";
import { signIn } from "./journey.mjs";
import { RealStudio } from "./studio.mjs";

const example = (path) => fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url));
const LONG = "a-skill-with-a-name-that-is-exactly-as-long-as-a-name-may-be-now";
const SENTENCE = "This description goes on for longer than anybody wants to read in a list. ";

let browser;
let studio;

before(async () => {
  [browser, studio] = await Promise.all([launch(), new RealStudio(["ada", "bo"]).start()]);
  studio.model.answer =
    "## Hours\n\nIt opens at **nine** [1].\n\n#### Prices\n\n| Item | Per day |\n|---|---:|\n| Book | 0.10 |\n\n" +
    `A word that does not break: ${"x".repeat(120)}\n\n\`\`\`\n${"code ".repeat(60)}\n\`\`\`\n\nThe end.`;
  for (const name of ["handbook-answers", "release-notes", "greeting", "git-insights", "api-onboarding"]) {
    const content = await readFile(example(`${name}/SKILL.md`), "utf8");
    await studio.call("POST", "/skills", { name, content });
  }
  await studio.call("POST", "/skills", {
    name: LONG,
    content: `---\nname: ${LONG}\ndescription: ${SENTENCE.repeat(8).trim()}\nmetadata:\n  tags: [a-tag-that-is-rather-long-for-a-tag]\n---\n\nSay something.\n`,
  });
  const base = await studio.call("POST", "/knowledge", { name: "handbook" });
  studio.base = base.id;
  await studio.upload(base.id, {
    "visiting.md": await readFile(example("handbook-answers/handbook/visiting.md"), "utf8"),
    [`${"a-long-name-of-a-file-".repeat(6)}.md`]: "Words about the reading room.",
  });
  const run = (inputs) => studio.call("POST", "/skills/handbook-answers/run", { inputs });
  await run({ question: "When does the reading room open?" });
  studio.model.fault = "fail";
  await run({ question: "When does it fail?" });
  const words = `@handbook-answers ${"When does the reading room open? ".repeat(6)}`;
  await studio.call("POST", "/chat/completions", {
    session_id: "long",
    message: words,
  });
  const file = JSON.parse(await readFile(example("release-workflow.json"), "utf8"));
  studio.workflow = (await studio.call("POST", "/workflows/import", file)).workflow.id;
  await studio.call("POST", `/workflows/${studio.workflow}/execute`, {
    input: "a1 fix",
  });
});
after(async () => {
  await browser?.close();
  await studio?.stop();
});

const openTab = (name, ready) => async (page) => {
  await page.getByRole("tab", { name }).click();
  await ready(page);
};

const PAGES = [
  ["skills", "/skills", (page) => page.getByRole("link", { name: LONG }).waitFor()],
  ["editor", `/skills/${LONG}`, (page) => page.locator(".cm-content").waitFor()],
  [
    "runs",
    "/skills/handbook-answers",
    openTab("Runs", (page) => page.getByRole("button", { name: "Replay" }).first().waitFor()),
  ],
  [
    "preview",
    "/skills/handbook-answers",
    async (page) => {
      await page.getByText("Preview", { exact: true }).click();
      await page.getByRole("region", { name: "Preview" }).getByText("{{question}}").waitFor();
    },
  ],
  ["chat", "/chat/long", (page) => page.getByText("The end.").waitFor()],
  [
    "completion",
    "/chat",
    async (page) => {
      await page.getByRole("textbox", { name: "Message" }).pressSequentially("@");
      await page.getByRole("option", { name: /@/ }).first().waitFor();
    },
  ],
  [
    "knowledge",
    () => `/knowledge/${studio.base}`,
    async (page) => {
      await page.getByRole("searchbox", { name: "Question" }).fill("reading room");
      await page.getByRole("button", { name: "Search" }).click();
      await page.getByText("Rank 1").waitFor();
    },
  ],
  [
    "workflow",
    () => `/workflows/${studio.workflow}`,
    (page) => page.getByText("anything", { exact: true }).locator("visible=true").first().waitFor(),
  ],
  ["agents", "/agents", (page) => page.getByText("When used").first().waitFor({ state: "attached" })],
  ["approvals", "/approvals", (page) => page.getByText("Nothing is waiting for an answer.").waitFor()],
  ["models", "/settings/models", (page) => page.getByRole("button", { name: /^Test/ }).first().waitFor()],
  ["usage", "/settings/usage", (page) => page.getByText("Tokens per day").first().waitFor()],
  ["users", "/settings/users", (page) => page.getByText("bo", { exact: true }).first().waitFor()],
  ["audit", "/settings/audit", (page) => page.getByText("The chain of entries is intact").waitFor()],
];
const EMPTY = [
  ["empty-skills", "/skills", (page) => page.getByText("There are no skills yet").waitFor()],
  ["empty-knowledge", "/knowledge", (page) => page.getByRole("button", { name: /New/ }).first().waitFor()],
  ["empty-workflows", "/workflows", (page) => page.getByRole("button", { name: /New/ }).first().waitFor()],
  ["empty-agents", "/agents", (page) => page.getByText("No skill is visible to agents.").waitFor()],
  ["empty-usage", "/settings/usage", (page) => page.getByRole("tab", { name: "Usage" }).waitFor()],
];

async function look(user, pages, size, theme) {
  const { page, context, problems } = await openPage(browser, studio.origin, {
    size,
    theme,
  });
  const failures = [];
  await signIn(page, user);
  for (const [name, path, ready] of pages) {
    try {
      await page.goto(typeof path === "string" ? path : path());
      await ready(page);
      await inspect(page, problems.splice(0), `real-${name}-${size}-${theme}`);
    } catch (error) {
      failures.push(`${name}: ${error.message}`);
    }
  }
  await context.close();
  assert.equal(failures.join("\n"), "");
}

for (const [size, theme] of [
  ["wide", "light"],
  ["phone", "dark"],
]) {
  test(`pages with what people have in them: ${size}, ${theme}`, () => look("ada", PAGES, size, theme));
  test(`pages with nothing in them: ${size}, ${theme}`, () => look("bo", EMPTY, size, theme));
}
