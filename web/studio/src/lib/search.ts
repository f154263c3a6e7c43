/** Whether every word of the search is somewhere in the texts. */
export function matches(search: string, ...texts: (string | null | undefined)[]): boolean {
  const all = texts.join(" ").toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
