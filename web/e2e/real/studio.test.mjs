// From an empty studio to an answer with its sources, a chat and a workflow, on the server that people get.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { realJourneys, until } from "./journey.mjs";

const example = (path) => fileURLToPath(new URL(`../../../examples/${path}`, import.meta.url));
const ANSWER =
  "The reading room opens at **nine** on weekdays [1]. A loan is renewed twice [2].\n\n" +
  "| Item | Per day |\n|---|---:|\n| Book | 0.10 |\n\n```python\nprint(0.1 * 30)\n```\n\nAsk at the desk.";
const HANDBOOK = ["borrowing.md", "rooms.md", "visiting.md"];

async function fill(studio) {
  studio.model.answer = ANSWER;
  const base = await studio.call("POST", "/knowledge", { name: "handbook" });
  studio.base = base.id;
  const files = await Promise.all(
    HANDBOOK.map(async (name) => [name, await readFile(example(`handbook-answers/handbook/${name}`), "utf8")]),
  );
  await studio.upload(base.id, Object.fromEntries(files));
  for (const name of ["handbook-answers", "release-notes"]) {
    const content = await readFile(example(`${name}/SKILL.md`), "utf8");
    await studio.call("POST", "/skills", { name, content });
  }
}

const question = (page) => page.getByRole("textbox", { name: "Question" });
const answer = (page) => page.getByRole("region", { name: "Answer", exact: true });

async function openSkill(page) {
  await page.goto("/skills/handbook-answers");
  await question(page).fill("When does the reading room open?");
}

async function press(page, name) {
  await page.getByRole("button", { name, exact: true }).click();
}

