// Chromium for the journeys, and what every page has to hold: no message in the console, no request to another origin, nothing
// that scrolls sideways, no violation of axe. Used for the studio and for the registry's pages.
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);

/** A Chromium of the system, else the one of the package. */
const SYSTEM = [process.env.PROWESS_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser"];

// The package's own arguments include `--single-process`, with which closing a context ends the browser, and
// `--disable-web-security`, with which tests of a policy prove nothing.
const ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--use-angle=swiftshader", "--force-color-profile=srgb"];

export async function launch() {
  let executablePath = SYSTEM.find((path) => path !== undefined && existsSync(path));
  if (executablePath === undefined) {
    // The package unpacks the libraries that Chromium needs only where it believes itself in this environment.
    process.env.AWS_EXECUTION_ENV ??= "AWS_Lambda_nodejs22.x";
    const { default: packaged } = await import("@sparticuz/chromium");
    executablePath = await packaged.executablePath();
  }
  return chromium.launch({ executablePath, args: ARGUMENTS, headless: true });
}

export const SIZES = {
  wide: { width: 1440, height: 900 },
  phone: { width: 390, height: 844 },
};

/**
 * A page that remembers what went wrong in it. `options.expected` are patterns of console messages that the test provokes,
 * such as the browser's own line about a status 409.
 */
export async function openPage(browser, origin, options = {}) {
  const { size = "wide", theme = "light", expected = [], context: given } = options;
  const context =
    given ??
    (await browser.newContext({
      baseURL: origin,
      viewport: SIZES[size],
      colorScheme: theme,
      hasTouch: size === "phone",
      isMobile: size === "phone",
      reducedMotion: "reduce",
      acceptDownloads: true,
    }));
  const page = await context.newPage();
  const problems = [];
  const isExpected = (text) => expected.some((pattern) => pattern.test(text));
  page.on("console", (message) => {
    const text = `${message.type()}: ${message.text()}`;
    if (!isExpected(text)) problems.push(text);
  });
  page.on("pageerror", (error) => problems.push(`error: ${error.stack ?? error.message}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (["http:", "https:"].includes(url.protocol) && url.origin !== origin)
      problems.push(`foreign request: ${url.href}`);
  });
  page.setDefaultTimeout(Number(process.env.PROWESS_E2E_TIMEOUT ?? 20_000));
  return { page, context, problems };
}

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
let axe;

/** Violations of accessibility rules, one line each. */
export async function violations(page) {
  axe ??= await readFile(require.resolve("axe-core/axe.min.js"), "utf8");
  // Evaluated, not added as a script: the page's policy allows no script of ours.
  await page.evaluate(`${axe};undefined`);
  const found = await page.evaluate(
    (tags) =>
      window.axe.run(document, {
        runOnly: { type: "tag", values: tags },
        resultTypes: ["violations"],
      }),
    TAGS,
  );
  return found.violations.flatMap((rule) =>
    rule.nodes.map((node) => `${rule.id}: ${node.target.join(" ")}: ${node.any[0]?.message ?? rule.help}`),
  );
}

/** How many pixels of the page lie beyond its right edge. */
export async function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

/** A picture for people, in the folder that `cargo xtask web --e2e` names. */
export async function picture(page, name) {
  const folder = process.env.PROWESS_E2E_OUTPUT;
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** Everything that must hold on any page at any moment. */
export async function inspect(page, problems, name) {
  await picture(page, name);
  const found = [...problems];
  for (const violation of await violations(page)) found.push(`axe: ${violation}`);
  const wide = await overflow(page);
  if (wide > 0) found.push(`${wide} px scroll sideways`);
  if (found.length > 0) throw new Error(`${name}:\n  ${found.join("\n  ")}`);
}
