/** The page that the address names. Addresses are paths; the server answers each of them with the app. */

export interface Route {
  page: string;
  /** The part after the page's name, decoded; empty for a list. */
  id: string;
}

const PAGES = ["skills", "chat", "knowledge", "workflows", "agents", "approvals", "settings", "setup"] as const;
export type PageName = (typeof PAGES)[number];

export function parsePath(path: string): Route {
  const [page = "", id = ""] = path.split("/").filter((part) => part !== "");
  if (page === "") return { page: "skills", id: "" };
  try {
    return { page, id: decodeURIComponent(id) };
  } catch {
    return { page: "", id: "" };
  }
}

export function isPage(name: string): name is PageName {
  return (PAGES as readonly string[]).includes(name);
}

class Router {
  #path = $state(location.pathname);
  #query = $state(location.search);
  /** Asked before leaving a page; an answer is what would be lost. */
  #guards = new Set<() => string | undefined>();

  constructor() {
    addEventListener("popstate", () => this.#read());
    addEventListener("beforeunload", (event) => {
      if (this.unsaved() !== undefined) event.preventDefault();
    });
  }

  #read(): void {
    this.#path = location.pathname;
    this.#query = location.search;
  }

  get route(): Route {
    return parsePath(this.#path);
  }

  get path(): string {
    return this.#path;
  }

  query(name: string): string {
    return new URLSearchParams(this.#query).get(name) ?? "";
  }

  unsaved(): string | undefined {
    for (const guard of this.#guards) {
      const loss = guard();
      if (loss !== undefined) return loss;
    }
    return undefined;
  }

  /** Registers what would be lost by closing the window; the result takes it back. */
  guard(loss: () => string | undefined): () => void {
    this.#guards.add(loss);
    return () => this.#guards.delete(loss);
  }

  go(path: string, how: "push" | "replace" = "push"): void {
    if (path === location.pathname + location.search) return;
    history[how === "push" ? "pushState" : "replaceState"](null, "", path);
    const before = this.#path;
    this.#read();
    if (before !== this.#path) scrollTo(0, 0);
  }

  /** Follows links of the app without loading it again. */
  readonly onclick = (event: MouseEvent): void => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    ) {
      return;
    }
    const link = (event.target as Element | null)?.closest("a");
    if (!link || link.target !== "" || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (link.pathname.startsWith("/api/") || (link.hash !== "" && link.pathname === location.pathname)) return;
    event.preventDefault();
    this.go(link.pathname + link.search);
  };
}

export const router = new Router();

export function pathOf(page: PageName, id = ""): string {
  return id === "" ? `/${page}` : `/${page}/${encodeURIComponent(id)}`;
}
