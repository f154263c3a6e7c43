// What the journeys through the real studio share: one server per file, a page per journey, and an inspection at its end.
import { after, before, test } from "node:test";

import { inspect, launch, openPage } from "../browser.mjs";
import { PASSWORD, RealStudio } from "./studio.mjs";

export async function signIn(page, username = "ada") {
  await page.goto("/");
  await page.getByLabel("User name").fill(username);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Skills", level: 1 }).waitFor();
}

/** Declares journeys through one studio, which `fill` prepares by its API. Each starts signed in. */
export function realJourneys(fill, declare) {
  const shared = { browser: undefined, studio: undefined };
  before(async () => {
    shared.browser = await launch();
    shared.studio = await new RealStudio(["ada", "bo"]).start();
    await fill(shared.studio);
  });
  after(async () => {
    await shared.browser?.close();
    await shared.studio?.stop();
  });
  declare((name, options, run) => {
    if (run === undefined) [run, options] = [options, {}];
    test(name, async () => {
      const { studio, browser } = shared;
      studio.model.fault = "ok";
      const opened = await openPage(browser, studio.origin, options);
      try {
        await signIn(opened.page, options.user);
        await run({ studio, browser, ...opened });
        await inspect(opened.page, opened.problems, `real-${name.replace(/[^a-z0-9]+/gi, "-").toLowerCase()}`);
      } finally {
        await opened.context.close();
      }
    });
  });
}

export { until } from "../studio/journey.mjs";
