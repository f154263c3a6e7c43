-- One text for both databases: BIGINT and TEXT mean the same in each, and identifiers come from `registry_counters`, so
-- that neither AUTOINCREMENT nor IDENTITY is needed. Times are seconds since 1970; lists and objects are JSON.

CREATE TABLE registry_counters (
    name TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO registry_counters (name, value) VALUES ('change', 0), ('skill', 0), ('version', 0);

-- The owner is a stable identifier that changes when the namespace changes hands (attack registry-A5).
CREATE TABLE namespaces (
    name TEXT PRIMARY KEY,
    canonical TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    owner TEXT NOT NULL UNIQUE,
    display_name TEXT,
    private BIGINT NOT NULL DEFAULT 0,
    created BIGINT NOT NULL,
    deleted BIGINT
);

CREATE TABLE namespace_members (
    namespace TEXT NOT NULL REFERENCES namespaces (name),
    user_id TEXT NOT NULL,
    username TEXT NOT NULL,
    role TEXT NOT NULL,
    added BIGINT NOT NULL,
    PRIMARY KEY (namespace, user_id)
);
CREATE INDEX namespace_members_user ON namespace_members (user_id);

CREATE TABLE namespace_invitations (
    namespace TEXT NOT NULL REFERENCES namespaces (name),
    username TEXT NOT NULL,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,
    invited_by TEXT NOT NULL,
    expires BIGINT NOT NULL,
    PRIMARY KEY (namespace, username)
);

-- GAIA §2.3: names with these prefixes need a publisher that is allowed to use them.
CREATE TABLE reserved_prefixes (
    prefix TEXT NOT NULL,
    namespace TEXT NOT NULL,
    PRIMARY KEY (prefix, namespace)
);

CREATE TABLE skills (
    id BIGINT PRIMARY KEY,
    namespace TEXT NOT NULL REFERENCES namespaces (name),
    name TEXT NOT NULL,
    canonical TEXT NOT NULL,
    state TEXT NOT NULL,
    state_reason TEXT,
    private BIGINT NOT NULL DEFAULT 0,
    latest TEXT,
    listed BIGINT NOT NULL DEFAULT 0,
    summary TEXT NOT NULL,
    badge TEXT,
    deprecated TEXT,
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    downloads BIGINT NOT NULL DEFAULT 0,
    rating_count BIGINT NOT NULL DEFAULT 0,
    rating_sum BIGINT NOT NULL DEFAULT 0,
    UNIQUE (namespace, name)
);
CREATE INDEX skills_name ON skills (name);
CREATE INDEX skills_canonical ON skills (canonical);
CREATE INDEX skills_updated ON skills (updated, id);
CREATE INDEX skills_created ON skills (created, id);
CREATE INDEX skills_downloads ON skills (downloads, id);
CREATE INDEX skills_state ON skills (state);

CREATE TABLE versions (
    id BIGINT PRIMARY KEY,
    skill_id BIGINT NOT NULL REFERENCES skills (id),
    version TEXT NOT NULL,
    comparable TEXT NOT NULL,
    state TEXT NOT NULL,
    state_reason TEXT,
    sha256 TEXT NOT NULL,
    content_digest TEXT NOT NULL,
    size BIGINT NOT NULL,
    unpacked BIGINT NOT NULL,
    manifest TEXT NOT NULL,
    files TEXT NOT NULL,
    facts TEXT NOT NULL,
    scan TEXT,
    signatures TEXT,
    provenance TEXT,
    tier TEXT NOT NULL,
    yanked BIGINT NOT NULL DEFAULT 0,
    yank_reason TEXT,
    revoked TEXT,
    revoked_at BIGINT,
    publisher_id TEXT NOT NULL,
    publisher TEXT NOT NULL,
    published BIGINT NOT NULL,
    UNIQUE (skill_id, comparable)
);
CREATE INDEX versions_sha256 ON versions (sha256);
CREATE INDEX versions_published ON versions (published, id);
CREATE INDEX versions_revoked ON versions (revoked_at);

CREATE TABLE dependencies (
    version_id BIGINT NOT NULL REFERENCES versions (id),
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    version_range TEXT NOT NULL,
    required BIGINT NOT NULL,
    PRIMARY KEY (version_id, namespace, name)
);
CREATE INDEX dependencies_name ON dependencies (namespace, name);

-- Versions of deleted skills and refused hashes: never published again (attack registry-A5).
CREATE TABLE retired_versions (
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    comparable TEXT NOT NULL,
    PRIMARY KEY (namespace, name, comparable)
);
CREATE TABLE retired_names (
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    available BIGINT NOT NULL,
    PRIMARY KEY (namespace, name)
);

CREATE TABLE jobs (
    version_id BIGINT PRIMARY KEY REFERENCES versions (id),
    attempts BIGINT NOT NULL,
    leased_until BIGINT NOT NULL,
    problem TEXT,
    created BIGINT NOT NULL
);

-- Every node follows this log to update its search index.
CREATE TABLE changes (
    sequence BIGINT PRIMARY KEY,
    skill_id BIGINT NOT NULL,
    changed BIGINT NOT NULL
);

CREATE TABLE download_identities (
    day BIGINT NOT NULL,
    skill_id BIGINT NOT NULL,
    identity TEXT NOT NULL,
    PRIMARY KEY (day, skill_id, identity)
);
CREATE TABLE download_days (
    skill_id BIGINT NOT NULL,
    day BIGINT NOT NULL,
    downloads BIGINT NOT NULL,
    PRIMARY KEY (skill_id, day)
);

-- NEG-14: integers from 1 to 5, one for each user.
CREATE TABLE ratings (
    skill_id BIGINT NOT NULL REFERENCES skills (id),
    user_id TEXT NOT NULL,
    username TEXT NOT NULL,
    rating BIGINT NOT NULL CHECK (rating BETWEEN 1 AND 5),
    weight BIGINT NOT NULL,
    review TEXT,
    version TEXT,
    hidden BIGINT NOT NULL DEFAULT 0,
    rated BIGINT NOT NULL,
    PRIMARY KEY (skill_id, user_id)
);

CREATE TABLE reports (
    skill_id BIGINT NOT NULL REFERENCES skills (id),
    user_id TEXT NOT NULL,
    username TEXT NOT NULL,
    version TEXT,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    state TEXT NOT NULL,
    reported BIGINT NOT NULL,
    PRIMARY KEY (skill_id, user_id)
);
CREATE INDEX reports_state ON reports (state, reported);

-- New names of a publisher, for the limit of five in ten minutes.
CREATE TABLE new_names (
    user_id TEXT NOT NULL,
    published BIGINT NOT NULL,
    skill_id BIGINT NOT NULL,
    PRIMARY KEY (user_id, skill_id)
);

CREATE TABLE publisher_keys (
    namespace TEXT NOT NULL,
    key_id TEXT NOT NULL,
    role TEXT NOT NULL,
    material TEXT NOT NULL,
    added BIGINT NOT NULL,
    revoked BIGINT,
    PRIMARY KEY (namespace, key_id)
);

CREATE TABLE trusted_publishers (
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    issuer TEXT NOT NULL,
    repository TEXT NOT NULL,
    workflow TEXT NOT NULL,
    environment TEXT NOT NULL,
    added BIGINT NOT NULL,
    PRIMARY KEY (namespace, name, issuer, repository, workflow, environment)
);

-- SRT §8: prose without front matter is published as `anon/{sha256}`.
CREATE TABLE prose (
    sha256 TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    size BIGINT NOT NULL,
    publisher_id TEXT NOT NULL,
    published BIGINT NOT NULL,
    revoked TEXT
);
