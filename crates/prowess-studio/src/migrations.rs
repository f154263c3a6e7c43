//! The tables of the studio. Both databases understand the statements.

use prowess_server::database::Migration;

/// The component that the tables belong to.
pub(crate) const COMPONENT: &str = "studio";

/// All migrations, in order.
pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "studio", sqlite: FIRST, postgres: FIRST },
    Migration {
        version: 2,
        name: "several servers",
        sqlite: NODES_SQLITE,
        postgres: NODES_POSTGRES,
    },
];

/// Tables that are only filled where several servers share a database: their names differ from those of a backup.
pub(crate) const OF_THIS_DATABASE: &[&str] =
    &["studio_nodes", "studio_admissions", "studio_skill_files", "studio_objects"];

const FIRST: &str = "
CREATE TABLE studio_skills (
    name TEXT PRIMARY KEY,
    created_at BIGINT NOT NULL
);
CREATE TABLE studio_skill_versions (
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    user_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    digest TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (name, version)
);
CREATE TABLE studio_runs (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT,
    version BIGINT,
    model TEXT,
    status TEXT NOT NULL,
    node TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    first_token_ms BIGINT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cost DOUBLE PRECISION,
    inputs TEXT NOT NULL,
    output TEXT,
    error TEXT,
    sources TEXT
);
CREATE INDEX studio_runs_by_owner ON studio_runs (owner, started_at, id);
CREATE INDEX studio_runs_by_status ON studio_runs (status, node);
CREATE TABLE studio_run_events (
    run_id TEXT PRIMARY KEY,
    gone BIGINT NOT NULL,
    frames TEXT NOT NULL
);
CREATE TABLE studio_usage (
    date TEXT NOT NULL,
    owner TEXT NOT NULL,
    runs BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    cost DOUBLE PRECISION,
    PRIMARY KEY (date, owner)
);
CREATE TABLE studio_chat_sessions (
    owner TEXT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    head TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (owner, id)
);
CREATE TABLE studio_chat_messages (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    session_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    parent_id TEXT,
    role TEXT NOT NULL,
    content TEXT NOT NULL,
    status TEXT,
    run_id TEXT,
    model TEXT,
    skills TEXT NOT NULL,
    sources TEXT,
    input_tokens BIGINT,
    output_tokens BIGINT,
    cost DOUBLE PRECISION,
    created_at BIGINT NOT NULL
);
CREATE INDEX studio_chat_messages_by_session ON studio_chat_messages (owner, session_id, position);
CREATE TABLE studio_bases (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    UNIQUE (owner, name)
);
CREATE TABLE studio_documents (
    base_id TEXT NOT NULL,
    doc_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    chunks BIGINT NOT NULL,
    uploaded_at BIGINT NOT NULL,
    PRIMARY KEY (base_id, doc_id)
);
CREATE TABLE studio_workflows (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    document TEXT NOT NULL,
    revision BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX studio_workflows_by_owner ON studio_workflows (owner, updated_at);
CREATE TABLE studio_workflow_versions (
    workflow_id TEXT NOT NULL,
    revision BIGINT NOT NULL,
    user_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (workflow_id, revision)
);
CREATE TABLE studio_executions (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    workflow_id TEXT NOT NULL,
    revision BIGINT NOT NULL,
    status TEXT NOT NULL,
    document TEXT NOT NULL,
    inputs TEXT NOT NULL,
    settings TEXT NOT NULL,
    output TEXT,
    error TEXT,
    run_id TEXT,
    held_by TEXT,
    held_until BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX studio_executions_by_workflow ON studio_executions (workflow_id, started_at);
CREATE TABLE studio_execution_nodes (
    execution_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    node_id TEXT NOT NULL,
    output TEXT NOT NULL,
    PRIMARY KEY (execution_id, number)
);
CREATE TABLE studio_approvals (
    owner TEXT PRIMARY KEY,
    revision BIGINT NOT NULL,
    approvals TEXT NOT NULL
);
CREATE TABLE studio_settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
";

macro_rules! nodes {
    ($bytes:literal) => {
        concat!(
            "
CREATE TABLE studio_nodes (
    node TEXT PRIMARY KEY,
    seen_at BIGINT NOT NULL
);
CREATE TABLE studio_admissions (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    node TEXT NOT NULL,
    state TEXT NOT NULL,
    at BIGINT NOT NULL
);
CREATE INDEX studio_admissions_by_owner ON studio_admissions (owner, at);
CREATE TABLE studio_skill_files (
    name TEXT PRIMARY KEY,
    content TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    modified_at BIGINT NOT NULL
);
CREATE TABLE studio_objects (
    key TEXT PRIMARY KEY,
    bytes ",
            $bytes,
            " NOT NULL
);
CREATE TABLE studio_run_frames (
    run_id TEXT NOT NULL,
    first BIGINT NOT NULL,
    last BIGINT NOT NULL,
    frames TEXT NOT NULL,
    PRIMARY KEY (run_id, first)
);
ALTER TABLE studio_runs ADD COLUMN job TEXT;
ALTER TABLE studio_runs ADD COLUMN cancel_wanted BIGINT NOT NULL DEFAULT 0;
"
        )
    };
}

const NODES_SQLITE: &str = nodes!("BLOB");
const NODES_POSTGRES: &str = nodes!("BYTEA");
