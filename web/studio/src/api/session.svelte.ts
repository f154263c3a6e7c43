/** Who is signed in. The access token stays in memory; the refresh token is kept for the next visit. */
import { errorOf } from "./errors";
import type { Tokens, User } from "./types";

const STORED = "prowess.refresh";

/** Refresh this long before the access token ends. */
const MARGIN = 30_000;

class Session {
  /** Undefined until the first answer, null when nobody is signed in. */
  user = $state<User | null | undefined>(undefined);
  /** Signed in before, and asked to sign in again: the page below stays as it is. */
  expired = $state(false);
  #access = "";
  #accessUntil = 0;

  /** Takes up the session of an earlier visit, if there is one. */
  async restore(): Promise<void> {
    if (await this.#fromCompany()) return;
    if (stored() === null) {
      this.user = null;
      return;
    }
    const token = await this.token();
    this.user = token === "" ? null : await this.#me();
  }

  /** What the provider of a company has sent the browser back with; `false` if it has not. */
  async #fromCompany(): Promise<boolean> {
    const query = new URLSearchParams(location.search);
    const [code, state] = [query.get("code"), query.get("state")];
    if (location.pathname !== "/sign-in" || code === null || state === null) return false;
    // It works once, and is not for the history.
    history.replaceState(null, "", "/");
    await this.#begin("/api/v1/auth/company/finish", { code, state }).catch(() => undefined);
    return this.user !== undefined && this.user !== null;
  }

  async signIn(username: string, password: string): Promise<void> {
    await this.#begin("/api/v1/auth/login", { username, password });
  }

  async setUp(token: string, username: string, password: string): Promise<void> {
    await this.#begin("/api/v1/auth/setup", { token, username, password });
  }

  async signOut(): Promise<void> {
    const refresh_token = stored();
    store(null);
    this.#access = "";
    this.user = null;
    this.expired = false;
    if (refresh_token !== null) await post("/api/v1/auth/logout", { refresh_token }).catch(() => undefined);
  }

  /** A valid access token, refreshed when needed; empty when the user has to sign in. */
  async token(): Promise<string> {
    if (this.#access !== "" && Date.now() < this.#accessUntil - MARGIN) return this.#access;
    return this.#refresh(this.#access);
  }

  /** The server refused this token although it looked valid. */
  async renew(refused: string): Promise<string> {
    return this.#refresh(refused);
  }

  async #begin(path: string, body: object): Promise<void> {
    const response = await post(path, body);
    if (!response.ok) throw await errorOf(response);
    this.#take((await response.json()) as Tokens);
    this.user = await this.#me();
    this.expired = false;
  }

  #take(tokens: Tokens): void {
    this.#access = tokens.access_token;
    this.#accessUntil = Date.now() + tokens.expires_in * 1000;
    store(tokens.refresh_token);
  }

  async #me(): Promise<User | null> {
    const response = await fetch("/api/v1/auth/me", { headers: { Authorization: `Bearer ${this.#access}` } });
    return response.ok ? ((await response.json()) as User) : null;
  }

  /** A refresh token works once, and a second use ends the session: tabs take turns, and read the stored one anew. */
  async #refresh(old: string): Promise<string> {
    const turn = async (): Promise<string> => {
      if (this.#access !== old) return this.#access;
      const refresh_token = stored();
      if (refresh_token === null) return this.#ended();
      const response = await post("/api/v1/auth/refresh", { refresh_token });
      if (response.status === 401 || response.status === 403 || response.status === 400) {
        store(null);
        return this.#ended();
      }
      if (!response.ok) throw await errorOf(response);
      this.#take((await response.json()) as Tokens);
      return this.#access;
    };
    // Absent where the page has no secure context, such as plain HTTP to another machine.
    const locks = (navigator as Partial<Navigator>).locks;
    return locks === undefined ? this.#alone(turn) : locks.request("prowess.refresh", turn);
  }

  #running: Promise<string> | undefined;

  #alone(turn: () => Promise<string>): Promise<string> {
    this.#running ??= turn().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  #ended(): string {
    this.#access = "";
    if (this.user) this.expired = true;
    else this.user = null;
    return "";
  }
}

export const session = new Session();

function stored(): string | null {
  return localStorage.getItem(STORED);
}

function store(token: string | null): void {
  if (token === null) localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, token);
}

function post(path: string, body: object): Promise<Response> {
  return fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}
