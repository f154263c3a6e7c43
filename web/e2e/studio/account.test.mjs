// Signing in, sessions that end, approvals and settings.
import assert from "node:assert/strict";

import { PASSWORD } from "../fake/studio.mjs";
import { journeys, until } from "./journey.mjs";

journeys((journey) => {
  journey(
    "a wrong password is refused in words",
    { signedIn: false, expected: [/status of 401/] },
    async ({ page }) => {
      await page.goto("/skills");
      await page.getByLabel("User name").fill("ada");
      await page.getByLabel("Password").fill("wrong");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByText("The user name or the password is wrong").waitFor();
    },
  );

  journey("the first account is made from the printed link", { signedIn: false }, async ({ page }) => {
    await page.goto("/setup#one-time-token");
    await page.getByLabel("User name").fill("ada");
    await page.getByLabel("Password", { exact: true }).fill("short");
    await page.getByLabel("Repeat the password").fill("other");
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByText("The two passwords differ").waitFor();
    await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
    await page.getByLabel("Repeat the password").fill(PASSWORD);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("heading", { name: "Skills", level: 1 }).waitFor();
  });

  journey(
    "a session that ends asks again, and the page stays",
    { expected: [/status of 401/] },
    async ({ page, studio }) => {
      await page.getByRole("link", { name: "article-summary" }).click();
      await page.getByLabel("Article content").fill("Kept across the sign-in.");
      studio.failing.set("POST /skills/article-summary/run", {
        status: 401,
        times: 1,
      });
      studio.failing.set("POST /auth/refresh", { status: 401, times: 1 });
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await page.getByText("Your session has ended").waitFor();
      await page.getByLabel("Password").fill(PASSWORD);
      await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
      await until("the dialog is closed", async () => (await page.getByRole("dialog").count()) === 0);
      assert.equal(await page.getByLabel("Article content").inputValue(), "Kept across the sign-in.");
    },
  );

  journey("a question is answered and an approval revoked", async ({ page, studio }) => {
    const now = new Date().toISOString();
    studio.questions.push({
      id: "q1",
      run_id: "r",
      skill: "mailer",
      tool: "send",
      command: ["curl", "a\u200Bb"],
      reasons: ["It sends data"],
      permissions: ["Send data to api.acme.dev"],
      can_remember: true,
      asked_at: now,
      expires_at: now,
    });
    await page.goto("/approvals");
    await page.getByText("curl a\\u{200B}b").waitFor();
    await page.getByRole("button", { name: "Deny" }).click();
    await until("it is answered", () => studio.questions.length === 0);
    await page.getByText("Nothing is waiting for an answer.").waitFor();
    await page.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByText("Nothing has been approved for good.").waitFor();
  });

  journey("changes that wait are applied with those that were asked about", async ({ page, studio }) => {
    await page.goto("/approvals");
    const card = page.getByRole("article", { name: /update_notes/ });
    await card.getByText(".envrc").waitFor();
    await card.getByRole("button", { name: "Apply all" }).click();
    await until("it is decided", () => studio.decided !== null);
    assert.deepEqual(studio.decided, { run: "7972ef2ba6ed3a99", action: "apply", accept: [".envrc"] });
    await card.waitFor({ state: "detached" });
  });

  journey("a model is tested and a token is shown once", async ({ page }) => {
    await page.goto("/settings/models");
    await page.getByRole("button", { name: "Test scripted/small" }).click();
    await page.getByText("First token after 0.08 s").waitFor();
    await page.getByRole("button", { name: "Test scripted/large" }).click();
    await page.getByText("no key is set for `scripted`").waitFor();
    await page.getByRole("tab", { name: "API tokens" }).click();
    await page.getByLabel("Name").fill("deploy");
    await page.getByRole("button", { name: "Create token" }).click();
    await page.getByText("prw_0123456789abcdef").waitFor();
  });

  journey("the theme is kept and does not flash", async ({ page }) => {
    await page.goto("/settings/account");
    await page.getByRole("button", { name: "Dark" }).click();
    await page.reload();
    const background = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    assert.equal(background, "rgb(18, 20, 22)");
    await page.getByRole("heading", { name: "Change password" }).waitFor();
  });

  journey(
    "a lost connection says so, and the next try works",
    { expected: [/ERR_EMPTY_RESPONSE|ERR_CONNECTION/] },
    async ({ page, studio }) => {
      studio.failing.set("GET /agent-view", { drop: true, times: 10 });
      await page.goto("/agents");
      await page.getByText("The server can't be reached").waitFor();
      studio.failing.clear();
      await page.getByRole("button", { name: "Retry" }).click();
      await page.getByRole("cell", { name: "Compress long articles" }).waitFor();
    },
  );

  journey("everything is usable at 200 ms latency", async ({ page, studio }) => {
    studio.latency = 200;
    await page.goto("/skills");
    await page.getByRole("link", { name: "code-review" }).click();
    await page.locator(".cm-content").waitFor();
    await page.getByText("Review this").first().waitFor();
  });
});
