//! Files and variables that hold secrets.

use crate::input::has_extension;

/// Parts of paths of files that hold secrets, in lower case. Reading one is worth a look by itself.
pub(crate) const FILES: &[&str] = &[
    ".ssh/id_",
    "/id_rsa",
    "/id_ed25519",
    "/id_ecdsa",
    "/id_dsa",
    ".ssh/*",
    ".ssh/identity",
    ".aws/credentials",
    ".netrc",
    ".git-credentials",
    ".config/gh/hosts",
    ".docker/config.json",
    ".kube/config",
    ".gnupg",
    "login.keychain",
    "library/keychains",
    "login data",
    "cookies.sqlite",
    "logins.json",
    "key4.db",
    "key3.db",
    "wallet.dat",
    "ethereum/keystore",
    ".config/solana/id.json",
    ".bitcoin",
    "exodus.wallet",
    "/etc/shadow",
    ".config/gcloud",
    "application_default_credentials",
    ".azure/accesstokens",
    ".azure/msal",
    ".openclaw/openclaw.json",
    ".openclaw/device",
    ".openclaw/credentials",
    ".clawdbot/",
    ".moltbot/",
    ".openclaw/.env",
    ".claude/.credentials",
    ".claude.json",
    ".cursor/mcp.json",
    ".codex/auth",
    ".gemini/oauth",
    ".pypirc",
    ".password-store",
    ".kdbx",
    ".vault-token",
    "credentials.tfrc",
    ".config/rclone",
    ".pgpass",
    ".my.cnf",
    "local extension settings",
    "google/chrome/user data",
    "google/chrome/default",
    "application support/google/chrome",
    "application support/firefox",
    ".mozilla/firefox",
    "bravesoftware",
    "metamask",
    "electrum/wallets",
    ".config/op/",
    "ntds.dit",
    "config/sam",
    ".terraform.d/credentials",
    ".cargo/credentials",
    ".composer/auth.json",
    ".gem/credentials",
    ".s3cfg",
    ".boto",
    ".codex/auth.json",
    ".bash_history",
    ".zsh_history",
    ".pgpass",
    ".vault-token",
    "library/messages/chat.db",
    "telegram desktop/tdata",
    "signal/config.json",
    "discord/local storage",
    "slack/local storage",
    ".password-store",
    ".kdbx",
    "phantom wallet",
    "atomic/local storage",
    "ledger live",
    "/proc/self/environ",
    "/proc/1/environ",
];
/// Files that hold settings and sometimes secrets: they count when they leave the machine.
pub(crate) const WEAK_FILES: &[&str] = &[
    ".claude/projects",
    ".claude/history",
    ".codex/sessions",
    ".openclaw/agents",
    ".openclaw/sessions",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".env",
    ".npmrc",
    ".ssh",
    ".aws",
    ".gitconfig",
    ".git/config",
    "/etc/passwd",
    "credentials",
    "secrets.",
    "secret.",
    "tokens.json",
    "token.json",
    "auth.json",
    "cookies",
    "keystore",
    "private_key",
    "private.key",
    ".pem",
    ".p12",
    ".pfx",
    ".key",
    "wallet",
    "mcp.json",
    "mcp_config.json",
    "claude_desktop_config.json",
    "settings.local.json",
    "memory.md",
    "soul.md",
    "user.md",
    "identity.md",
    "service-account",
    "service_account",
];

/// The file of secrets that a path names.
pub(crate) fn file(path: &str) -> Option<&'static str> {
    let path = path.to_lowercase().replace('\\', "/");
    if has_extension(&path, "pub")
        || path.ends_with("known_hosts")
        || path.contains(".example")
        || path.contains(".sample")
    {
        return None;
    }
    FILES.iter().find(|known| path.contains(**known)).copied()
}

/// The file of settings that a path names.
pub(crate) fn weak_file(path: &str) -> Option<&'static str> {
    let path = path.to_lowercase().replace('\\', "/");
    if has_extension(&path, "pub")
        || path.ends_with("known_hosts")
        || path.contains(".example")
        || path.contains(".sample")
        || path.contains("://")
    {
        return None;
    }
    WEAK_FILES
        .iter()
        .find(|known| {
            path.match_indices(**known).any(|(at, word)| {
                let after = path[at + word.len()..].chars().next();
                after.is_none_or(|next| {
                    !next.is_alphanumeric() && next != '_' || word.ends_with('.')
                })
            })
        })
        .copied()
}

