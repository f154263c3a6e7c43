// What a moderator does: decides about a held skill, hides a reported one, revokes a version.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { inspect, launch, openPage } from "../browser.mjs";
import { signIn, startRegistry } from "./registry.mjs";

let browser;
let registry;

before(async () => {
  [browser, registry] = await Promise.all([launch(), startRegistry()]);
});

after(async () => {
  await browser?.close();
  await registry?.stop();
});

const status = async (path) => (await fetch(registry.origin + path)).status;

test("the pages of moderators do not exist for others", async () => {
  const { page, context } = await openPage(browser, registry.origin, { expected: [/404/] });
  await signIn(page, "grace");
  await page.waitForURL("**/account");
  assert.equal((await page.goto("/moderation")).status(), 404);
  assert.equal(await page.getByRole("link", { name: "Moderation" }).count(), 0);
  await context.close();
});

test("a moderator publishes a held skill and hides a reported one", async () => {
  const { page, context, problems } = await openPage(browser, registry.origin);
  assert.equal(await status("/mallory/pdf-form"), 404);
  await signIn(page, "ada");
  await page.waitForURL("**/account");
  await page.getByRole("link", { name: "Moderation" }).click();
  assert.match(await page.getByRole("main").innerText(), /its name is close to acme\/pdf-forms/);
  await inspect(page, problems, "registry-moderation");
  await page.getByRole("button", { name: "Publish mallory/pdf-form" }).click();
  await page.getByText("The skill is visible now.").waitFor();
  assert.equal(await status("/mallory/pdf-form"), 200);
  await page.getByRole("button", { name: "Hide skill mallory/helper-kit" }).click();
  await page.getByText("The skill was hidden.").waitFor();
  assert.equal(await status("/mallory/helper-kit"), 404);
  await inspect(page, problems, "registry-moderation-after");
  await context.close();
});

test("a revoked version says so and can't be had", async () => {
  const { page, context, problems } = await openPage(browser, registry.origin);
  await signIn(page, "ada");
  await page.waitForURL("**/account");
  await page.goto("/acme/pdf-forms/-/versions");
  const revoke = page.getByRole("region", { name: "Revoke a version" });
  await revoke.getByLabel("Version").selectOption("1.0.0");
  await revoke.getByLabel(/Reason/).fill("sends forms to a stranger");
  await revoke.getByRole("button", { name: "Revoke version" }).click();
  await page.getByText("The version was revoked.").waitFor();
  const gone = await page.goto("/acme/pdf-forms/1.0.0");
  assert.equal(gone.status(), 410);
  // The browser reports a page of this status as a resource that failed to load.
  const isExpected = (problem) => problem.includes("status of 410 (Gone)");
  problems.splice(0, problems.length, ...problems.filter((problem) => !isExpected(problem)));
  assert.match(await page.getByRole("main").innerText(), /1\.0\.0 was revoked\..*sends forms to a stranger/s);
  assert.match(await page.getByRole("main").innerText(), /A revoked version can't be installed/);
  await inspect(page, problems, "registry-revoked");
  assert.equal(await status("/api/v1/skills/acme/pdf-forms/1.0.0/download"), 410);
  assert.equal(await status("/acme/pdf-forms/-/files/SKILL.md?version=1.0.0"), 410);
  await page.goto("/");
  assert.match(await page.getByRole("main").innerText(), /Revoked this week.*acme\/pdf-forms 1\.0\.0/s);
  await context.close();
});
