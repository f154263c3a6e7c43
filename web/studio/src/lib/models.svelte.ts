/** The configured models, loaded once for all pickers. */
import { api } from "../api/client";
import type { Models } from "../api/types";
import { Resource } from "./resource.svelte";

export const models = new Resource<Models>((signal) => api.get<Models>("/models", { signal }));

let isAsked = false;

export function loadModels(): void {
  if (isAsked && models.error === "") return;
  isAsked = true;
  void models.reload();
}

export function currency(): string | null {
  return models.data?.currency ?? null;
}
