-- The number of a repository's owner, noted at the first use: whoever gets a name that was given up has another one.
ALTER TABLE trusted_publishers ADD COLUMN owner_id TEXT;

-- The CI runs behind tokens that were made for one of them. What such a token publishes says so.
CREATE TABLE run_tokens (
    token_id TEXT PRIMARY KEY,
    provenance TEXT NOT NULL,
    expires BIGINT NOT NULL
);
CREATE INDEX run_tokens_expires ON run_tokens (expires);
