// A studio in memory, for journeys about faults that a real server can't be asked for: streams that split, stall, are cut or
// fail, and refused requests. It answers the routes of docs/design/studio-api.md and serves the app under the same policy.
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const DIST = fileURLToPath(new URL("../../studio/dist/", import.meta.url));
const TYPES = {
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".html": "text/html; charset=utf-8",
};
const NOW = "2026-11-19T04:15:25.123Z";
const PASSWORD = "correct horse battery";

function policy(nonce) {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}' 'unsafe-hashes' 'sha256-tcbDxjMo+xKqM21aCGYbs/QAJqB7yUXC06oPWDapBgc='`,
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types svelte-trusted-html",
  ].join("; ");
}

const SUMMARY = `---
name: article-summary
description: Compress long articles into structured key points.
metadata:
  tags: [writing, documents]
inputs:
  - name: article
    label: Article content
    type: textarea
    required: true
    description: The full text of the article to summarize
  - name: style
    label: Summary style
    default: concise and professional
knowledge_base: house-style
model:
  temperature: 0.3
  max_tokens: 1000
---

Please summarize the following article in a {{style}} tone:

{{article}}

## Output requirements

- Extract 3 to 5 core points
- Keep **key data** and citations
`;

/** The answer that the scripted model gives, unless a test sets another. */
const ANSWER =
  "The deficit fell to **3.2 percent** of output [1]. Three measures were agreed [2], and one was postponed.\n\n" +
  "| Measure | Effect |\n|---|---:|\n| Energy tax | 0.4 |\n| Pension age | 0.2 |\n\n" +
  "1. The energy tax begins in March.\n2. The pension age rises later.\n\n```python\nprint(3.2 - 0.4)\n```\n";

const SOURCES = [
  {
    doc_id: "budget.pdf",
    chunk_index: 4,
    score: 0.0325,
    text: "The deficit fell to 3.2 percent of output.",
    page: 7,
    number: 1,
    injected: true,
  },
  {
    doc_id: "minutes.md",
    chunk_index: 1,
    score: 0.0311,
    text: "Three measures were agreed after a long debate.",
    page: 2,
    number: 2,
    injected: true,
  },
  {
    doc_id: "notes.txt",
    chunk_index: 0,
    score: 0.0122,
    text: "The committee met on Tuesday.",
    page: null,
    number: null,
    injected: false,
  },
].map((source) => ({ ...source, knowledge_base: "kb-1" }));

const DOCUMENT = `# Budget\n\n${"The committee read the report. ".repeat(40)}\n\nThe deficit fell to 3.2 percent of output.\n\nThree measures were agreed after a long debate.\n\n${"The next meeting is in May. ".repeat(40)}`;

function fieldsOf(content) {
  const value = (name) => new RegExp(`^${name}: *(.*)$`, "m").exec(content)?.[1]?.trim() ?? "";
  const tags = /^ *tags: *\[(.*)\]/m.exec(content)?.[1] ?? "";
  const inputs = [...content.matchAll(/^ +- name: *(\S+)\n((?: {4,}.*\n)*)/gm)].map(([, name, rest]) => ({
    name,
    label: /label: *(.*)/.exec(rest)?.[1] ?? name,
    type: /type: textarea/.test(rest) ? "textarea" : "text",
    required: /required: true/.test(rest),
    default: /default: *(.*)/.exec(rest)?.[1] ?? null,
    description: /description: *(.*)/.exec(rest)?.[1] ?? null,
  }));
  return {
    description: value("description"),
    tags: tags
      .split(",")
      .map((tag) => tag.trim())
      .filter(Boolean),
    inputs,
    knowledge_base: value("knowledge_base") || null,
    prompt: content.split(/^---$/m).slice(2).join("---").trim(),
  };
}

function diagnosticsOf(content) {
  const { inputs } = fieldsOf(content);
  return [...content.matchAll(/\{\{(\w+)\}\}/g)].flatMap((match) => {
    if (inputs.some(({ name }) => name === match[1])) return [];
    const at = /^inputs:\n/m.exec(content);
    const end = at ? at.index + at[0].length : 4;
    const text = `${at ? "" : "inputs:\n"}  - name: ${match[1]}\n`;
    return [
      {
        rule: "undeclared-placeholder",
        severity: "error",
        message: `\`${match[1]}\` is not an input`,
        help: "declare it in `inputs`",
        from: match.index,
        to: match.index + match[0].length,
        line: content.slice(0, match.index).split("\n").length,
        column: 1,
        fix: { title: "Declare it", edits: [{ from: end, to: end, text }] },
      },
    ];
  });
}

