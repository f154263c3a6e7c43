// What a publisher does: signs in, makes a token, manages versions, turns two-factor sign-in on.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";

import { inspect, launch, openPage } from "../browser.mjs";
import { PASSWORD, signIn, startRegistry } from "./registry.mjs";

let browser;
let registry;

before(async () => {
  [browser, registry] = await Promise.all([launch(), startRegistry()]);
});

after(async () => {
  await browser?.close();
  await registry?.stop();
});

const REFUSED = { expected: [/Failed to load resource/] };

/** The code that an authenticator shows (RFC 6238). */
function totp(secret, now = Date.now()) {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...secret.replaceAll(" ", "")].map((c) => alphabet.indexOf(c).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(now / 30_000)));
  const digest = createHmac("sha1", key).update(counter).digest();
  const offset = digest[19] & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

test("a wrong password is refused with what to do", async () => {
  const { page, context, problems } = await openPage(browser, registry.origin, REFUSED);
  await page.goto("/sign-in");
  await page.getByLabel("Username").fill("acme");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("main").getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /not right/);
  assert.equal(await page.getByLabel("Username").inputValue(), "acme");
  await inspect(page, problems, "registry-sign-in-refused");
  await context.close();
});

test("the session's cookie is out of reach of scripts and other sites", async () => {
  const { page, context } = await openPage(browser, registry.origin);
  await signIn(page, "acme");
  await page.waitForURL("**/account");
  const cookies = await context.cookies();
  assert.ok(cookies.length > 0);
  for (const cookie of cookies) {
    assert.ok(cookie.httpOnly, cookie.name);
    assert.notEqual(cookie.sameSite, "None", cookie.name);
  }
  await context.close();
});

test("a publisher makes and revokes a token", async () => {
  const { page, context, problems } = await openPage(browser, registry.origin);
  await page.goto("/account/tokens");
  await page.waitForURL(/sign-in\?next=/);
  await page.getByLabel("Username").fill("acme");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("main").getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/account/tokens");
  await page.getByLabel("Name", { exact: true }).fill("laptop");
  await page.getByLabel("Only for").fill("acme/*");
  await page.getByRole("button", { name: "Make token" }).click();
  const token = (await page.getByText(/^prw_/).innerText()).trim();
  const whoami = await fetch(`${registry.origin}/api/v1/whoami`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(whoami.status, 200);
  await inspect(page, problems, "registry-token-made");
  await page.goto("/account/tokens");
  assert.equal(await page.getByText(/^prw_/).count(), 0);
  await page.getByRole("button", { name: "Revoke token laptop" }).click();
  await page.getByText("The token was revoked.").waitFor();
  await inspect(page, problems, "registry-tokens");
  await context.close();
});

test("a publisher yanks a version, takes it back, and deprecates the skill", async () => {
  const { page, context, problems } = await openPage(browser, registry.origin);
  await signIn(page, "acme");
  await page.waitForURL("**/account");
  await page.goto("/acme/pdf-forms/-/versions");
  const manage = page.getByRole("region", { name: "Manage versions" });
  await manage.getByLabel("Version").selectOption("1.0.0");
  await manage.getByLabel("Reason", { exact: true }).fill("loses the last field");
  await manage.getByRole("button", { name: "Yank version" }).click();
  await page.getByText("The version was yanked.").waitFor();
  await inspect(page, problems, "registry-yanked");
  await page.goto("/acme/pdf-forms/1.0.0");
  assert.match(await page.getByRole("main").innerText(), /1\.0\.0 was yanked\..*loses the last field/s);
  await page.goto("/acme/pdf-forms/-/versions");
  await manage.getByLabel("Version").selectOption("1.0.0");
  await manage.getByRole("button", { name: "Undo yank" }).click();
  await page.getByText("The version can be chosen again.").waitFor();
  await manage.getByLabel(/Why nobody should start/).fill("use acme/forms");
  await manage.getByRole("button", { name: "Save deprecation" }).click();
  await page.getByText("The deprecation was saved.").waitFor();
  assert.match(await page.getByRole("main").innerText(), /Deprecated\..*use acme\/forms/s);
  await page.goto("/acme/pdf-forms/-/reviews");
  assert.match(await page.getByRole("main").innerText(), /You publish this skill/);
  await context.close();
});

test("a reader reviews a skill and reports another", async () => {
  const { page, context, problems } = await openPage(browser, registry.origin);
  await signIn(page, "grace");
  await page.waitForURL("**/account");
  await page.goto("/ada/greeting/-/reviews");
  await page.getByLabel("4", { exact: true }).check();
  await page.getByLabel("Review", { exact: true }).fill("Friendly. <b>Short</b>.");
  await page.getByRole("button", { name: "Save review" }).click();
  await page.getByText("Your review was saved.").waitFor();
  assert.ok(await page.getByText("Friendly. <b>Short</b>.").first().isVisible());
  await inspect(page, problems, "registry-review");
  await page.goto("/mallory/hostile-words");
  await page.getByRole("link", { name: "Report this skill" }).click();
  await page.getByLabel(/something harmful/).check();
  await page.getByLabel("Details").fill("Look at the text.");
  await inspect(page, problems, "registry-report");
  await page.getByRole("button", { name: "Send report" }).click();
  await page.getByText("Your report was sent to the moderators.").waitFor();
  await context.close();
});

test("two-factor sign-in is set up and then asked for", async () => {
  const { page, context, problems } = await openPage(browser, registry.origin, REFUSED);
  await signIn(page, "mallory");
  await page.waitForURL("**/account");
  await page.goto("/account/two-factor");
  await page.getByRole("button", { name: "Set up" }).click();
  const secret = (await page.locator(".command code").innerText()).trim();
  await page.getByLabel("Code of six digits").fill(totp(secret));
  await page.getByRole("button", { name: "Turn on" }).click();
  await page.getByText("Two-factor sign-in is on").waitFor();
  const recovery = (await page.locator(".recovery-codes code").first().innerText()).trim();
  await inspect(page, problems, "registry-two-factor-on");
  await page.goto("/account");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are signed out.").waitFor();
  await signIn(page, "mallory");
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").innerText(), /code/i);
  // A code is accepted once, so the second sign-in uses a recovery code.
  await signIn(page, "mallory", recovery);
  await page.waitForURL("**/account");
  await context.close();
});
