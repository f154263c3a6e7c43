// Starts `prowess serve` with a folder of its own and a scripted model, and fills it through its API: what the journeys of
// this folder go through is the server that people get.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { FakeModel } from "../fake/model.mjs";

const BINARY = process.env.PROWESS_BINARY ?? fileURLToPath(new URL("../../../target/debug/prowess", import.meta.url));
export const PASSWORD = "correct horse battery";

function settings(model) {
  return [
    'model = "scripted/scripted-small"',
    "[providers.scripted]",
    'kind = "openai"',
    `base_url = "${model.origin}/v1"`,
    "",
  ].join("\n");
}

export class RealStudio {
  /** Users to add before it starts; the first is an administrator. */
  constructor(users = ["ada"]) {
    this.users = users;
    this.model = new FakeModel();
  }

  async start() {
    await this.model.start();
    this.folder = await mkdtemp(join(tmpdir(), "prowess-studio-"));
    this.data = join(this.folder, "data");
    const config = join(this.folder, "config/prowess");
    await mkdir(config, { recursive: true });
    await writeFile(join(config, "config.toml"), settings(this.model));
    this.environment = {
      ...process.env,
      XDG_CONFIG_HOME: join(this.folder, "config"),
      HOME: this.folder,
    };
    delete this.environment.PROWESS_MODEL;
    for (const [index, name] of this.users.entries()) await this.#addUser(name, index === 0);
    await this.#serve();
    if (this.users.length > 0) this.token = await this.logIn(this.users[0]);
    return this;
  }

  async #addUser(name, isAdministrator) {
    const words = ["serve", "user", "add", name, "--data", this.data, "--password-stdin"];
    const child = spawn(BINARY, isAdministrator ? [...words, "--admin"] : words, {
      env: this.environment,
      stdio: ["pipe", "ignore", "inherit"],
    });
    child.stdin.end(`${PASSWORD}\n`);
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`\`prowess ${words.join(" ")}\` ended with ${code}`);
  }

  async #serve() {
    const words = ["serve", "--data", this.data, "--listen", "127.0.0.1:0", "--runs-per-minute", "1000"];
    this.child = spawn(BINARY, words, {
      env: this.environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.printed = [];
    createInterface({ input: this.child.stderr }).on("line", (line) => this.printed.push(line));
    const lines = createInterface({ input: this.child.stdout });
    const ended = once(this.child, "exit").then(([code]) => {
      throw new Error(`${BINARY} ended with ${code}: ${this.printed.join("\n")}; build it with cargo build -p prowess`);
    });
    ended.catch(() => {});
    const address = new Promise((resolve) => {
      lines.on("line", (line) => {
        this.printed.push(line);
        const found = /listening on (http:\S+)/.exec(line);
        if (found) resolve(found[1]);
      });
    });
    this.origin = await Promise.race([address, ended]);
  }

  async stop() {
    if (this.child.exitCode === null) {
      const ended = once(this.child, "exit");
      this.child.kill("SIGTERM");
      await ended;
    }
    await this.model.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  async logIn(username) {
    const { access_token } = await this.call("POST", "/auth/login", {
      username,
      password: PASSWORD,
    });
    return access_token;
  }

  /** One request to the API; fails unless it succeeds. A `FormData` is an upload. */
  async call(method, path, body, headers = {}) {
    const isForm = body instanceof FormData;
    const response = await fetch(`${this.origin}/api/v1${path}`, {
      method,
      headers: {
        ...(this.token === undefined ? {} : { Authorization: `Bearer ${this.token}` }),
        ...(body === undefined || isForm ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      body: body === undefined || isForm ? body : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : text;
  }

  upload(base, files) {
    const form = new FormData();
    for (const [name, text] of Object.entries(files)) form.append("file", new Blob([text]), name);
    return this.call("POST", `/knowledge/${base}/upload`, form);
  }
}
