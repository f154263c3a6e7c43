-- Skills of the upstream registry that were asked for, as it described them last.
CREATE TABLE mirrored_skills (
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The index as it was received, and its entity tag.
    body TEXT NOT NULL,
    etag TEXT,
    -- What the upstream registry says of the skill besides, as JSON.
    overview TEXT,
    overview_fetched BIGINT NOT NULL DEFAULT 0,
    -- When the upstream registry was last asked.
    fetched BIGINT NOT NULL,
    -- Whether it says that there is no such skill any more.
    gone BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (namespace, name)
);

-- Packages that were fetched from the upstream registry.
CREATE TABLE mirrored_packages (
    sha256 TEXT PRIMARY KEY,
    fetched BIGINT NOT NULL
);
