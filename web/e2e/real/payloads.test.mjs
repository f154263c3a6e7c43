// Texts that are markup, wherever somebody else can put a text: names, descriptions, prompts, answers, documents and their
// names, chats, workflows. They stay text under the server's own policy, on every page that shows them.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { realJourneys } from "./journey.mjs";

const list = fileURLToPath(new URL("../../../crates/prowess-registry/src/pages/samples/payloads.txt", import.meta.url));
const PAYLOADS = (await readFile(list, "utf8")).split("\n").filter((line) => line !== "");
const ALL = PAYLOADS.join("\n\n");
const IN_A_NAME = '<img src=x onerror=alert(1)>" onfocus="alert(1)';
/** As the name of a file: no path, and nothing that its own rules refuse. */
const FILE = "<svg onload=alert(1)> 'x' [a](javascript).md";

const quoted = (text) => JSON.stringify(text);

async function fill(studio) {
  assert.ok(PAYLOADS.length >= 30, `${PAYLOADS.length} payloads`);
  studio.model.answer = `${ALL}\n\nThe end of the answer.`;
  const base = await studio.call("POST", "/knowledge", { name: "hostile" });
  studio.base = base.id;
  await studio.upload(base.id, {
    [FILE]: ALL,
    "page.svg": `<svg onload="alert(1)">words</svg>`,
  });
  const content = [
    "---",
    "name: hostile-words",
    `description: ${quoted(IN_A_NAME)}`,
    `license: ${quoted(IN_A_NAME)}`,
    "metadata:",
    `  tags: [${quoted("<b>tag</b>")}]`,
    "inputs:",
    "  - name: words",
    `    label: ${quoted(IN_A_NAME)}`,
    `    description: ${quoted(IN_A_NAME)}`,
    `    default: ${quoted(IN_A_NAME)}`,
    "knowledge_base: hostile",
    "---",
    "",
    ALL.replaceAll("{{", "{ {"),
    "",
    "{{words}}",
    "",
  ].join("\n");
  await studio.call("POST", "/skills", { name: "hostile-words", content });
  await studio.call("POST", "/skills/hostile-words/run", {
    inputs: { words: "alert script onerror img svg" },
  });
  await studio.call("POST", "/chat/completions", {
    session_id: "hostile",
    message: `@hostile-words ${ALL}`,
  });
  const node = (id, type, x, data) => ({
    id,
    type,
    position: { x, y: 0 },
    data,
  });
  const workflow = await studio.call("POST", "/workflows", {
    name: IN_A_NAME,
    description: ALL,
    graph_data: {
      nodes: [
        node("start", "start", 0, { inputVariable: "topic", label: IN_A_NAME }),
        node("done", "end", 300, {
          outputVariable: IN_A_NAME,
          label: "<script>alert(1)</script>",
        }),
      ],
      edges: [{ id: "e", source: "start", target: "done" }],
    },
  });
  studio.workflow = workflow.id;
  await studio.call("POST", "/tokens", { name: IN_A_NAME });
}

/** Elements and attributes that our own markup never has, and links that are not of the web. */
const foreign = (page) =>
  page.evaluate(() => {
    const found = [...document.querySelectorAll("iframe, object, embed, base, video, audio, math, form[action], a")]
      .filter((node) => node.localName !== "a" || !/^(https?|mailto):$/.test(node.protocol))
      .map((node) => node.outerHTML.slice(0, 120));
    const images = [...document.images].filter((node) => new URL(node.src).pathname !== "/favicon.svg");
    const handlers = [...document.querySelectorAll("*")].flatMap((node) =>
      [...node.attributes].filter(({ name }) => name.startsWith("on")).map(({ name }) => `${node.localName}[${name}]`),
    );
    const scripts = [...document.scripts].filter((node) => new URL(node.src).origin !== location.origin);
    return [...found, ...handlers, ...[...images, ...scripts].map((node) => node.outerHTML)];
  });

realJourneys(fill, (journey) => {
  journey(`${PAYLOADS.length} texts that are markup stay text everywhere`, async ({ page, studio }) => {
    page.on("dialog", (dialog) => assert.fail(`a script ran: ${dialog.message()}`));
    const answer = page.getByRole("region", { name: "Answer", exact: true });
    const places = [
      ["/skills", () => page.getByText(IN_A_NAME).first().waitFor()],
      [
        "/skills/hostile-words",
        async () => {
          await page.getByRole("button", { name: "Run", exact: true }).click();
          await answer.getByText("The end of the answer.").waitFor();
        },
      ],
      ["/chat/hostile", () => page.getByText("The end of the answer.").waitFor()],
      ["/knowledge", () => page.getByRole("link", { name: "hostile" }).waitFor()],
      [
        `/knowledge/${studio.base}`,
        async () => {
          await page.getByText(FILE).first().waitFor();
          await page.getByRole("searchbox", { name: "Question" }).fill("alert script");
          await page.getByRole("button", { name: "Search" }).click();
          await page.getByText("Rank 1").waitFor();
          await page.getByRole("button", { name: "Open at this passage" }).first().click();
          await page.locator("dialog mark").first().waitFor();
        },
      ],
      ["/workflows", () => page.getByText(IN_A_NAME).first().waitFor()],
      [`/workflows/${studio.workflow}`, () => page.locator(".svelte-flow__node").nth(1).waitFor()],
      ["/agents", () => page.getByText(IN_A_NAME).first().waitFor()],
      ["/settings/tokens", () => page.getByText(IN_A_NAME).first().waitFor()],
      ["/settings/audit", () => page.getByText("The chain of entries is intact").waitFor()],
    ];
    for (const [path, ready] of places) {
      await page.goto(path);
      await ready();
      assert.deepEqual(await foreign(page), [], path);
    }
  });
});
