// What the studio's journeys share.
import { after, before, test } from "node:test";

import { inspect, launch, openPage } from "../browser.mjs";
import { FakeStudio, PASSWORD } from "../fake/studio.mjs";

export async function signIn(page) {
  await page.goto("/");
  await page.getByLabel("User name").fill("ada");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Skills", level: 1 }).waitFor();
}

/** Declares journeys that start signed in, each with a studio and a page of its own, and end with an inspection. */
export function journeys(declare) {
  let browser;
  before(async () => {
    browser = await launch();
  });
  after(() => browser?.close());
  declare((name, options, run) => {
    if (run === undefined) [run, options] = [options, {}];
    test(name, async () => {
      const studio = await new FakeStudio().start();
      const opened = await openPage(browser, studio.origin, options);
      try {
        if (options.signedIn ?? true) await signIn(opened.page);
        await run({ studio, ...opened });
        await inspect(opened.page, opened.problems, `journey-${name.replace(/[^a-z0-9]+/gi, "-").toLowerCase()}`);
      } finally {
        await opened.context.close();
        await studio.stop();
      }
    });
  });
}

/** Waits until the function returns something true; fails after the time of all other waiting. */
export async function until(what, condition, limit = 20_000) {
  const end = Date.now() + limit;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`timed out waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
