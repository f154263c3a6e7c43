// A provider of models in memory, with OpenAI's interface: what a real studio talks to in the journeys. `fault` is what its next
// answer does: `ok`; `split`, in single bytes, so that frames and characters are torn; `stall`, silent after the first words
// until the client leaves; `cut`, closed in the middle; `fail`, an error in the middle.
import { createServer } from "node:http";

const TITLES = ["scripted-small", "scripted-large"];

export class FakeModel {
  /** The answer, or a function from the request's body to it. */
  answer = "The deficit fell to **3.2 percent** of output [1].";
  fault = "ok";
  /** Milliseconds between tokens. */
  pace = 1;
  /** The bodies of all requests. */
  requests = [];
  /** How many connections were closed by the client in the middle of an answer. */
  abandoned = 0;
  /** An answer has begun and is silent. */
  isSilent = false;

  async start() {
    this.server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.origin = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #handle(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    if (request.url.endsWith("/models")) {
      response.setHeader("Content-Type", "application/json");
      response.end(
        JSON.stringify({
          object: "list",
          data: TITLES.map((id) => ({ id, object: "model" })),
        }),
      );
      return;
    }
    const body = JSON.parse(Buffer.concat(parts).toString());
    this.requests.push(body);
    const answer = typeof this.answer === "function" ? this.answer(body) : this.answer;
    const fault = this.fault;
    this.fault = "ok";
    let isEnded = false;
    response.on("close", () => {
      if (!isEnded) this.abandoned += 1;
    });
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const pieces = answer.match(/\s*\S+/gu) ?? [];
    const middle = Math.min(pieces.length - 1, Math.max(1, Math.ceil(pieces.length / 2)));
    for (const [index, content] of pieces.entries()) {
      if (index === middle && fault === "stall") {
        this.isSilent = true;
        return;
      }
      if (index === middle && fault === "cut") {
        response.destroy();
        return;
      }
      if (index === middle && fault === "fail") {
        response.write(`data: ${JSON.stringify({ error: { message: "the model ran out of memory", code: 500 } })}\n\n`);
        isEnded = true;
        response.end();
        return;
      }
      const frame = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
      await (fault === "split" ? inBytes(response, frame) : send(response, frame));
      if (this.pace > 0) await new Promise((resolve) => setTimeout(resolve, this.pace));
    }
    const end = {
      choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
      usage: { prompt_tokens: 359, completion_tokens: pieces.length },
    };
    isEnded = true;
    response.end(`data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`);
  }
}

function send(response, text) {
  return new Promise((resolve) => response.write(text, resolve));
}

async function inBytes(response, text) {
  for (const byte of Buffer.from(text)) await send(response, Buffer.of(byte));
}
