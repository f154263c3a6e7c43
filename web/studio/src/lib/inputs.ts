/** Values for the inputs of a skill. */
import type { SkillInput } from "../api/types";

/** Required inputs without a value; a default counts as one. */
export function missingInputs(inputs: readonly SkillInput[], values: Record<string, string>): string[] {
  return inputs
    .filter((input) => input.required && (values[input.name] ?? "") === "" && (input.default ?? "") === "")
    .map((input) => input.name);
}

/** What is sent: an empty field means that the default applies, so it is left out. */
export function givenInputs(inputs: readonly SkillInput[], values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    inputs.flatMap((input) => {
      const value = values[input.name] ?? "";
      return value === "" ? [] : [[input.name, value]];
    }),
  );
}
