// Every page, light and dark, on a wide screen and on a phone: no violation of axe, nothing in the console, no foreign request,
// nothing that scrolls sideways. Leaves a picture of each.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { inspect, launch, openPage } from "../browser.mjs";
import { FakeStudio } from "../fake/studio.mjs";
import { signIn } from "./journey.mjs";

let browser;
let studio;

before(async () => {
  browser = await launch();
  studio = await new FakeStudio().start();
  studio.questions.push({
    id: "q1",
    run_id: "run1",
    skill: "mailer",
    tool: "send",
    command: ["curl", "https://api.acme.dev/\u202Egnp.exe"],
    reasons: ["The tool sends data to api.acme.dev"],
    permissions: ["Send data to api.acme.dev"],
    can_remember: true,
    asked_at: new Date().toISOString(),
    expires_at: new Date(Date.now() + 300_000).toISOString(),
  });
});
after(async () => {
  await browser?.close();
  await studio?.stop();
});

const PAGES = [
  ["skills", "/skills", (page) => page.getByRole("link", { name: "article-summary" }).waitFor()],
  ["editor", "/skills/article-summary", (page) => page.locator(".cm-content").waitFor()],
  ["chat", "/chat", (page) => page.getByText("Ask something").waitFor()],
  ["knowledge", "/knowledge", (page) => page.getByRole("link", { name: "house-style" }).waitFor()],
  [
    "base",
    "/knowledge/kb-1",
    async (page) => {
      await page.getByRole("searchbox", { name: "Question" }).fill("deficit");
      await page.getByRole("button", { name: "Search" }).click();
      await page.getByText("Rank 1").waitFor();
    },
  ],
  ["workflows", "/workflows", (page) => page.getByRole("link", { name: "Newsletter" }).waitFor()],
  ["workflow", "/workflows/wf-1", (page) => page.getByText("house-style").first().waitFor()],
  [
    "agents",
    "/agents",
    (page) => page.getByRole("cell", { name: "Compress long" }).or(page.getByText("Compress long")).first().waitFor(),
  ],
  ["approvals", "/approvals", (page) => page.getByRole("button", { name: "Deny" }).waitFor()],
  ["models", "/settings/models", (page) => page.getByRole("button", { name: "Test scripted/small" }).waitFor()],
  ["account", "/settings/account", (page) => page.getByRole("heading", { name: "Change password" }).waitFor()],
  ["tokens", "/settings/tokens", (page) => page.getByText("Last used").first().waitFor()],
  ["usage", "/settings/usage", (page) => page.getByText("Tokens per day").first().waitFor()],
  ["users", "/settings/users", (page) => page.getByText("Administrator").first().waitFor({ state: "attached" })],
  ["audit", "/settings/audit", (page) => page.getByText("The chain of entries is intact").waitFor()],
];

for (const size of ["wide", "phone"]) {
  for (const theme of ["light", "dark"]) {
    test(`every page, ${size}, ${theme}`, async () => {
      const { page, context, problems } = await openPage(browser, studio.origin, { size, theme });
      await page.goto("/");
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      const failures = [];
      const look = (name) =>
        inspect(page, problems.splice(0), `${name}-${size}-${theme}`).catch((error) => failures.push(error.message));
      await look("sign-in");
      await signIn(page);
      for (const [name, path, ready] of PAGES) {
        try {
          await page.goto(path);
          await ready(page);
        } catch (error) {
          failures.push(`${name}: ${error.message}`);
        }
        await look(name);
      }
      await context.close();
      assert.equal(failures.join("\n"), "");
    });
  }
}
