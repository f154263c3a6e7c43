//! The tables of the studio. Both databases understand the statements.

use prowess_server::database::Migration;

/// The component that the tables belong to.
pub(crate) const COMPONENT: &str = "studio";

/// All migrations, in order.
pub(crate) const MIGRATIONS: &[Migration] =
    &[Migration { version: 1, name: "studio", sqlite: FIRST, postgres: FIRST }];

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
