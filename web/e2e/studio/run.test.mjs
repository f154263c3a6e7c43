// A run and everything that can happen to its stream.
import assert from "node:assert/strict";

import { ANSWER } from "../fake/studio.mjs";
import { journeys, until } from "./journey.mjs";

const LAST_WORDS = "The pension age rises later.";

async function openSkill(page) {
  await page.getByRole("link", { name: "article-summary" }).click();
  await page.getByLabel("Article content").fill("A long article about the budget.");
}

const states = (page) =>
  page.evaluate(() => {
    window.seen = [];
    new MutationObserver(() => {
      const state = document.querySelector("[data-state]")?.dataset.state;
      if (state && window.seen.at(-1) !== state) window.seen.push(state);
    }).observe(document.body, {
      subtree: true,
      childList: true,
      attributes: true,
      attributeFilter: ["data-state"],
    });
  });
const seen = (page) => page.evaluate(() => window.seen);

journeys((journey) => {
  journey("an answer arrives with its steps, sources and cost", async ({ page }) => {
    await page.getByRole("link", { name: "article-summary" }).click();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("This input is required").waitFor();
    await page.getByLabel("Article content").fill("A long article.");
    await page.keyboard.press("Control+Enter");
    await page.getByText(LAST_WORDS).waitFor();
    await page.getByText("Finished").first().waitFor();
    await page.getByText("359 in").waitFor();
    await page.getByText("$0.00040").waitFor();
    await page.getByText(/\d steps/).click();
    await page.getByText("Search the knowledge base").waitFor();
    await page.getByRole("button", { name: "Source 2: minutes.md page 2" }).click();
    await page.getByRole("button", { name: "Open at this passage" }).click();
    const mark = page.locator("dialog mark");
    await mark.waitFor();
    assert.equal(await mark.innerText(), "Three measures were agreed after a long debate.");
    await page.keyboard.press("Escape");
  });

  for (const fault of ["ok", "split", "cut"]) {
    journey(
      `no character is lost: ${fault}`,
      { expected: [/ERR_INCOMPLETE_CHUNKED_ENCODING/] },
      async ({ page, studio }) => {
        await openSkill(page);
        await states(page);
        studio.fault = fault;
        await page.getByRole("button", { name: "Run", exact: true }).click();
        await page.getByText("Finished").first().waitFor();
        await page.getByText(LAST_WORDS).waitFor();
        const shown = await page.getByRole("region", { name: "Answer" }).innerText();
        for (const word of ["3.2 percent", "Energy tax", "postponed", "print(3.2 - 0.4)"])
          assert.ok(shown.includes(word), word);
        const expected =
          fault === "cut" ? ["connecting", "open", "retrying", "open", "done"] : ["connecting", "open", "done"];
        assert.deepEqual(await seen(page), expected);
        if (fault === "cut") {
          const [, resumedAfter] = studio.connections;
          assert.ok(Number(resumedAfter) >= 1, `resumed after event ${resumedAfter}`);
        }
        assert.equal(studio.connections.length, fault === "cut" ? 2 : 1);
      },
    );
  }

  journey("a model that falls silent is named, and Stop ends the run at once", async ({ page, studio }) => {
    await openSkill(page);
    studio.fault = "stall";
    await page.clock.install();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await until("the stream is silent", () => studio.isSilent);
    await page.getByText("3.2 percent", { exact: true }).waitFor();
    await page.clock.runFor(25_000);
    await page
      .locator("[data-state=stalled]", {
        hasText: /The model has sent nothing for 2\d s/,
      })
      .waitFor();
    const before = Date.now();
    await page.getByRole("button", { name: "Stop" }).first().click();
    await until("the connection is closed", () => studio.closed.length === 1);
    assert.ok(Date.now() - before < 1_000, "closed within a second of the click");
    await page.getByText("Stopped by you").first().waitFor();
    await until("the server was told", () => studio.cancelled.length === 1);
    await page.getByText("3.2 percent", { exact: true }).waitFor();
  });

  journey("a failure keeps the text, says why, and can be retried", async ({ page, studio }) => {
    await openSkill(page);
    studio.fault = "fail";
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("alert").getByText("the model `scripted/small` stopped in the middle").waitFor();
    await page.getByText("3.2 percent", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Retry" }).click();
    await page.getByText(LAST_WORDS).waitFor();
  });

  journey("a limit is explained, and the inputs stay", { expected: [/status of 429/] }, async ({ page, studio }) => {
    await openSkill(page);
    studio.failing.set("POST /skills/article-summary/run", {
      status: 429,
      times: 1,
    });
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("alert").getByText("Too many requests. Try again in 7 seconds.").waitFor();
    assert.equal(await page.getByLabel("Article content").inputValue(), "A long article about the budget.");
  });

  journey("two models side by side, and a replay from the history", async ({ page }) => {
    await openSkill(page);
    await page.getByRole("button", { name: "Compare" }).click();
    await page.getByLabel("Model 2").selectOption("scripted/large");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("From the large model.").waitFor();
    await until("both have finished", async () => (await page.locator("[data-state=done]").count()) === 2);
    await page.getByRole("tab", { name: "Runs" }).click();
    await page.getByRole("button", { name: "Replay" }).last().click();
    await page.getByRole("region", { name: "Answer", exact: true }).getByText(LAST_WORDS).waitFor();
    assert.equal(await page.getByLabel("Article content").inputValue(), "A long article about the budget.");
  });

  journey("markup in an answer, a source and a name stays text", async ({ page, studio }) => {
    const attacks = [
      "<script>window.hit = 1</script>",
      "<img src=x onerror='window.hit = 1'>",
      "<svg onload='window.hit = 1'></svg>",
      "[x](javascript:window.hit=1)",
      "<a href='javascript:window.hit=1'>y</a>",
      "![z](https://attacker.example/pixel.png)",
      "<iframe srcdoc='<script>parent.hit = 1</script>'></iframe>",
      "<style>body { display: none }</style>",
      "`<b>` **<b onmouseover='window.hit = 1'>w</b>**",
      "| <img src=x onerror='window.hit=1'> |\n|---|\n| <script>window.hit=1</script> |",
    ];
    studio.answer = attacks.join("\n\n");
    await openSkill(page);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("Finished").first().waitFor();
    const answer = page.getByRole("region", { name: "Answer" });
    await answer.getByText("window.hit = 1").first().waitFor();
    assert.equal(await page.evaluate(() => window.hit), undefined);
    assert.equal(await answer.locator("script, img, iframe, style, svg[onload], a[href^=javascript]").count(), 0);
    assert.equal(await answer.locator("a").count(), 1);
    assert.notEqual(ANSWER, studio.answer);
  });
});
