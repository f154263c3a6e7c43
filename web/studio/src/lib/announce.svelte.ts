/** What a screen reader is told about changes that happen elsewhere on the page. */

import { untrack } from "svelte";

class Announcer {
  message = $state("");

  say(message: string): void {
    // The same text twice in a row would not be read again. An effect that says something does not depend on what was said.
    this.message = untrack(() => this.message) === message ? `${message}\u00A0` : message;
  }
}

export const announcer = new Announcer();
