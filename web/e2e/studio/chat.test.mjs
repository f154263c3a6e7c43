// Talking to skills and models: completion, forms, branches, stopping, exporting.
import assert from "node:assert/strict";

import { journeys, until } from "./journey.mjs";

const LAST_WORDS = "The pension age rises later.";
const message = (page) => page.getByRole("textbox", { name: "Message" });

async function ask(page, words) {
  await message(page).fill(words);
  await message(page).press("Enter");
  await page.getByRole("button", { name: "Retry" }).last().waitFor();
}

journeys((journey) => {
  journey("a skill is completed by keyboard, with its inputs as a form", async ({ page, studio }) => {
    await page.goto("/chat");
    await message(page).pressSequentially("@art");
    await page.getByRole("option", { name: /@article-summary/ }).waitFor();
    await page.keyboard.press("Tab");
    assert.equal(await message(page).inputValue(), "@article-summary ");
    await page.getByLabel("Summary style").fill("short");
    await message(page).press("End");
    await message(page).pressSequentially("The budget in full.");
    await message(page).press("Enter");
    await page.getByText(LAST_WORDS).waitFor();
    await page.getByRole("button", { name: "Retry" }).waitFor();
    const [run] = studio.runs;
    assert.deepEqual(run.inputs, { style: "short" });
    await page.getByRole("button", { name: "Source 1: budget.pdf page 7" }).waitFor();
    assert.match(new URL(page.url()).pathname, /^\/chat\/chat\d+$/);
    await page.getByRole("link", { name: /@article-summary The budget/ }).waitFor();
  });

  journey("an edit makes a branch and a retry another answer", async ({ page, studio }) => {
    await page.goto("/chat");
    await ask(page, "first question");
    await message(page).press("ArrowUp");
    await page.getByText("Edit the message.").waitFor();
    await ask(page, "better question");
    await page.getByText("better question", { exact: true }).waitFor();
    assert.equal(
      await page
        .getByText("first question", { exact: true })
        .filter({ visible: true })
        .locator("xpath=self::p")
        .count(),
      0,
    );
    await page.getByRole("button", { name: "Previous version" }).first().click();
    await page.locator(".bubble", { hasText: "first question" }).waitFor();
    studio.answer = "A second opinion.";
    await page.getByRole("button", { name: "Retry" }).click();
    await page.getByText("A second opinion.").waitFor();
    await page.getByText("Version 2 of 2").first().waitFor({ state: "attached" });
    const [session] = studio.sessions.values();
    await until("all is kept", () => session.messages.length === 5);
  });

  journey("stopping keeps the text, and a reload shows the chat", async ({ page, studio }) => {
    await page.goto("/chat");
    studio.fault = "stall";
    await message(page).fill("a long story");
    await message(page).press("Enter");
    await page.locator("[data-state=open]").waitFor();
    await message(page).press("Escape");
    await page.locator("main .pill", { hasText: "Stopped" }).first().waitFor();
    await until("the server was told", () => studio.cancelled.length > 0);
    await page.reload();
    await page.locator(".bubble", { hasText: "a long story" }).waitFor();
  });

  journey(
    "a message that was refused is still in the field",
    { expected: [/status of 503/] },
    async ({ page, studio }) => {
      await page.goto("/chat");
      studio.failing.set("POST /chat/completions", {
        status: 503,
        times: 1,
        message: "the queue is full",
      });
      await message(page).fill("do not lose me");
      await message(page).press("Enter");
      await page.getByRole("alert").getByText("the queue is full").waitFor();
      assert.equal(await message(page).inputValue(), "do not lose me");
      await ask(page, await message(page).inputValue());
      const downloading = page.waitForEvent("download");
      await page.getByLabel("Chat actions").click();
      await page.getByRole("button", { name: "Export as Markdown" }).click();
      assert.equal((await downloading).suggestedFilename(), "chat.md");
      await page.getByLabel("Chat actions").click();
    },
  );

  journey("the view follows an answer until somebody scrolls up", async ({ page, studio }) => {
    await page.goto("/chat");
    studio.answer = Array.from({ length: 120 }, (_, line) => `Paragraph ${line}.`).join("\n\n");
    studio.pace = 12;
    await message(page).fill("long");
    await message(page).press("Enter");
    await page.getByText("Paragraph 40.", { exact: true }).waitFor();
    const scroller = page.getByRole("region", { name: "Messages" });
    const left = () => scroller.evaluate((node) => node.scrollHeight - node.clientHeight - node.scrollTop);
    assert.ok((await left()) < 60, "it is at the end");
    await scroller.hover();
    await page.mouse.wheel(0, -300);
    await page.getByRole("button", { name: "Latest" }).waitFor();
    await page.getByText("Paragraph 70.", { exact: true }).waitFor({ state: "attached" });
    assert.ok((await left()) > 200, "it stayed where the reader is");
    await page.getByRole("button", { name: "Latest" }).click();
    await until("it is at the end again", async () => (await left()) < 60);
    await page.getByRole("button", { name: "Retry" }).waitFor();
  });
});
