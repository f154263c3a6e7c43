/** The shapes of docs/design/studio-api.md that the app reads. Members that it does not use are left out. */

export type Role = "user" | "admin";

export interface User {
  id: string;
  username: string;
  role: Role;
}

export interface Account extends User {
  disabled: boolean;
  created_at: string;
}

export interface Tokens {
  access_token: string;
  refresh_token: string;
  expires_in: number;
}

export interface LoginOptions {
  setup_needed: boolean;
  oidc: { name: string; start_url: string }[];
}

export interface ApiToken {
  id: string;
  name: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
}

export interface SkillInput {
  name: string;
  label: string;
  type: "text" | "textarea";
  required: boolean;
  default: string | null;
  description: string | null;
}

export interface SkillSummary {
  name: string;
  description: string;
  tags: string[];
  inputs: SkillInput[];
  knowledge_base: string | null;
  model: { temperature?: number | null; max_tokens?: number | null } | null;
  user_id: string | null;
  created_at: string;
  updated_at: string;
  version: number;
}

export interface Skill extends SkillSummary {
  prompt: string;
  content: string;
  diagnostics: Diagnostic[];
}

export interface Edit {
  from: number;
  to: number;
  text: string;
}

export interface Diagnostic {
  rule: string;
  severity: "error" | "warning" | "info";
  message: string;
  help: string | null;
  /** UTF-16 offsets. */
  from: number;
  to: number;
  line: number;
  column: number;
  fix: { title: string; edits: Edit[] } | null;
}

export interface CheckResult {
  diagnostics: Diagnostic[];
  bytes: number;
  limit: number;
  tokens: number;
}

export interface Rendered {
  system: string | null;
  prompt: string;
  warnings: string[];
  tokens: number;
  missing: string[];
}

export interface Version {
  version: number;
  created_at: string;
  user_id: string | null;
  bytes: number;
  message: string | null;
}

export type RunStatus = "queued" | "running" | "success" | "error" | "cancelled" | "interrupted";

export interface Run {
  id: string;
  kind: "skill" | "chat" | "workflow";
  skill: string | null;
  version: number | null;
  model: string | null;
  status: RunStatus;
  started_at: string;
  ended_at: string | null;
  duration_ms: number | null;
  first_token_ms: number | null;
  input_tokens: number | null;
  output_tokens: number | null;
  cost: number | null;
}

export interface RunDetail extends Run {
  inputs: Record<string, string> | null;
  output: string | null;
  error: string | null;
  sources: Source[] | null;
}

/** A passage that a run found. */
export interface Source {
  doc_id: string;
  chunk_index: number;
  score: number;
  text: string;
  knowledge_base?: string | null;
  /** The number in brackets that the model saw; where the server does not say, the place in the list. */
  number?: number | null;
  injected?: boolean;
  page?: number | null;
  /** Bytes of the document's text. */
  start?: number;
  end?: number;
}

export interface Usage {
  model: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  cost: number | null;
  duration_ms: number | null;
}

export interface Model {
  id: string;
  provider: string;
  name: string;
  is_default: boolean;
  is_local: boolean;
  has_key: boolean;
  input_price: number | null;
  output_price: number | null;
  context: number | null;
}

export interface Models {
  models: Model[];
  default: string | null;
  currency: string | null;
}

export interface ModelTest {
  ok: boolean;
  model: string;
  first_token_ms: number | null;
  duration_ms: number | null;
  text: string | null;
  error: string | null;
  hints: string[];
}

export interface ChatSummary {
  id: string;
  title: string;
  created_at: string;
  updated_at: string;
  messages: number;
}

export interface ChatMessage {
  id: string;
  parent_id: string | null;
  role: "user" | "assistant";
  content: string;
  created_at: string;
  status?: "running" | "success" | "error" | "stopped" | "interrupted";
  error?: string | null;
  run_id?: string | null;
  model?: string | null;
  skills?: string[];
  sources?: Source[];
  input_tokens?: number | null;
  output_tokens?: number | null;
  cost?: number | null;
  duration_ms?: number | null;
}

export interface ChatSession {
  id: string;
  title: string;
  created_at: string;
  updated_at: string;
  head: string | null;
  messages: ChatMessage[];
}

