/** Questions that wait for an answer. Asked for from time to time: a stream per tab would use up the browser's connections. */
import { api } from "../api/client";
import type { Question } from "../api/types";
import { Resource } from "./resource.svelte";

const EVERY = 20_000;

export const pending = new Resource<Question[]>(async (signal) => {
  const { questions } = await api.get<{ questions: Question[] }>("/approvals/pending", { signal });
  return questions;
});

/** Asks while the page is visible; the result ends it. */
export function watchPending(): () => void {
  const ask = () => {
    if (document.visibilityState === "visible") void pending.reload();
  };
  ask();
  const timer = setInterval(ask, EVERY);
  document.addEventListener("visibilitychange", ask);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", ask);
    pending.stop();
  };
}
