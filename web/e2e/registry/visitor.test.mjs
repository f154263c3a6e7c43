// What a visitor does: finds a skill, reads what it can do, compares versions. With and without scripts, on a phone, and past
// skills that try to be scripts.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { inspect, launch, openPage } from "../browser.mjs";
import { startRegistry } from "./registry.mjs";

let browser;
let registry;

before(async () => {
  [browser, registry] = await Promise.all([launch(), startRegistry()]);
});

after(async () => {
  await browser?.close();
  await registry?.stop();
});

const SKILL = "/acme/pdf-forms";
const PAGES = [
  ["home", "/"],
  ["search", "/search?q=forms"],
  ["search-empty", "/search?q=zzzzqqq&tier=verified"],
  ["skill", SKILL],
  ["skill-older", `${SKILL}/1.0.0`],
  ["skill-tools", `${SKILL}/-/tools`],
  ["skill-quiz", "/ada/api-onboarding/-/tools"],
  ["skill-files", `${SKILL}/-/files`],
  ["skill-file", `${SKILL}/-/files/SKILL.md`],
  ["skill-versions", `${SKILL}/-/versions`],
  ["skill-dependencies", `${SKILL}/-/dependencies`],
  ["skill-security", `${SKILL}/-/security`],
  ["skill-reviews", `${SKILL}/-/reviews`],
  ["skill-compare", `${SKILL}/-/compare?from=1.0.0&to=2.0.0`],
  ["skill-hostile", "/mallory/hostile-words"],
  ["publisher", "/acme"],
  ["publish", "/publish"],
  ["status", "/status"],
  ["sign-in", "/sign-in"],
];

for (const [size, theme] of [
  ["wide", "light"],
  ["wide", "dark"],
  ["phone", "light"],
  ["phone", "dark"],
]) {
  test(`every page holds up: ${size}, ${theme}`, async () => {
    const { page, context, problems } = await openPage(browser, registry.origin, { size, theme });
    for (const [name, path] of PAGES) {
      const response = await page.goto(path);
      assert.equal(response.status(), 200, path);
      await inspect(page, problems, `registry-${name}-${size}-${theme}`);
    }
    await context.close();
  });
}

test("a visitor finds a skill while typing and reads what it can do", async () => {
  const { page, context, problems } = await openPage(browser, registry.origin);
  await page.goto("/");
  const field = page.getByRole("main").getByRole("combobox");
  await field.pressSequentially("pdf");
  await page.getByRole("option", { name: "acme/pdf-forms" }).waitFor();
  assert.match(await page.getByRole("option").last().innerText(), /See all results/);
  await field.press("ArrowDown");
  await field.press("Enter");
  await page.waitForURL(`**${SKILL}`);
  const permissions = page.getByRole("region", { name: "What it can do on your machine" });
  assert.match(await permissions.innerText(), /Run 1 program/);
  assert.match(await permissions.innerText(), /new in 2\.0\.0/);
  assert.match(await page.getByRole("main").innerText(), /Experimental\./);
  await page.getByLabel("Codex").check();
  assert.match(
    await page.getByText("prowess install acme/pdf-forms --agent codex").innerText(),
    /--allow-experimental/,
  );
  await page.getByRole("link", { name: "See what changed" }).click();
  assert.match(await page.getByRole("main").innerText(), /Only 2\.0\.0 asks for/);
  await inspect(page, problems, "registry-journey-compare");
  await context.close();
});

test("dependencies are drawn, and lead to the skills", async () => {
  const { page, context, problems } = await openPage(browser, registry.origin);
  await page.goto(`${SKILL}/-/dependencies`);
  const drawing = page.getByRole("region", { name: "Graph of dependencies" });
  await drawing.getByRole("link", { name: /acme\/invoices/ }).click();
  await page.waitForURL("**/acme/invoices");
  await page.getByRole("link", { name: /^Dependencies/ }).click();
  const row = page.getByRole("row", { name: /acme\/pdf-forms/ });
  assert.match(await row.innerText(), /\^2\.0\.0/);
  await inspect(page, problems, "registry-dependencies");
  await context.close();
});

test("the search keeps its state in the address", async () => {
  const { page, context, problems } = await openPage(browser, registry.origin);
  await page.goto("/search?q=forms");
  await page.getByLabel("Network access").check();
  await page.getByRole("button", { name: "Apply filters" }).click();
  await page.waitForURL(/can=no-network/);
  assert.equal(await page.getByRole("article").filter({ hasText: "pdf-forms" }).count(), 0);
  await page.getByRole("link", { name: /Remove filter/ }).click();
  await page.waitForURL((url) => !url.search.includes("can="));
  assert.ok((await page.getByRole("article").filter({ hasText: "pdf-forms" }).count()) > 0);
  await inspect(page, problems, "registry-journey-search");
  await context.close();
});

