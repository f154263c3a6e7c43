/** Names of the inputs that a skill's front matter declares, for completion while it is being written. */

const FRONT_MATTER = /^---[ \t]*\r?\n([\s\S]*?)^---[ \t]*$/m;

/** Reads lines, not YAML: a front matter that is being typed rarely parses. */
export function declaredInputs(content: string): string[] {
  const yaml = FRONT_MATTER.exec(content)?.[1] ?? "";
  const section = /^inputs:[^\n]*\n((?:[ \t-][^\n]*\n|\n)*)/m.exec(yaml)?.[1] ?? "";
  const names = section.matchAll(/^[ \t]*(?:-[ \t]+)?name:[ \t]*["']?([\w-]+)/gm);
  return [...new Set([...names].map(([, name = ""]) => name))];
}
