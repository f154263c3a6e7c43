/** What the user chose on this device. */

export type Theme = "system" | "light" | "dark";

const THEME = "prowess.theme";
const KEYS = "prowess.keys";

function read(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

class Preferences {
  #theme = $state<Theme>("system");
  #singleKeys = $state(read(KEYS) !== "off");

  constructor() {
    const theme = read(THEME);
    if (theme === "light" || theme === "dark") this.#theme = theme;
  }

  get theme(): Theme {
    return this.#theme;
  }

  set theme(theme: Theme) {
    this.#theme = theme;
    if (theme === "system") {
      delete document.documentElement.dataset["theme"];
      localStorage.removeItem(THEME);
    } else {
      document.documentElement.dataset["theme"] = theme;
      localStorage.setItem(THEME, theme);
    }
  }

  get singleKeys(): boolean {
    return this.#singleKeys;
  }

  set singleKeys(on: boolean) {
    this.#singleKeys = on;
    localStorage.setItem(KEYS, on ? "on" : "off");
  }
}

export const preferences = new Preferences();
