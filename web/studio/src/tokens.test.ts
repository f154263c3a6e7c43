import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";

const css = readFileSync("../shared/tokens.css", "utf8");

/** The colours of one theme, by role. */
function colours(theme: "light" | "dark"): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, role, light, dark] of css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)) {
    found.set(role ?? "", (theme === "light" ? light : dark) ?? "");
  }
  return found;
}

/** WCAG 2.2, relative luminance. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const value = parseInt(colour.slice(start, start + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((left, right) => left - right);
  return (light + 0.05) / (dark + 0.05);
}

const BACKGROUNDS = ["bg", "surface", "sunken"];
const TEXTS = ["text", "text-2", "accent", "danger", "warn", "ok", "info"];
const SYNTAX = ["syntax-key", "syntax-string", "syntax-comment", "syntax-keyword", "syntax-number"];

/** Text on what it is written on. */
const PAIRS = [
  ...TEXTS.flatMap((text) => BACKGROUNDS.map((background) => [text, background])),
  ...["accent", "danger", "warn", "ok", "info"].flatMap((role) => [
    [role, `${role}-soft`],
    ["text", `${role}-soft`],
  ]),
  ...SYNTAX.flatMap((text) => ["surface", "sunken"].map((background) => [text, background])),
  ["on-accent", "accent"],
  ["text", "diff-add"],
  ["text", "diff-del"],
] as [string, string][];

/** Borders of controls, the focus ring and lines of charts. */
const GRAPHICS = [
  ...BACKGROUNDS.flatMap((background) => [
    ["line-strong", background],
    ["focus", background],
  ]),
  ...[1, 2, 3, 4].map((number) => [`chart-${number}`, "surface"]),
] as [string, string][];

describe.each(["light", "dark"] as const)("%s", (theme) => {
  const roles = colours(theme);
  const colour = (role: string) => roles.get(role) ?? expect.fail(`no role ${role}`);

  test.each(PAIRS)("text %s on %s is readable", (text, background) => {
    expect(contrast(colour(text), colour(background))).toBeGreaterThanOrEqual(4.5);
  });

  test.each(GRAPHICS)("%s is visible on %s", (graphic, background) => {
    expect(contrast(colour(graphic), colour(background))).toBeGreaterThanOrEqual(3);
  });
});