export class FakeStudio {
  skills = new Map();
  versions = new Map();
  runs = [];
  sessions = new Map();
  workflows = new Map();
  executions = new Map();
  documents = [
    {
      doc_id: "budget.pdf",
      title: null,
      format: "pdf",
      bytes: 81_234,
      pages: 12,
      chunks: 31,
      uploaded_at: NOW,
    },
    {
      doc_id: "minutes.md",
      title: null,
      format: "markdown",
      bytes: 4_210,
      pages: null,
      chunks: 6,
      uploaded_at: NOW,
    },
  ];
  questions = [];
  /** The last decision about changes. */
  decided = null;
  approvals = [
    {
      skill: "git-insights",
      tool: "recent_changes",
      permissions: ["Run 1 program: git"],
      digest: "sha256:1",
      created_at: NOW,
    },
  ];
  /** Changes of tools: one run waits for a decision. */
  changes = [
    {
      run: "7972ef2ba6ed3a99",
      tool: "git-insights/update_notes",
      state: "pending",
      started_at: NOW,
      changes: [
        { path: "notes.md", kind: "changed", bytes: 120, applied: false },
        { path: ".envrc", kind: "added", bytes: 12, applied: false, decision: "ask", reason: "it is hidden" },
      ],
      changes_applied: false,
    },
  ];
  /** What the next stream does: ok, split, stall, cut, fail. */
  fault = "ok";
  answer = ANSWER;
  /** Pause between tokens, in ms. */
  pace = 4;
  /** `Last-Event-ID` of each connection to a run, "-" for the first. */
  connections = [];
  /** Milliseconds until an open stream noticed that its client has gone. */
  closed = [];
  cancelled = [];
  failing = new Map();
  latency = 0;
  /** A stream is open and sends nothing. */
  isSilent = false;
  #next = 1;
  #server;

