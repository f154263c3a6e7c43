import { describe, expect, test } from "vitest";

import { EventParser, EventTooLarge, MAX_EVENT, type ServerEvent } from "./sse";

const encode = (text: string) => new TextEncoder().encode(text);

function parse(...parts: (string | Uint8Array)[]): ServerEvent[] {
  const parser = new EventParser();
  return parts.flatMap((part) => parser.push(typeof part === "string" ? encode(part) : part));
}

const FRAME = 'id: 7\r\nevent: token\r\n: heartbeat\r\ndata: {"content":"Grüße 🙂"}\r\n\r\nid: 8\ndata: a\ndata: b\n\n';
const EVENTS = [
  { id: "7", event: "token", data: '{"content":"Grüße 🙂"}' },
  { id: "8", event: "message", data: "a\nb" },
];

describe("EventParser", () => {
  test("reads the same events wherever the bytes are split in two", () => {
    const bytes = encode(FRAME);
    for (let at = 0; at <= bytes.length; at++) {
      expect(parse(bytes.slice(0, at), bytes.slice(at)), `split at ${at}`).toEqual(EVENTS);
    }
  });

  test("reads the same events byte by byte", () => {
    expect(parse(...[...encode(FRAME)].map((byte) => Uint8Array.of(byte)))).toEqual(EVENTS);
  });

  test.each(["\n", "\r", "\r\n"])("ends lines at %j", (end) => {
    expect(parse(`event: a${end}data: 1${end}${end}data: 2${end}${end}`)).toEqual([
      { id: undefined, event: "a", data: "1" },
      { id: undefined, event: "message", data: "2" },
    ]);
  });

  test("takes one space after the colon away, and no more", () => {
    expect(parse("data:  x\n\ndata:y\n\n").map(({ data }) => data)).toEqual([" x", "y"]);
  });

  test("drops what is not finished, and events without data", () => {
    expect(parse("event: a\n\ndata: b\n")).toEqual([]);
  });

  test("keeps the last id for events without one", () => {
    expect(parse("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n").map(({ id }) => id)).toEqual(["1", "1", ""]);
  });

  test("skips a byte order mark", () => {
    expect(parse("\uFEFFdata: a\n\n")).toHaveLength(1);
  });

  test("refuses an event without an end", () => {
    const parser = new EventParser();
    const part = encode("x".repeat(1 << 20));
    expect(() => {
      for (let sent = 0; sent <= MAX_EVENT; sent += part.length) parser.push(part);
    }).toThrow(EventTooLarge);
  });
});
