// Writing a skill: names, the form beside the text, problems and their fixes, versions, somebody else's change.
import assert from "node:assert/strict";

import { journeys, until } from "./journey.mjs";

const text = (page) => page.locator(".cm-content").innerText();

journeys((journey) => {
  journey("a skill is created, written, fixed and saved", { expected: [/status of 400/] }, async ({ page, studio }) => {
    await page.getByRole("button", { name: "New skill" }).click();
    await page.getByLabel("Name").fill("Release Mail");
    await page.getByRole("button", { name: "Create skill" }).click();
    await page.getByText("Skill name must be lowercase").waitFor();
    await page.getByRole("button", { name: "Use release-mail" }).click();
    await page.getByRole("button", { name: "Create skill" }).click();
    await page.getByRole("heading", { name: "release-mail" }).waitFor();

    // The form and the text are two views of one file.
    await page.getByLabel("Description").fill("Writes a mail about a release.");
    await page.getByLabel("Tags").fill("mail, writing");
    await page.getByLabel("Tags").press("Tab");
    await until("the text has the tags", async () => (await text(page)).includes("tags:"));
    assert.match(await text(page), /description: Writes a mail about a release\./);

    // A problem appears while typing, and its fix is one key.
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type(" for {{audience");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "1 problem" }).waitFor();
    await page.keyboard.press("Control+.");
    await page.getByRole("button", { name: "No problems" }).waitFor();
    assert.match(await text(page), /- name: audience/);
    await page.keyboard.press("Control+s");
    await until("it is saved", () => studio.skills.get("release-mail").version === 2);
    assert.match(studio.skills.get("release-mail").content, /name: audience/);
    await page.getByRole("button", { name: "Save version", disabled: true }).waitFor();

    await page.getByRole("tab", { name: "Versions" }).click();
    await page.getByRole("button", { name: "version 1 and the text" }).click();
    await page.locator(".cm-changedLine").first().waitFor();
  });

  journey("a word is searched in the text", async ({ page }) => {
    await page.getByRole("link", { name: "article-summary" }).click();
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+f");
    await page.locator(".cm-search").getByRole("textbox", { name: "Find" }).pressSequentially("article");
    await page.locator(".cm-searchMatch").first().waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".cm-search").waitFor({ state: "detached" });
    await page.keyboard.press("Control+f");
    await page.locator(".cm-search").waitFor();
  });

  journey("unsaved text survives a reload", async ({ page }) => {
    await page.getByRole("link", { name: "article-summary" }).click();
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("A line that was never saved");
    await page.getByText("Unsaved", { exact: true }).waitFor();
    await until("the draft is kept", () =>
      page.evaluate(() => localStorage.getItem("prowess.draft.skill.article-summary")),
    );
    page.on("dialog", (dialog) => dialog.accept());
    await page.reload();
    await page.getByText("This draft was not saved before").waitFor();
    assert.match(await text(page), /A line that was never saved/);
    await page.getByRole("button", { name: "Discard the draft" }).click();
    await until("the draft is gone", async () => !(await text(page)).includes("never saved"));
  });

  journey("two people save, and nothing is lost", { expected: [/status of 409/] }, async ({ page, studio }) => {
    await page.getByRole("link", { name: "daily-standup" }).click();
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+End");
    await page.keyboard.type("Mine.");
    const { origin } = studio;
    await fetch(`${origin}/api/v1/skills/daily-standup`, {
      method: "PUT",
      headers: {
        Authorization: "Bearer access",
        "Content-Type": "application/json",
      },
      body: JSON.stringify({
        content: studio.skills.get("daily-standup").content + "Theirs.\n",
      }),
    });
    await page.keyboard.press("Control+s");
    await page.getByRole("dialog", { name: "Somebody saved another version" }).waitFor();
    await page.locator(".cm-deletedChunk, .cm-changedLine").first().waitFor();
    await page.getByRole("button", { name: "Save mine as the newest version" }).click();
    await until("mine is saved", () => studio.skills.get("daily-standup").version === 3);
    assert.match(studio.skills.get("daily-standup").content, /Mine\./);
  });

  journey("the list is searched by words and by tags, by keyboard", async ({ page }) => {
    await page.keyboard.press("/");
    await page.keyboard.type("review");
    await page.getByText("1 skill", { exact: true }).waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Delete");
    await page.getByRole("button", { name: "documents" }).click();
    await page.getByText("1 skill", { exact: true }).waitFor();
    await page.getByRole("link", { name: "article-summary" }).waitFor();
    await page.locator("h1").click();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await page.getByText("Ask something").waitFor();
  });
});