export interface KnowledgeBase {
  id: string;
  name: string;
  language: string;
  embedder: { source: string; dimension: number } | null;
  documents: number;
  chunks: number;
  text_bytes: number;
  disk_bytes: number;
  created_at: string;
  user_id: string | null;
}

export interface Embedder {
  id: string;
  source: string;
  dimension: number;
  is_default: boolean;
}

export interface KnowledgeDocument {
  doc_id: string;
  title: string | null;
  format: string;
  bytes: number;
  pages: number | null;
  uploaded_at: string;
}

export interface DocumentText extends KnowledgeDocument {
  text: string;
}

export interface Chunk {
  chunk_index: number;
  text: string;
  start: number;
  end: number;
  page: number | null;
}

export interface Upload {
  doc_id: string;
  status: "added" | "replaced" | "unchanged" | "duplicate" | "refused";
  bytes: number;
  chunks: number;
  error: string | null;
  duplicate_of: string | null;
}

export interface SearchResult {
  doc_id: string;
  chunk_index: number;
  score: number;
  text: string;
  start: number;
  end: number;
  page: number | null;
  /** UTF-16 offsets in `text`. */
  highlights: [number, number][];
  rank: number;
  words_rank: number | null;
  meaning_rank: number | null;
  injected: boolean;
}

export interface GraphNode {
  id: string;
  type: string;
  position: { x: number; y: number };
  label?: string;
  data: Record<string, unknown>;
  [other: string]: unknown;
}

export interface GraphEdge {
  id?: string;
  source: string;
  target: string;
  sourceHandle?: string | null;
  targetHandle?: string | null;
  [other: string]: unknown;
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  [other: string]: unknown;
}

export interface WorkflowSummary {
  id: string;
  name: string;
  description: string;
  revision: number;
  created_at: string;
  updated_at: string;
  inputs?: string[];
}

export interface Workflow extends WorkflowSummary {
  graph_data: Graph;
}

export interface GraphDiagnostic {
  rule: string;
  severity: "error" | "warning" | "info";
  message: string;
  help: string | null;
  node_id: string | null;
  edge_id: string | null;
  field: string | null;
}

export interface Loss {
  node_id: string | null;
  path: string | null;
  message: string;
}

export interface Execution {
  id: string;
  workflow_id: string;
  revision: number;
  status: "running" | "success" | "error" | "cancelled" | "interrupted";
  error: string | null;
  output: unknown;
  nodes: { node_id: string; status: string; input?: unknown; output?: unknown; error?: string | null }[];
  can_resume: boolean;
  started_at: string;
  ended_at: string | null;
}

export interface Question {
  id: string;
  run_id: string;
  skill: string;
  tool: string;
  command: string[];
  reasons: string[];
  permissions: string[];
  can_remember: boolean;
  asked_at: string;
  expires_at: string;
}

export interface Approval {
  skill: string;
  tool: string;
  permissions: string[];
  digest: string;
  created_at: string;
}

export interface FileChange {
  path: string;
  kind: "added" | "changed" | "deleted" | "mode" | "link";
  bytes: number;
  applied: boolean;
  decision?: "ask" | "refuse" | "conflict";
  reason?: string;
}

export interface RunChanges {
  run: string;
  tool: string;
  state: "pending" | "applied" | "undone";
  started_at: string;
  changes: FileChange[];
  changes_applied: boolean;
}

export interface AgentView {
  skills: { name: string; description: string; tokens: number; listed_tokens: number }[];
  manifest: string;
  format: string;
  tokens: number;
  left_out: { name: string; message: string }[];
}

export interface UsageDay {
  date: string;
  user_id: string;
  username: string;
  runs: number;
  input_tokens: number;
  output_tokens: number;
  cost: number | null;
}

export interface UsageReport {
  days: UsageDay[];
  totals: { runs: number; input_tokens: number; output_tokens: number; cost: number | null };
  quota: { tokens_per_day: number | null; used_today: number } | null;
}

export interface ServerSettings {
  version: string;
  limits: { skill_bytes: number; upload_bytes: number; runs_per_minute: number; chat_seconds: number };
}

export interface AuditEntry {
  id: string;
  at: string;
  user: string | null;
  username?: string | null;
  action: string;
  subject: string | null;
  address: string | null;
}
