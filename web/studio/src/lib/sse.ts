/** Reads server-sent events from bytes as they arrive, however the network has split them. */

export interface ServerEvent {
  /** The last `id:` that was seen, or undefined before the first one. */
  id: string | undefined;
  event: string;
  data: string;
}

/** An event larger than this is a broken or hostile server, not an answer. */
export const MAX_EVENT = 8 << 20;

export class EventTooLarge extends Error {
  constructor() {
    super(`the server sent an event of more than ${MAX_EVENT >> 20} MiB`);
  }
}

export class EventParser {
  #decoder = new TextDecoder();
  #line = "";
  #afterCarriageReturn = false;
  #id: string | undefined;
  #event = "";
  #data: string[] = [];
  #size = 0;

  /** The events that these bytes complete. */
  push(bytes: Uint8Array): ServerEvent[] {
    const events: ServerEvent[] = [];
    let text = this.#decoder.decode(bytes, { stream: true });
    // CRLF is one line end, also when its halves arrive apart.
    if (this.#afterCarriageReturn && text.startsWith("\n")) text = text.slice(1);
    if (text !== "") this.#afterCarriageReturn = false;
    let start = 0;
    for (let at = 0; at < text.length; at++) {
      const character = text[at];
      if (character !== "\n" && character !== "\r") continue;
      this.#endLine(text.slice(start, at), events);
      if (character === "\r") {
        if (at + 1 === text.length) this.#afterCarriageReturn = true;
        else if (text[at + 1] === "\n") at++;
      }
      start = at + 1;
    }
    this.#line += text.slice(start);
    this.#count(text.length - start);
    return events;
  }

  #endLine(rest: string, events: ServerEvent[]): void {
    const line = this.#line + rest;
    this.#line = "";
    if (line === "") {
      // An event without data is dropped, as the HTML standard says.
      if (this.#data.length > 0) {
        events.push({ id: this.#id, event: this.#event === "" ? "message" : this.#event, data: this.#data.join("\n") });
      }
      this.#event = "";
      this.#data = [];
      this.#size = 0;
      return;
    }
    this.#count(rest.length);
    const colon = line.indexOf(":");
    // A line that begins with a colon is a comment, such as a heartbeat.
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
  }

  #count(characters: number): void {
    this.#size += characters;
    if (this.#size > MAX_EVENT) throw new EventTooLarge();
  }
}