realJourneys(fill, (journey) => {
  journey("an answer names its sources, and a source opens at its passage", async ({ page }) => {
    await openSkill(page);
    await press(page, "Run");
    await answer(page).getByText("Finished").waitFor();
    await answer(page).getByText("Ask at the desk.").waitFor();
    await answer(page).getByText("359 in").waitFor();
    await answer(page)
      .getByText(/\d steps/)
      .click();
    await answer(page)
      .getByRole("button", { name: /^Source 1: / })
      .first()
      .click();
    await press(page, "Open at this passage");
    const mark = page.locator("dialog mark").first();
    await mark.waitFor();
    assert.match(await mark.innerText(), /opens at 9/);
    await page.keyboard.press("Escape");
    await page.getByRole("tab", { name: "Runs" }).click();
    await page.getByRole("button", { name: "Replay" }).first().click();
    await answer(page).getByText("Ask at the desk.").waitFor();
  });

  journey("no character is lost when the model's frames are split", async ({ page, studio }) => {
    await openSkill(page);
    studio.model.fault = "split";
    await press(page, "Run");
    await answer(page).getByText("Finished").waitFor();
    const shown = await answer(page).innerText();
    for (const words of ["opens at nine on weekdays", "renewed twice", "print(0.1 * 30)", "Ask at the desk."])
      assert.ok(shown.includes(words), `${words} in ${shown}`);
  });

  journey("a model that fails in the middle leaves its text and a way to try again", async ({ page, studio }) => {
    await openSkill(page);
    studio.model.fault = "fail";
    await press(page, "Run");
    await answer(page).getByRole("alert").waitFor();
    await answer(page).getByText("opens at nine").waitFor();
    await answer(page).getByText("Failed", { exact: true }).waitFor();
    await press(page, "Retry");
    await answer(page).getByText("Ask at the desk.").waitFor();
  });

  journey("a connection that a model cuts is a failure in words", async ({ page, studio }) => {
    await openSkill(page);
    studio.model.fault = "cut";
    await press(page, "Run");
    await answer(page).getByRole("alert").waitFor();
    await answer(page).getByText("Failed", { exact: true }).waitFor();
  });

  journey("Stop ends a model that has stalled", async ({ page, studio }) => {
    await openSkill(page);
    studio.model.fault = "stall";
    const abandoned = studio.model.abandoned;
    await press(page, "Run");
    await until("the model is silent", () => studio.model.isSilent);
    await answer(page).getByText("opens at nine").waitFor();
    await page.getByRole("button", { name: "Stop" }).first().click();
    await until("the model's connection is closed", () => studio.model.abandoned === abandoned + 1);
    await answer(page).getByText("Stopped by you").waitFor();
    const { runs } = await studio.call("GET", "/runs?limit=1");
    assert.equal(runs[0].status, "cancelled");
  });

  journey("a change is saved as a version and compared with the one before, text and answers", async ({ page }) => {
    await page.goto("/skills/release-notes");
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("- Mention {{audience}} once.");
    await page.getByRole("button", { name: "No problems" }).waitFor();
    await page.keyboard.press("Control+s");
    await page.getByRole("button", { name: "Save version", disabled: true }).waitFor();
    await page.getByRole("tab", { name: "Versions 2" }).click();
    await page
      .getByRole("region", { name: "Versions" })
      .getByRole("button", { name: "Show changes", exact: true })
      .first()
      .click();
    await page.locator(".cm-changedLine").first().waitFor();
    await page.getByText("Preview", { exact: true }).click();
    await page.getByRole("region", { name: "Preview" }).getByText("{{commits}}").waitFor();
    await page.getByRole("tab", { name: "Run", exact: true }).click();
    await page.getByRole("textbox", { name: "Commits" }).fill("a1 fix");
    await press(page, "Compare");
    await page.getByLabel("Version", { exact: true }).nth(1).selectOption("1");
    await press(page, "Run");
    await until("both have finished", async () => (await page.locator("[data-state=done]").count()) === 2);
    const [one, two] = await Promise.all(
      ["Answer 1", "Answer 2"].map((name) => page.getByRole("region", { name, exact: true }).boundingBox()),
    );
    assert.ok(Math.abs(one.y - two.y) < 2 && two.x >= one.x + one.width, "the answers stand beside each other");
  });

  journey("a chat calls a skill, is edited, and is found again", async ({ page }) => {
    await page.goto("/chat");
    const message = page.getByRole("textbox", { name: "Message" });
    await message.pressSequentially("@hand");
    await page.getByRole("option", { name: /@handbook-answers/ }).waitFor();
    await page.keyboard.press("Tab");
    await message.press("End");
    await message.pressSequentially("When does the reading room open, and for how long may one keep a book at home?");
    await message.press("Enter");
    await page.getByRole("button", { name: "Retry" }).waitFor();
    await page.getByRole("article", { name: "Answer" }).or(page.getByText("Ask at the desk.")).first().waitFor();
    await page.getByRole("button", { name: "Edit" }).click();
    await message.fill("@handbook-answers Another question");
    await message.press("Enter");
    await page.getByText("2/2").or(page.getByText("2 of 2")).first().waitFor();
    await page.getByRole("button", { name: "Retry" }).waitFor();
    await page.getByRole("searchbox", { name: "Search chats" }).fill("reading room");
    await page.getByRole("link", { name: /reading room/ }).waitFor();
  });

  journey("documents are uploaded, split and ranked", async ({ page }) => {
    await page.goto("/knowledge");
    await press(page, "New knowledge base");
    await page.getByLabel("Name").fill("minutes");
    await page.getByRole("button", { name: /^Create/ }).click();
    await page.getByRole("heading", { name: "minutes" }).waitFor();
    const file = (name, text) => ({
      name,
      mimeType: "text/plain",
      buffer: Buffer.from(text),
    });
    await page
      .locator("input[type=file]")
      .setInputFiles([
        file("may.md", "# May\n\nThe committee agreed on three measures.\n"),
        file("june.txt", "In June the committee met in the library and planted a tree.\n"),
        file("broken.pdf", "not a PDF"),
      ]);
    await page.getByText("Refused").waitFor();
    await page.getByText("2 files, 2 chunks").waitFor();
    // The content of a file that is there already, under another name.
    await page
      .locator("input[type=file]")
      .setInputFiles([file("copy.md", "# May\n\nThe committee agreed on three measures.\n")]);
    await page.getByText("the same content as may.md").first().waitFor();
    await page.getByText("2 files, 2 chunks").waitFor();
    await page.getByRole("searchbox", { name: "Question" }).fill("who planted a tree");
    await press(page, "Search");
    await page.getByText("Rank 1").waitFor();
    await page.getByText("words: 1st").waitFor();
    await page.locator("mark", { hasText: "tree" }).first().waitFor();
    await page.getByRole("button", { name: "Chunks june.txt" }).click();
    await page.getByText("Chunk 1").waitFor();
    await page.keyboard.press("Escape");
  });

  journey("a workflow is imported and run, and each step has its result", async ({ page }) => {
    await page.goto("/workflows");
    await page.locator("input[type=file]").setInputFiles(example("release-workflow.json"));
    await page.getByRole("link", { name: "Open the workflow" }).or(page.locator(".svelte-flow__node").first()).click();
    const step = (id) => page.locator(`.svelte-flow__node[data-id="${id}"]`);
    await step("notes").waitFor();
    await press(page, "Run");
    await page.getByRole("textbox", { name: "log" }).fill("a1 fix\nb2 add");
    await page.keyboard.press("Control+Enter");
    await step("done").locator("[data-status=complete]").waitFor();
    await step("nothing").locator("[data-status=skipped]").waitFor();
    await page.getByRole("region", { name: "Run the workflow" }).getByText("Ask at the desk.").waitFor();
    const [above, below] = [await step("commits").boundingBox(), await step("done").boundingBox()];
    assert.ok(below.y > above.y + above.height, "it runs downwards");
  });

  journey(
    "nobody sees what belongs to somebody else",
    { user: "bo", expected: [/status of 40[34]/] },
    async ({ page }) => {
      await page
        .getByText(/no skills|No skill/i)
        .first()
        .waitFor();
      await page.goto("/skills/handbook-answers");
      await page
        .getByRole("alert")
        .getByText(/not found/)
        .waitFor();
    },
  );
});