/// Words in names of variables that hold secrets.
const WORDS: &[&str] = &[
    "KEY",
    "APIKEY",
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASS",
    "CREDENTIAL",
    "CREDENTIALS",
    "PAT",
    "MNEMONIC",
    "PASSPHRASE",
    "COOKIE",
    "SESSION",
    "PWD",
    "AUTH",
    "JWT",
    "DSN",
];
const HARMLESS: &[&str] = &[
    "PUBLIC",
    "PUBLISHABLE",
    "FILE",
    "PATH",
    "URL",
    "KEYBOARD",
    "NAME",
    "COUNT",
    "LIMIT",
    "MAX",
    "TYPE",
];

/// Whether the name of a variable says that it is secret.
pub(crate) fn is_variable(name: &str) -> bool {
    if name.len() < 3
        || name.len() > 80
        || matches!(name, "PWD" | "OLDPWD" | "SSH_AUTH_SOCK" | "XDG_SESSION_TYPE")
    {
        return false;
    }
    let upper = name.to_ascii_uppercase();
    if [
        "DATABASE_UR",
        "CONNECTION_STRING",
        "MONGO_UR",
        "MONGODB_UR",
        "REDIS_UR",
        "POSTGRES_UR",
        "MYSQL_UR",
        "AMQP_UR",
        "WEBHOOK_URL",
    ]
    .iter()
    .any(|known| upper.contains(known))
    {
        return true;
    }
    let parts: Vec<&str> = upper.split(['_', '-', '.']).collect();
    parts.iter().any(|part| WORDS.contains(part))
        && !parts.iter().any(|part| HARMLESS.contains(part))
}

/// Beginnings of names of variables whose service everybody knows.
const SERVICES: &[&str] = &[
    "ANTHROPIC_",
    "AWS_",
    "AZURE_",
    "CLOUDFLARE_",
    "DATABASE_UR",
    "DIGITALOCEAN_",
    "GCP_",
    "GH_",
    "GITHUB_",
    "GITLAB_",
    "GOOGLE_",
    "HF_",
    "HUGGINGFACE_",
    "NPM_",
    "OPENAI_",
    "PYPI_",
    "SLACK_",
    "SSH_",
    "STRIPE_",
    "TWILIO_",
];

/// Whether a variable holds a secret of a service that everybody knows.
pub(crate) fn is_of_service(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    SERVICES.iter().any(|start| upper.starts_with(start))
}

/// Words of variables that name no service.
const GENERIC: &[&str] = &[
    "api",
    "key",
    "token",
    "secret",
    "access",
    "auth",
    "client",
    "user",
    "password",
    "bearer",
    "private",
    "public",
    "ssh",
    "jwt",
    "session",
    "the",
    "app",
    "test",
    "prod",
    "dev",
    "admin",
    "master",
    "root",
    "cred",
    "credential",
    "credentials",
    "personal",
    "base",
    "url",
    "env",
    "name",
    "data",
    "service",
    "account",
    "server",
    "host",
    "com",
    "org",
    "net",
    "www",
    "example",
];
/// Services whose hosts have another name than their variables.
const ALIASES: &[(&str, &str)] = &[
    ("gh", "github"),
    ("aws", "amazonaws"),
    ("azure", "microsoft"),
    ("azure", "windows"),
    ("arm", "azure"),
    ("gemini", "google"),
    ("gcp", "google"),
    ("google", "googleapis"),
    ("hf", "huggingface"),
    ("npm", "npmjs"),
    ("cf", "cloudflare"),
    ("jira", "atlassian"),
    ("confluence", "atlassian"),
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("x", "twitter"),
    ("twitter", "x"),
    ("tg", "telegram"),
    ("elevenlabs", "elevenlabs"),
    ("fal", "fal"),
    ("brave", "brave"),
    ("es", "elastic"),
    ("kibana", "elastic"),
    ("ado", "azure"),
    ("graph", "microsoft"),
    ("entra", "microsoft"),
    ("bird", "x"),
    ("docker", "docker"),
    ("pypi", "pypi"),
];

/// Whether a variable belongs to the service of a host: its last two labels have a word of the name.
pub(crate) fn belongs_to(variable: &str, host: &str) -> bool {
    let labels: Vec<&str> = host.rsplit('.').take(3).collect();
    let name = variable.to_ascii_lowercase();
    let has = |word: &str| {
        labels
            .iter()
            .take(if labels.first().is_some_and(|top| top.len() == 2) { 3 } else { 2 })
            .any(|label| *label == word || (word.len() >= 4 && label.contains(word)))
    };
    name.split(['_', '-']).any(|part| {
        (!GENERIC.contains(&part) && part.len() >= 2 && has(part))
            || ALIASES.iter().any(|(known, service)| *known == part && has(service))
    })
}