  constructor() {
    this.#put("article-summary", SUMMARY);
    this.#put(
      "code-review",
      "---\nname: code-review\ndescription: Review code and suggest improvements.\nmetadata:\n  tags: [code]\ninputs:\n  - name: code\n    label: Code\n    type: textarea\n    required: true\n  - name: language\n    label: Language\n    default: auto-detect\n---\n\nReview this {{language}} code:\n\n{{code}}\n",
    );
    this.#put(
      "daily-standup",
      "---\nname: daily-standup\ndescription: Generate a daily standup report template.\n---\n\nGenerate a daily standup report template.\n",
    );
    const node = (id, type, x, y, data) => ({
      id,
      type,
      position: { x, y },
      data,
    });
    this.workflows.set("wf-1", {
      id: "wf-1",
      name: "Newsletter",
      description: "Collects what happened and writes about it.",
      revision: 7,
      created_at: NOW,
      updated_at: NOW,
      graph_data: {
        nodes: [
          node("start", "start", 0, 80, { inputVariable: "topic" }),
          node("house-style", "knowledge", 280, 0, { knowledgeBaseId: "kb-1" }),
          node("draft", "skill", 560, 80, {
            skillName: "article-summary",
            inputMappings: {
              article: "{{start.output}}",
              style: "house-style",
            },
          }),
          node("long-enough", "condition", 840, 80, {
            expression: "{{draft.output}} !== ''",
          }),
          node("done", "end", 1140, 0, { outputVariable: "draft" }),
          node("nothing", "end", 1140, 180, {
            outputVariable: "There is nothing to say.",
          }),
        ],
        edges: [
          { id: "e1", source: "start", target: "house-style" },
          { id: "e2", source: "start", target: "draft" },
          { id: "e3", source: "house-style", target: "draft" },
          { id: "e4", source: "draft", target: "long-enough" },
          {
            id: "e5",
            source: "long-enough",
            target: "done",
            sourceHandle: "true",
          },
          {
            id: "e6",
            source: "long-enough",
            target: "nothing",
            sourceHandle: "false",
          },
        ],
      },
    });
  }

  async start() {
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error) => {
        if (!response.headersSent)
          this.#json(response, 500, {
            detail: { field: "", message: String(error) },
          });
        else response.destroy();
      });
    });
    await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.origin = `http://127.0.0.1:${this.#server.address().port}`;
    return this;
  }

  async stop() {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #id(prefix) {
    return `${prefix}${this.#next++}`;
  }

  #put(name, content) {
    const before = this.versions.get(name) ?? [];
    const version = before.length + 1;
    this.versions.set(name, [
      {
        version,
        created_at: NOW,
        user_id: "u1",
        bytes: content.length,
        message: null,
        content,
      },
      ...before,
    ]);
    const skill = {
      name,
      license: null,
      metadata: {},
      model: { temperature: 0.7, max_tokens: 2000 },
      user_id: "u1",
      created_at: NOW,
      updated_at: NOW,
      version,
      content,
      diagnostics: diagnosticsOf(content),
      ...fieldsOf(content),
    };
    this.skills.set(name, skill);
    return skill;
  }

  #json(response, status, body, headers = {}) {
    response.writeHead(status, {
      "Content-Type": "application/json",
      ...headers,
    });
    response.end(body === undefined ? "" : JSON.stringify(body));
  }

  #refuse(response, status, message, field = "", more = {}) {
    this.#json(response, status, { detail: { field, message }, ...more }, status === 429 ? { "Retry-After": "7" } : {});
  }

  async #file(response, path) {
    const wanted = normalize(path).replace(/^(\.\.[/\\])+/, "");
    let content = await readFile(join(DIST, wanted)).catch(() => undefined);
    let type = TYPES[extname(wanted)];
    if (content === undefined && path.startsWith("/assets/")) return this.#refuse(response, 404, "not found");
    const headers = {};
    if (content === undefined || wanted === "/" || wanted === "/index.html") {
      const nonce = randomBytes(16).toString("base64");
      content = (await readFile(join(DIST, "index.html"), "utf8")).replace("PROWESS-CSP-NONCE", nonce);
      type = TYPES[".html"];
      headers["Content-Security-Policy"] = policy(nonce);
      headers["Cache-Control"] = "no-store";
    }
    response.writeHead(200, {
      "Content-Type": type ?? "application/octet-stream",
      ...headers,
    });
    response.end(content);
  }

  async #handle(request, response) {
    const url = new URL(request.url, this.origin);
    if (!url.pathname.startsWith("/api/v1/")) return this.#file(response, url.pathname);
    if (this.latency > 0) await new Promise((resolve) => setTimeout(resolve, this.latency));
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const raw = Buffer.concat(chunks);
    const isJson = (request.headers["content-type"] ?? "").includes("json");
    const body = isJson && raw.length > 0 ? JSON.parse(raw.toString()) : {};
    const path = url.pathname.slice("/api/v1".length);
    const key = `${request.method} ${path}`;
    const failure = this.failing.get(key);
    if (failure) {
      if (failure.times-- <= 1) this.failing.delete(key);
      if (failure.drop) return request.socket.destroy();
      return this.#refuse(response, failure.status, failure.message ?? "refused by the test", failure.field);
    }
    if (!path.startsWith("/auth/") && request.headers.authorization !== "Bearer access") {
      return this.#refuse(response, 401, "not signed in");
    }
    const parts = path.split("/").slice(1).map(decodeURIComponent);
    return this.#route({
      request,
      response,
      url,
      body,
      raw,
      method: request.method,
      parts,
      key,
    });
  }

  async #route({ request, response, url, body, raw, method, parts, key }) {
    const answer = (value, status = 200) => this.#json(response, status, value);
    const [first, id, sub, item] = parts;
    switch (first) {
      case "auth":
        return this.#auth(response, id, body);
      case "skills": {
        if (id === undefined) {
          if (method === "GET")
            return answer({
              skills: [...this.skills.values()],
              total: this.skills.size,
            });
          if (!/^[a-z0-9-]+$/.test(body.name))
            return this.#refuse(response, 400, "Skill name must be lowercase", "name");
          if (this.skills.has(body.name)) return this.#refuse(response, 409, "A skill with this name exists", "name");
          return answer(this.#put(body.name, body.content), 201);
        }
        if (id === "normalize")
          return answer({
            name: url.searchParams
              .get("name")
              .toLowerCase()
              .replace(/[^a-z0-9]+/g, "-"),
          });
        const skill = this.skills.get(id);
        if (!skill) return this.#refuse(response, 404, "no such skill", "name");
        if (sub === "versions" && item === undefined) return answer({ versions: this.versions.get(id) });
        if (sub === "versions") return answer(this.versions.get(id).find(({ version }) => String(version) === item));
        if (sub === "run")
          return this.#run(request, response, {
            kind: "skill",
            skill: id,
            body,
          });
        if (sub === "quiz") return answer({ quizzes: [] });
        if (method === "GET") return answer(skill);
        if (method === "DELETE") {
          this.skills.delete(id);
          return answer(undefined, 204);
        }
        const wanted = request.headers["if-match"];
        if (wanted !== undefined && wanted !== `"${skill.version}"`) {
          return this.#refuse(response, 409, "another version was saved", "", {
            current: skill,
          });
        }
        return answer(this.#put(id, body.content));
      }
      case "check":
        return answer({
          diagnostics: diagnosticsOf(body.content),
          bytes: Buffer.byteLength(body.content),
          limit: 51_200,
          tokens: Math.round(body.content.length / 4),
        });
      case "render": {
        const { prompt, inputs } = fieldsOf(body.content);
        const value = (name) => body.inputs[name] ?? inputs.find((input) => input.name === name)?.default ?? "";
        const missing = inputs.filter((input) => input.required && !body.inputs[input.name]).map(({ name }) => name);
        const rendered = prompt.replace(/\{\{([\w-]+)\}\}/g, (_, name) => value(name));
        return answer({
          system: null,
          prompt: rendered,
          warnings: [],
          tokens: Math.round(rendered.length / 4),
          missing,
        });
      }
      case "runs":
        return this.#runs(request, response, { method, id, sub });
      case "models":
        return this.#models(response, { method, id, body });
      case "chat":
        return this.#chat(request, response, { method, parts, body, url });
      case "knowledge":
        return this.#knowledge(response, { method, parts, url, raw });
      case "workflows":
        return this.#workflow(request, response, {
          method,
          id,
          sub,
          item,
          body,
        });
      case "executions":
        return this.#execution(request, response, { method, id, sub });
      case "approvals":
        if (id === "pending") {
          if (sub === undefined) return answer({ questions: this.questions });
          this.questions = this.questions.filter((question) => question.id !== sub);
          return answer(undefined, 204);
        }
        if (method === "DELETE") {
          this.approvals = this.approvals.filter(({ skill }) => skill !== id);
          return answer({ revoked: 1 });
        }
        return answer({ approvals: this.approvals });
      case "changes":
        if (sub === "patch") return answer({ patch: "--- a/notes.md\n+++ b/notes.md\n", truncated: false });
        if (method === "POST") {
          this.decided = { run: id, ...body };
          this.changes = this.changes.filter(({ run }) => run !== id);
          return answer(undefined, 204);
        }
        return answer({ runs: this.changes });
      case "agent-view": {
        const skills = [...this.skills.values()].map(({ name, description }) => ({
          name,
          description,
          tokens: 20 + description.length,
          listed_tokens: 12 + Math.ceil(description.length / 4),
        }));
        const manifest = `<available_skills>\n${skills.map(({ name, description }) => `  <skill>\n    <name>${name}</name>\n    <description>${description}</description>\n  </skill>`).join("\n")}\n</available_skills>`;
        return answer({
          skills,
          manifest,
          format: "xml",
          tokens: 214,
          left_out: [{ name: "broken", message: "the front matter does not parse" }],
        });
      }
      case "usage": {
        const days = Array.from({ length: 20 }, (_, index) => ({
          date: new Date(Date.now() - index * 86_400_000).toISOString().slice(0, 10),
          user_id: "u1",
          username: index % 3 === 0 ? "bo" : "ada",
          runs: 3 + ((index * 7) % 11),
          input_tokens: 2_000 + ((index * 977) % 5_000),
          output_tokens: 400 + ((index * 331) % 1_500),
          cost: 0.002 * (index % 5),
        }));
        return answer({
          days,
          totals: {},
          quota: { tokens_per_day: 100_000, used_today: 4_200 },
        });
      }
      case "settings":
        return answer({
          version: "0.1.0",
          limits: {
            skill_bytes: 51_200,
            upload_bytes: 1_000_000,
            runs_per_minute: 10,
            chat_seconds: 180,
          },
          features: { oidc: [], embedder: null },
          language: "en",
        });
      case "users":
        return answer({
          users: [
            {
              id: "u1",
              username: "ada",
              role: "admin",
              disabled: false,
              created_at: NOW,
            },
            {
              id: "u2",
              username: "bo",
              role: "user",
              disabled: false,
              created_at: NOW,
            },
            {
              id: "u3",
              username: "old",
              role: "user",
              disabled: true,
              created_at: NOW,
            },
          ],
        });
      case "tokens":
        if (method === "POST")
          return answer(
            {
              id: "t2",
              name: body.name,
              token: "prw_0123456789abcdef",
              expires_at: null,
            },
            201,
          );
        return answer({
          tokens: [
            {
              id: "t1",
              name: "ci",
              created_at: NOW,
              expires_at: null,
              last_used_at: NOW,
            },
          ],
        });
      case "audit":
        return answer({
          entries: [
            {
              id: "1",
              at: NOW,
              user: "ada",
              action: "login",
              subject: null,
              address: "127.0.0.1",
            },
          ],
          next: null,
          is_intact: true,
        });
      default:
        return this.#refuse(response, 404, `no route ${key}`);
    }
  }

  #auth(response, action, body) {
    const tokens = {
      access_token: "access",
      refresh_token: "refresh",
      token_type: "bearer",
      expires_in: 900,
    };
    if (action === "options") return this.#json(response, 200, { setup_needed: false, oidc: [] });
    if (action === "me")
      return this.#json(response, 200, {
        id: "u1",
        username: "ada",
        role: "admin",
      });
    if (action === "logout") return this.#json(response, 204);
    if (action === "login" && body.password !== PASSWORD)
      return this.#refuse(response, 401, "The user name or the password is wrong");
    return this.#json(response, 200, tokens);
  }

  #models(response, { method, id, body }) {
    const model = (name, more) => ({
      id: name,
      provider: name.split("/")[0],
      name: name.split("/")[1],
      is_default: false,
      is_local: false,
      has_key: true,
      input_price: null,
      output_price: null,
      context: 8192,
      ...more,
    });
    const all = {
      models: [
        model("scripted/small", {
          is_default: true,
          is_local: true,
          input_price: 0.5,
          output_price: 1.5,
        }),
        model("scripted/large", { has_key: false }),
      ],
      default: "scripted/small",
      currency: "USD",
    };
    if (id === "test")
      return this.#json(response, 200, {
        ok: body.model !== "scripted/large",
        model: body.model,
        first_token_ms: 84,
        duration_ms: 210,
        text: "ready",
        error: body.model === "scripted/large" ? "no key is set for `scripted`" : null,
        hints: body.model === "scripted/large" ? ["set the variable SCRIPTED_API_KEY"] : [],
      });
    if (id === "discover") return this.#json(response, 200, { servers: [] });
    if (method === "PUT") return this.#json(response, 200, all);
    return this.#json(response, 200, all);
  }

  /** The frames of a run, kept so that they can be read again. */
  #frames({ kind, skill, body }) {
    const frames = [];
    const add = (event, data) =>
      frames.push(`id: ${frames.length + 1}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    const withBase = kind === "chat" || (skill && this.skills.get(skill)?.knowledge_base);
    if (skill) {
      if (kind === "chat") add("thought", { type: "skill", status: "start", skill });
      add("thought", { type: "validation", status: "start" });
      add("thought", {
        type: "validation",
        status: "complete",
        message: "All required inputs provided",
      });
      add("thought", { type: "substitution", status: "start" });
      add("thought", {
        type: "substitution",
        status: "complete",
        message: "Variables substituted",
      });
    }
    if (withBase) {
      add("thought", { type: "retrieval", status: "start", kb_id: "kb-1" });
      add("thought", {
        type: "retrieval",
        status: "searching",
        kb_id: "kb-1",
        query: "deficit",
      });
      add("thought", {
        type: "retrieval",
        status: "complete",
        kb_id: "kb-1",
        results_count: 3,
      });
      add("citation", { sources: SOURCES });
    }
    add("thought", { type: "generation", status: "start" });
    const answer = body.model === "scripted/large" ? `From the large model. ${this.answer}` : this.answer;
    const words = answer.match(/\s*\S+\s*/g) ?? [];
    const isFailing = this.fault === "fail";
    for (const word of isFailing ? words.slice(0, words.length / 2) : words) add("token", { content: word });
    add("thought", {
      type: "generation",
      status: isFailing ? "error" : "complete",
    });
    if (isFailing) {
      add("error", {
        message: "the model `scripted/small` stopped in the middle",
      });
      add("done", { status: "error", message: "Skill execution failed" });
    } else {
      add("usage", {
        model: body.model ?? "scripted/small",
        input_tokens: 359,
        output_tokens: words.length,
        cost: 0.0004,
        duration_ms: 1800,
      });
      add("done", {
        status: "success",
        message: "Skill execution completed successfully",
      });
    }
    return {
      frames,
      text: isFailing ? words.slice(0, words.length / 2).join("") : answer,
      isFailing,
    };
  }

  async #run(request, response, about, headers = {}, onend = () => {}) {
    const { frames, text, isFailing } = about.frames ? about : this.#frames(about);
    const run = {
      id: this.#id("run"),
      kind: about.kind,
      skill: about.skill ?? null,
      version: this.skills.get(about.skill)?.version ?? null,
      model: about.body.model ?? "scripted/small",
      status: "running",
      started_at: NOW,
      ended_at: null,
      duration_ms: null,
      first_token_ms: 210,
      input_tokens: 359,
      output_tokens: 80,
      cost: 0.0004,
      inputs: about.body.inputs ?? {},
      output: text,
      error: null,
      sources: SOURCES,
      frames,
    };
    this.runs.unshift(run);
    const { fault } = this;
    this.fault = "ok";
    this.connections.push("-");
    await this.#stream(response, run, 0, fault, {
      "X-Run-Id": run.id,
      ...headers,
    });
    run.status = isFailing ? "error" : this.cancelled.includes(run.id) ? "cancelled" : "success";
    run.duration_ms = 1800;
    onend(run, text);
  }

  async #stream(response, run, after, fault, headers) {
    response.writeHead(200, {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-cache",
      "X-Accel-Buffering": "no",
      ...headers,
    });
    response.flushHeaders();
    let isGone = false;
    const opened = Date.now();
    response.on("close", () => {
      isGone = true;
      this.closed.push(Date.now() - opened);
    });
    const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));
    const middle = Math.floor(run.frames.length / 2);
    for (let at = after; at < run.frames.length && !isGone; at++) {
      if (this.cancelled.includes(run.id)) break;
      const frame = Buffer.from(run.frames[at]);
      if (fault === "cut" && at === middle) {
        // In the middle of a frame.
        response.write(frame.subarray(0, 9));
        await wait(20);
        response.destroy();
        return;
      }
      if (fault === "stall" && at === middle) {
        // Open and silent, until the client gives the connection up.
        this.isSilent = true;
        while (!isGone && !this.cancelled.includes(run.id)) await wait(50);
        return;
      }
      if (fault === "split") {
        for (const byte of frame) {
          response.write(Buffer.of(byte));
          if (byte % 7 === 0) await wait(1);
        }
      } else {
        response.write(frame);
      }
      await wait(this.pace);
    }
    response.end();
  }

  #runs(request, response, { method, id, sub }) {
    if (id === undefined) return this.#json(response, 200, { runs: this.runs, next: null });
    const run = this.runs.find((one) => one.id === id);
    if (!run) return this.#refuse(response, 404, "no such run");
    if (sub === "cancel") {
      this.cancelled.push(id);
      return this.#json(response, 202);
    }
    if (sub === "events") {
      const after = Number(request.headers["last-event-id"] ?? 0);
      this.connections.push(String(after));
      return this.#stream(response, run, after, "ok", { "X-Run-Id": id });
    }
    return this.#json(response, method === "DELETE" ? 204 : 200, run);
  }

  #chat(request, response, { method, parts, body, url }) {
    const [, kind, id, action] = parts;
    const now = () => new Date().toISOString();
    if (kind === "completions") {
      const session = this.sessions.get(body.session_id) ?? {
        id: this.#id("chat"),
        title: (body.message ?? "").slice(0, 40),
        created_at: now(),
        updated_at: now(),
        head: null,
        messages: [],
      };
      this.sessions.set(session.id, session);
      let parent = body.retry_of ? session.messages.find((one) => one.id === body.retry_of).parent_id : null;
      if (!body.retry_of) {
        const user = {
          id: this.#id("m"),
          parent_id: body.parent_id === undefined ? session.head : body.parent_id,
          role: "user",
          content: body.message,
          created_at: now(),
        };
        session.messages.push(user);
        parent = user.id;
      }
      const answer = {
        id: this.#id("m"),
        parent_id: parent,
        role: "assistant",
        content: "",
        status: "running",
        created_at: now(),
        sources: [],
        skills: [],
      };
      session.messages.push(answer);
      session.head = answer.id;
      const skill = /^@([a-z0-9-]+)/.exec(body.message ?? "")?.[1];
      const headers = { "X-Session-Id": session.id, "X-Message-Id": answer.id };
      return this.#run(request, response, { kind: "chat", skill, body }, headers, (run, text) => {
        const isCancelled = this.cancelled.includes(run.id) || this.cancelled.includes(session.id);
        Object.assign(answer, {
          content: isCancelled ? text.slice(0, 30) : text,
          status: run.status === "error" ? "error" : isCancelled ? "stopped" : "success",
          error: run.status === "error" ? "the model `scripted/small` stopped in the middle" : null,
          run_id: run.id,
          model: run.model,
          skills: skill ? [skill] : [],
          sources: SOURCES,
          cost: 0.0004,
          duration_ms: 1800,
        });
      });
    }
    if (id === undefined) {
      const sessions = [...this.sessions.values()].reverse().map((one) => ({ ...one, messages: one.messages.length }));
      return this.#json(response, 200, { sessions, next: null });
    }
    const session = this.sessions.get(id);
    if (!session) return this.#refuse(response, 404, "no such chat");
    if (action === "stop") {
      const run = this.runs.find((one) => one.status === "running");
      if (run) this.cancelled.push(run.id);
      return this.#json(response, 202);
    }
    if (action === "export") {
      response.writeHead(200, {
        "Content-Type": "text/markdown",
        "Content-Disposition": 'attachment; filename="chat.md"',
      });
      return response.end(`# ${session.title} (${url.searchParams.get("format")})\n`);
    }
    if (method === "PATCH") Object.assign(session, body);
    if (method === "DELETE") {
      this.sessions.delete(id);
      return this.#json(response, 204);
    }
    return this.#json(response, 200, session);
  }

  async #knowledge(response, { method, parts, url, raw }) {
    const [, id, sub, doc, action] = parts;
    const base = () => ({
      id: "kb-1",
      name: "house-style",
      language: "english",
      embedder: { source: "static", dimension: 256 },
      documents: this.documents.length,
      chunks: this.documents.reduce((sum, one) => sum + one.chunks, 0),
      text_bytes: 81_234,
      disk_bytes: 204_800,
      created_at: NOW,
      user_id: "u1",
    });
    if (id === undefined && method === "GET") return this.#json(response, 200, { knowledge_bases: [base()], total: 1 });
    if (id === undefined) return this.#json(response, 201, base());
    if (id === "embedders")
      return this.#json(response, 200, {
        embedders: [{ id: "static", source: "static", dimension: 256, is_default: true }],
        languages: ["english", "german"],
      });
    if (sub === undefined) return this.#json(response, method === "DELETE" ? 204 : 200, base());
    if (sub === "search") {
      const results = SOURCES.map((source, index) => ({
        ...source,
        start: 0,
        end: 10,
        rank: index + 1,
        words_rank: index === 2 ? null : index + 1,
        meaning_rank: 3 - index,
        highlights: [[4, 11]],
      }));
      return this.#json(response, 200, {
        query: url.searchParams.get("query"),
        results,
      });
    }
    if (sub === "upload") {
      const name = /filename="([^"]+)"/.exec(raw.toString("latin1"))?.[1] ?? "file";
      const isKnown = this.documents.some(({ doc_id }) => doc_id === name);
      const refused = name.endsWith(".zip");
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      for (const stage of ["received", "extracting", "indexing"]) {
        response.write(`event: progress\ndata: ${JSON.stringify({ doc_id: name, stage, bytes: raw.length })}\n\n`);
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      const upload = {
        doc_id: name,
        status: refused ? "refused" : isKnown ? "unchanged" : "added",
        bytes: raw.length,
        chunks: refused ? 0 : 3,
        title: null,
        error: refused ? "archives are not read" : null,
        duplicate_of: null,
      };
      if (!isKnown && !refused)
        this.documents.unshift({
          doc_id: name,
          title: null,
          format: "text",
          bytes: raw.length,
          pages: null,
          chunks: 3,
          uploaded_at: new Date().toISOString(),
        });
      response.write(`event: document\ndata: ${JSON.stringify(upload)}\n\n`);
      return response.end(`event: done\ndata: {"status":"success","message":""}\n\n`);
    }
    if (doc === undefined)
      return this.#json(response, 200, {
        documents: this.documents,
        total: this.documents.length,
      });
    const document = this.documents.find(({ doc_id }) => doc_id === doc) ?? this.documents[0];
    if (action === "chunks")
      return this.#json(response, 200, {
        chunks: SOURCES.map((source, index) => ({
          chunk_index: index,
          text: source.text,
          start: 0,
          end: 10,
          page: source.page,
        })),
        total: 3,
      });
    if (method === "DELETE") {
      this.documents = this.documents.filter(({ doc_id }) => doc_id !== doc);
      return this.#json(response, 204);
    }
    return this.#json(response, 200, { ...document, text: DOCUMENT });
  }

  #workflow(request, response, { method, id, sub, item, body }) {
    if (id === undefined && method === "GET") {
      return this.#json(response, 200, {
        workflows: [...this.workflows.values()].map(({ graph_data: _, ...rest }) => rest),
        total: this.workflows.size,
      });
    }
    if (id === "validate") {
      const diagnostics = body.graph_data.nodes.flatMap((node) =>
        node.type === "skill" && !node.data.skillName
          ? [
              {
                rule: "missing-field",
                severity: "error",
                message: "the skill is not set",
                help: "choose a skill",
                node_id: node.id,
                edge_id: null,
                field: "skillName",
              },
            ]
          : [],
      );
      return this.#json(response, 200, {
        is_valid: diagnostics.length === 0,
        diagnostics,
      });
    }
    if (id === undefined || id === "import") {
      const made = {
        id: this.#id("wf-"),
        name: "Imported",
        description: "",
        revision: 1,
        created_at: NOW,
        updated_at: NOW,
        graph_data: { nodes: [], edges: [] },
        ...(id ? {} : body),
      };
      this.workflows.set(made.id, made);
      if (id === "import")
        return this.#json(response, 201, {
          workflow: made,
          format: "dify",
          losses: [
            {
              node_id: "loop",
              path: null,
              message: "iterations are not supported",
            },
          ],
        });
      return this.#json(response, 201, made);
    }
    const workflow = this.workflows.get(id);
    if (!workflow) return this.#refuse(response, 404, "no such workflow");
    if (sub === "versions")
      return this.#json(
        response,
        200,
        item
          ? workflow
          : {
              versions: [
                {
                  revision: workflow.revision,
                  created_at: NOW,
                  user_id: "u1",
                  message: null,
                },
              ],
            },
      );
    if (sub === "executions")
      return this.#json(response, 200, {
        executions: [...this.executions.values()].reverse(),
        next: null,
      });
    if (sub === "export")
      return this.#json(
        response,
        200,
        { version: 1, workflow },
        { "Content-Disposition": 'attachment; filename="newsletter.json"' },
      );
    if (sub === "execute") {
      const execution = {
        id: this.#id("ex"),
        workflow_id: id,
        revision: workflow.revision,
        status: "error",
        inputs: body.inputs,
        output: null,
        error: null,
        nodes: [],
        can_resume: true,
        started_at: new Date().toISOString(),
        ended_at: null,
      };
      this.executions.set(execution.id, execution);
      return this.#execute(request, response, workflow, execution, body);
    }
    if (method === "PUT") {
      if (request.headers["if-match"] !== `"${workflow.revision}"`)
        return this.#refuse(response, 409, "another revision was saved", "", {
          current: workflow,
        });
      Object.assign(workflow, body, { revision: workflow.revision + 1 });
      return this.#json(response, 200, workflow);
    }
    if (method === "DELETE") {
      this.workflows.delete(id);
      return this.#json(response, 204);
    }
    return this.#json(response, 200, workflow);
  }

  #execute(request, response, workflow, execution, body) {
    const frames = [];
    const add = (event, data) =>
      frames.push(`id: ${frames.length + 1}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    const isFailing = this.fault === "fail";
    const done = new Set(execution.nodes.filter(({ status }) => status === "complete").map(({ node_id }) => node_id));
    add("workflow_start", {
      execution_id: execution.id,
      workflow_name: workflow.name,
    });
    let failed = false;
    for (const node of workflow.graph_data.nodes) {
      if (failed) break;
      if (node.id === "nothing") {
        add("node_skipped", { node_id: node.id });
        continue;
      }
      const output = `output of ${node.id}`;
      if (done.has(node.id)) {
        add("node_complete", { node_id: node.id, output, restored: true });
        continue;
      }
      add("node_start", { node_id: node.id, node_type: node.type });
      if (node.type === "skill" && isFailing) {
        add("node_error", {
          node_id: node.id,
          error: "the model did not answer",
        });
        failed = true;
        continue;
      }
      if (node.type === "skill")
        for (const word of ["A ", "draft ", "of ", "the ", "letter."])
          add("token", { node_id: node.id, content: word });
      add("node_complete", {
        node_id: node.id,
        input: "the topic",
        output: node.type === "skill" ? "A draft of the letter." : output,
      });
      execution.nodes.push({ node_id: node.id, status: "complete", output });
    }
    if (failed) {
      execution.error = "the model did not answer";
      add("workflow_error", {
        execution_id: execution.id,
        error: execution.error,
      });
      add("done", { status: "error", message: "failed" });
    } else {
      execution.status = "success";
      execution.can_resume = false;
      add("workflow_complete", {
        execution_id: execution.id,
        final_output: "A draft of the letter.",
        outputs: {},
      });
      add("done", { status: "success", message: "" });
    }
    this.fault = "ok";
    return this.#run(request, response, {
      kind: "workflow",
      body,
      frames,
      text: "",
      isFailing: failed,
    });
  }

  #execution(request, response, { id, sub }) {
    const execution = this.executions.get(id);
    if (!execution) return this.#refuse(response, 404, "no such execution");
    if (sub === "resume")
      return this.#execute(request, response, this.workflows.get(execution.workflow_id), execution, {});
    if (sub === "cancel") return this.#json(response, 202);
    return this.#json(response, 200, execution);
  }
}

export { ANSWER, PASSWORD, SOURCES };
