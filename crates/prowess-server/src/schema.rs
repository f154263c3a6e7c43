//! The tables of this crate.

use crate::database::{Component, Migration};

/// The tables of this crate: users, sessions, tokens, limits, the audit log.
pub const COMPONENT: Component = Component { name: "server", migrations: MIGRATIONS };

const MIGRATIONS: &[Migration] =
    &[Migration { version: 1, name: "accounts", sqlite: SQLITE_1, postgres: POSTGRES_1 }];

/// The statements for both databases. Times are milliseconds since 1970.
macro_rules! first {
    ($bytes:literal) => {
        concat!(
            "
CREATE TABLE users (
    id TEXT PRIMARY KEY,
    username TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('user', 'admin')),
    password TEXT,
    disabled BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    totp_secret ",
            $bytes,
            ",
    totp_enabled BIGINT NOT NULL DEFAULT 0,
    totp_last_step BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE recovery_codes (
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash ",
            $bytes,
            " NOT NULL,
    PRIMARY KEY (user_id, hash)
);
CREATE TABLE user_identities (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (issuer, subject)
);
CREATE TABLE one_time_links (
    hash ",
            $bytes,
            " PRIMARY KEY,
    purpose TEXT NOT NULL,
    user_id TEXT REFERENCES users (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);
CREATE TABLE signing_keys (
    kid TEXT PRIMARY KEY,
    secret ",
            $bytes,
            " NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE TABLE refresh_families (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at BIGINT
);
CREATE INDEX refresh_families_of_user ON refresh_families (user_id);
CREATE INDEX refresh_families_by_end ON refresh_families (expires_at);
CREATE TABLE refresh_tokens (
    hash ",
            $bytes,
            " PRIMARY KEY,
    family TEXT NOT NULL REFERENCES refresh_families (id) ON DELETE CASCADE,
    used_at BIGINT
);
CREATE INDEX refresh_tokens_of_family ON refresh_tokens (family);
CREATE TABLE api_tokens (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    hash ",
            $bytes,
            " NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    last_used_at BIGINT,
    revoked_at BIGINT
);
CREATE INDEX api_tokens_of_user ON api_tokens (user_id);
CREATE TABLE web_sessions (
    hash ",
            $bytes,
            " PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX web_sessions_of_user ON web_sessions (user_id);
CREATE INDEX web_sessions_by_end ON web_sessions (expires_at);
CREATE TABLE rate_limits (
    limit_name TEXT NOT NULL,
    subject TEXT NOT NULL,
    free_at BIGINT NOT NULL,
    PRIMARY KEY (limit_name, subject)
);
CREATE INDEX rate_limits_by_end ON rate_limits (free_at);
CREATE TABLE audit_log (
    sequence BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    address TEXT,
    details TEXT NOT NULL,
    hash ",
            $bytes,
            " NOT NULL
);
CREATE TABLE used_identity_tokens (
    issuer TEXT NOT NULL,
    jti TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (issuer, jti)
);
CREATE INDEX used_identity_tokens_by_end ON used_identity_tokens (expires_at);
CREATE TABLE company_log_ins (
    state ",
            $bytes,
            " PRIMARY KEY,
    provider TEXT NOT NULL,
    nonce TEXT NOT NULL,
    verifier TEXT NOT NULL,
    return_to TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX company_log_ins_by_end ON company_log_ins (expires_at);
"
        )
    };
}

const SQLITE_1: &str = first!("BLOB");
const POSTGRES_1: &str = first!("BYTEA");
