/** Characters that change how other text reads, or that can't be seen, are written out before a person decides. */
const HIDDEN = /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\u034F|\u115F|\u1160|\u17B4|\u17B5|\u3164|\uFFA0/gu;

export function visible(text: string): string {
  return text.replace(HIDDEN, (character) => {
    if (character === "\n" || character === "\t") return character;
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16).toUpperCase().padStart(4, "0")}}`;
  });
}