test("everything works without scripts", async () => {
  const context = await browser.newContext({ baseURL: registry.origin, javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto("/");
  await page.getByRole("main").getByRole("searchbox").fill("forms");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("link", { name: "acme/pdf-forms" }).click();
  assert.ok(await page.getByText("prowess install acme/pdf-forms --allow-experimental").isVisible());
  await page.getByLabel("Cursor").check();
  assert.ok(await page.getByText("prowess install acme/pdf-forms --agent cursor").isVisible());
  for (const tab of ["Tools", "Files", "Versions", "Dependencies", "Security", "Reviews"]) {
    await page.getByRole("navigation", { name: "Parts of this skill" }).getByRole("link", { name: tab }).click();
    await page
      .getByRole("navigation", { name: "Parts of this skill" })
      .locator('[aria-current="page"]', { hasText: tab })
      .waitFor();
  }
  await context.close();
});

test("hostile words stay words", async () => {
  const { page, context, problems } = await openPage(browser, registry.origin);
  page.on("dialog", (dialog) => problems.push(`dialog: ${dialog.message()}`));
  const pages = [
    "",
    "/-/tools",
    "/-/files",
    "/-/files/SKILL.md",
    "/-/files/assets/picture.svg",
    "/-/versions",
    "/-/security",
  ];
  for (const path of [...pages.map((part) => `/mallory/hostile-words${part}`), "/search?q=hostile", "/mallory", "/"]) {
    assert.equal((await page.goto(path)).status(), 200, path);
    const foreign = await page.evaluate(() => {
      const scripts = [...document.scripts].filter((script) => !script.src.startsWith(`${location.origin}/static/`));
      const handlers = [...document.querySelectorAll("*")].filter((element) =>
        [...element.attributes].some((a) => a.name.startsWith("on")),
      );
      const links = [...document.links].filter(
        (link) => !["http:", "https:", "mailto:", "otpauth:"].includes(link.protocol),
      );
      return [...scripts, ...handlers, ...links].map((element) => element.outerHTML);
    });
    assert.deepEqual(foreign, [], path);
  }
  await inspect(page, problems, "registry-hostile");
  await context.close();
});

test("raw files are text that can do nothing", async () => {
  for (const file of ["assets/page.html", "assets/picture.svg", "SKILL.md"]) {
    const response = await fetch(`${registry.origin}/mallory/hostile-words/1.0.0/${file}`);
    assert.equal(response.status, 200, file);
    assert.match(response.headers.get("content-type"), /^text\/plain/, file);
    assert.equal(response.headers.get("x-content-type-options"), "nosniff", file);
    assert.match(response.headers.get("content-security-policy"), /sandbox/, file);
  }
});

test("a hidden skill looks like one that never was", async () => {
  for (const part of [
    "",
    "/1.0.0",
    "/-/files",
    "/-/versions",
    "/-/security",
    "/-/reviews",
    "/-/feed.atom",
    "/-/files/SKILL.md",
  ]) {
    const read = async (name) => {
      const response = await fetch(`${registry.origin}/grace/${name}${part}`, { headers: { accept: "text/html" } });
      const headers = [...response.headers].filter(([key]) => !["date", "x-request-id"].includes(key));
      return { status: response.status, headers, body: await response.text() };
    };
    const [hidden, missing] = [await read("quiet-notes"), await read("never-there")];
    assert.equal(hidden.status, 404, part);
    assert.deepEqual(hidden, missing, part);
  }
  const badges = await Promise.all(
    ["quiet-notes", "never-there"].map(async (name) =>
      (await fetch(`${registry.origin}/grace/${name}/-/badge.svg`)).text(),
    ),
  );
  assert.equal(badges[0], badges[1]);
});

test("feeds, badges and lists for programs", async () => {
  const types = {
    "/feed.atom": /atom\+xml/,
    "/acme/-/feed.atom": /atom\+xml/,
    [`${SKILL}/-/feed.atom`]: /atom\+xml/,
    [`${SKILL}/-/badge.svg`]: /svg\+xml/,
    "/sitemap.xml": /application\/xml/,
    "/opensearch.xml": /opensearch/,
    "/robots.txt": /text\/plain/,
    "/search/suggest?q=pdf": /suggestions\+json/,
  };
  for (const [path, type] of Object.entries(types)) {
    const response = await fetch(registry.origin + path);
    assert.equal(response.status, 200, path);
    assert.match(response.headers.get("content-type"), type, path);
    assert.match(await response.text(), /pdf-forms|community|experimental|search|Sitemap/, path);
  }
});

test("a policy forbids everything else", async () => {
  const response = await fetch(registry.origin);
  const policy = response.headers.get("content-security-policy");
  for (const part of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "trusted-types 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ]) {
    assert.ok(policy.includes(part), part);
  }
  assert.ok(!policy.includes("unsafe"));
});

test("a form without its token changes nothing", async () => {
  const body = new URLSearchParams({ username: "ada", password: "x" });
  for (const path of ["/sign-in", "/sign-out", "/account/tokens", `${SKILL}/-/yank`, "/moderation/acme/pdf-forms"]) {
    const response = await fetch(registry.origin + path, { method: "POST", body, redirect: "manual" });
    assert.equal(response.status, 403, path);
  }
  const foreign = await fetch(`${registry.origin}/sign-in`, {
    method: "POST",
    body,
    headers: { origin: "https://evil.example" },
  });
  assert.equal(foreign.status, 403);
});

test("no link is dead", async () => {
  const seen = new Map([["/", "the start"]]);
  const queue = ["/"];
  while (queue.length > 0 && seen.size < 600) {
    const path = queue.shift();
    const response = await fetch(registry.origin + path, { redirect: "manual", headers: { accept: "text/html" } });
    assert.ok([200, 303].includes(response.status), `${path} of ${seen.get(path)} gives ${response.status}`);
    if (!/text\/html/.test(response.headers.get("content-type") ?? "")) continue;
    // Its text looks like attributes, which is what it is for.
    if (path.startsWith("/mallory/hostile-words")) continue;
    const html = await response.text();
    for (const [, found] of html.matchAll(/(?:href|src)="([^"]+)"/g)) {
      const address = found.replaceAll("&#38;", "&").replaceAll("&amp;", "&");
      const url = new URL(address, registry.origin + path);
      if (url.origin !== registry.origin || address.startsWith("#") || url.pathname === "/openapi.json") continue;
      const next = url.pathname + url.search;
      if (!seen.has(next)) {
        seen.set(next, path);
        queue.push(next);
      }
    }
  }
  assert.ok(seen.size > 100, `${seen.size} pages`);
});
