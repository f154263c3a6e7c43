// The canvas by pointer and by keyboard, runs, failures and resuming.
import assert from "node:assert/strict";

import { journeys, until } from "./journey.mjs";

const node = (page, name) => page.locator(`.svelte-flow__node[data-id="${name}"]`);

async function open(page) {
  await page.goto("/workflows/wf-1");
  await node(page, "draft").waitFor();
}

journeys((journey) => {
  journey("steps are moved, added, connected and undone by keyboard", async ({ page, studio }) => {
    await open(page);
    await node(page, "draft").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.getByText("Draft saved").waitFor();
    await page.keyboard.press("Control+z");
    await page.getByText("Saved", { exact: true }).waitFor();

    await node(page, "house-style").focus();
    await page.keyboard.press("a");
    await page.getByRole("dialog", { name: "Add a step after house-style" }).waitFor();
    await page.keyboard.type("http");
    await page.keyboard.press("Enter");
    await node(page, "http").waitFor();
    await page.getByLabel("Address").fill("https://example.com/{{start.output}}");
    await page.getByLabel("Address").press("Tab");
    await node(page, "http").focus();
    await page.keyboard.press("c");
    await page.getByLabel("Connect http to").selectOption("draft");
    await page
      .getByRole("button", {
        name: "Remove the connection from http to draft",
      })
      .waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("l");
    await page.keyboard.press("Control+s");
    await until("it is saved", () => studio.workflows.get("wf-1").revision === 8);
    const { graph_data } = studio.workflows.get("wf-1");
    assert.ok(graph_data.edges.some((edge) => edge.source === "http" && edge.target === "draft"));
    assert.equal(graph_data.nodes.find(({ id }) => id === "http").data.url, "https://example.com/{{start.output}}");
  });

  journey("steps are dragged and connected by pointer", async ({ page, studio }) => {
    await open(page);
    const box = await node(page, "nothing").boundingBox();
    await page.mouse.move(box.x + 60, box.y + 12);
    await page.mouse.down();
    await page.mouse.move(box.x + 60, box.y + 120, { steps: 6 });
    await page.mouse.up();
    await page.getByText("Draft saved").waitFor();
    const from = await node(page, "house-style").locator(".svelte-flow__handle.source").boundingBox();
    const to = await node(page, "long-enough").locator(".svelte-flow__handle.target").boundingBox();
    await page.mouse.move(from.x + 6, from.y + 6);
    await page.mouse.down();
    await page.mouse.move(to.x + 6, to.y + 6, { steps: 8 });
    await page.mouse.up();
    await page.getByRole("button", { name: "Save version" }).click();
    await until("it is saved", () => studio.workflows.get("wf-1").revision === 8);
    const { graph_data } = studio.workflows.get("wf-1");
    assert.ok(graph_data.edges.some((edge) => edge.source === "house-style" && edge.target === "long-enough"));
    assert.ok(graph_data.nodes.find(({ id }) => id === "nothing").position.y > 200);
  });

  journey("a problem is shown on its step, and the list leads to it", async ({ page }) => {
    await open(page);
    await node(page, "draft").click();
    await page.getByLabel("Skill", { exact: true }).fill("");
    await page.getByLabel("Skill", { exact: true }).press("Tab");
    await node(page, "draft").getByText("the skill is not set").waitFor();
    await page.getByRole("button", { name: "Close the settings" }).click();
    await page.getByRole("button", { name: "1 problem" }).click();
    await page.getByRole("button", { name: "Go", exact: true }).click();
    await page.getByLabel("Skill", { exact: true }).waitFor();
  });

  journey("steps light up, a failed one is named, and the rest is resumed", async ({ page, studio }) => {
    await open(page);
    studio.fault = "fail";
    studio.pace = 40;
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("textbox", { name: "topic" }).fill("October");
    await page.keyboard.press("Control+Enter");
    await node(page, "start").locator("[data-status=complete]").waitFor();
    await node(page, "draft").locator("[data-status=error]").waitFor();
    await page.getByText("the model did not answer").first().waitFor();
    await page.getByRole("button", { name: "Resume" }).click();
    await node(page, "start").locator("[data-status=restored]").waitFor();
    await node(page, "done").locator("[data-status=complete]").waitFor();
    await node(page, "nothing").locator("[data-status=skipped]").waitFor();
    await page.getByRole("region", { name: "Run the workflow" }).getByText("A draft of the letter.").waitFor();
    await node(page, "draft").click();
    await page.getByText("Last input").click();
    await page.getByText("the topic").waitFor();
  });

  journey("on a phone the workflow is a list of steps", { size: "phone" }, async ({ page, studio }) => {
    await page.goto("/workflows/wf-1");
    await page.getByRole("list", { name: "Steps" }).waitFor();
    await page.getByText("Skill or tool, from 1, 2").waitFor();
    studio.fault = "fail";
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("textbox", { name: "topic" }).fill("October");
    await page
      .getByRole("region", { name: "Run the workflow" })
      .getByRole("button", { name: "Run", exact: true })
      .click();
    await page.getByRole("button", { name: "Resume from here" }).click();
    await until("it is done", async () => (await page.locator("[data-status=complete]").count()) >= 2);
  });

  journey("an import says what it had to leave out", async ({ page }) => {
    await page.goto("/workflows");
    await page.locator("input[type=file]").setInputFiles({
      name: "a.yml",
      mimeType: "text/yaml",
      buffer: Buffer.from("kind: app"),
    });
    await page.getByText("iterations are not supported").waitFor();
    await page.getByRole("link", { name: "Open the workflow" }).click();
    await page.getByRole("textbox", { name: "Name" }).waitFor();
  });
});
