//! The languages of files in skills, as tables.

/// A language that is highlighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// Not highlighted.
    Plain,
    /// Markdown, with a heading as its only class.
    Markdown,
    /// YAML, also the front matter of a skill.
    Yaml,
    /// JSON.
    Json,
    /// TOML and INI.
    Toml,
    /// Python.
    Python,
    /// POSIX shells.
    Shell,
    /// JavaScript and TypeScript.
    JavaScript,
    /// Rust.
    Rust,
    /// Go.
    Go,
    /// SQL.
    Sql,
}

/// What a lexer has to know about a language.
pub(super) struct Table {
    pub(super) line_comments: &'static [&'static str],
    pub(super) block_comments: &'static [(&'static str, &'static str)],
    pub(super) strings: &'static [&'static str],
    pub(super) keywords: &'static [&'static str],
    pub(super) constants: &'static [&'static str],
    /// Whether `word:` or `"word":` is a key.
    pub(super) keys: bool,
    /// What follows a key.
    pub(super) separator: char,
    /// Whether a line that begins with `#` is a heading.
    pub(super) headings: bool,
    /// Whether a dash belongs to a word.
    pub(super) dashes: bool,
}

const NOTHING: Table = Table {
    line_comments: &[],
    block_comments: &[],
    strings: &[],
    keywords: &[],
    constants: &[],
    keys: false,
    separator: ':',
    headings: false,
    dashes: false,
};

const MARKDOWN: Table =
    Table { headings: true, block_comments: &[("<!--", "-->")], strings: &["```", "`"], ..NOTHING };

const YAML: Table = Table {
    line_comments: &["#"],
    strings: &["\"", "'"],
    constants: &["true", "false", "null", "yes", "no"],
    keys: true,
    dashes: true,
    ..NOTHING
};

const JSON: Table =
    Table { strings: &["\""], constants: &["true", "false", "null"], keys: true, ..NOTHING };

const TOML: Table = Table {
    line_comments: &["#", ";"],
    strings: &["\"\"\"", "\"", "'"],
    constants: &["true", "false"],
    keys: true,
    separator: '=',
    dashes: true,
    ..NOTHING
};

const PYTHON: Table = Table {
    line_comments: &["#"],
    strings: &["\"\"\"", "'''", "\"", "'"],
    keywords: &[
        "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
        "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
        "lambda", "match", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
        "with", "yield",
    ],
    constants: &["True", "False", "None"],
    ..NOTHING
};

const SHELL: Table = Table {
    line_comments: &["#"],
    strings: &["\"", "'"],
    keywords: &[
        "if", "then", "else", "elif", "fi", "for", "in", "do", "done", "while", "until", "case",
        "esac", "function", "return", "export", "local", "set", "exit", "source", "trap",
    ],
    dashes: true,
    ..NOTHING
};

const JAVASCRIPT: Table = Table {
    line_comments: &["//"],
    block_comments: &[("/*", "*/")],
    strings: &["\"", "'", "`"],
    keywords: &[
        "as",
        "async",
        "await",
        "break",
        "case",
        "catch",
        "class",
        "const",
        "continue",
        "default",
        "delete",
        "do",
        "else",
        "enum",
        "export",
        "extends",
        "finally",
        "for",
        "from",
        "function",
        "if",
        "implements",
        "import",
        "in",
        "instanceof",
        "interface",
        "let",
        "new",
        "of",
        "return",
        "static",
        "switch",
        "this",
        "throw",
        "try",
        "type",
        "typeof",
        "var",
        "void",
        "while",
        "yield",
    ],
    constants: &["true", "false", "null", "undefined"],
    ..NOTHING
};

const RUST: Table = Table {
    line_comments: &["//"],
    block_comments: &[("/*", "*/")],
    strings: &["\""],
    keywords: &[
        "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum",
        "extern", "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut",
        "pub", "ref", "return", "self", "Self", "static", "struct", "super", "trait", "type",
        "unsafe", "use", "where", "while",
    ],
    constants: &["true", "false", "None", "Some", "Ok", "Err"],
    ..NOTHING
};

const GO: Table = Table {
    line_comments: &["//"],
    block_comments: &[("/*", "*/")],
    strings: &["\"", "`"],
    keywords: &[
        "break",
        "case",
        "chan",
        "const",
        "continue",
        "default",
        "defer",
        "else",
        "fallthrough",
        "for",
        "func",
        "go",
        "goto",
        "if",
        "import",
        "interface",
        "map",
        "package",
        "range",
        "return",
        "select",
        "struct",
        "switch",
        "type",
        "var",
    ],
    constants: &["true", "false", "nil"],
    ..NOTHING
};

const SQL: Table = Table {
    line_comments: &["--"],
    block_comments: &[("/*", "*/")],
    strings: &["'"],
    keywords: &[
        "SELECT", "FROM", "WHERE", "INSERT", "INTO", "VALUES", "UPDATE", "SET", "DELETE", "CREATE",
        "TABLE", "INDEX", "JOIN", "LEFT", "ON", "AND", "OR", "NOT", "GROUP", "ORDER", "BY",
        "LIMIT", "select", "from", "where", "insert", "into", "values", "update", "set", "delete",
        "create", "table", "index", "join", "left", "on", "and", "or", "not", "group", "order",
        "by", "limit",
    ],
    constants: &["NULL", "null", "TRUE", "true", "FALSE", "false"],
    ..NOTHING
};

impl Language {
    /// The language of a file, by its name.
    pub(crate) fn of_path(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        Self::named(&extension.to_ascii_lowercase())
    }

    /// The language of a block of code, by the word after its fence.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "md" | "markdown" => Language::Markdown,
            "yaml" | "yml" => Language::Yaml,
            "json" | "jsonc" | "json5" | "jsonl" => Language::Json,
            "toml" | "ini" | "cfg" => Language::Toml,
            "py" | "python" | "pyi" => Language::Python,
            "sh" | "bash" | "zsh" | "shell" | "console" => Language::Shell,
            "js" | "mjs" | "cjs" | "ts" | "tsx" | "jsx" | "javascript" | "typescript" => {
                Language::JavaScript
            }
            "rs" | "rust" => Language::Rust,
            "go" => Language::Go,
            "sql" => Language::Sql,
            _ => Language::Plain,
        }
    }

    pub(super) fn table(self) -> &'static Table {
        match self {
            Language::Plain => &NOTHING,
            Language::Markdown => &MARKDOWN,
            Language::Yaml => &YAML,
            Language::Json => &JSON,
            Language::Toml => &TOML,
            Language::Python => &PYTHON,
            Language::Shell => &SHELL,
            Language::JavaScript => &JAVASCRIPT,
            Language::Rust => &RUST,
            Language::Go => &GO,
            Language::Sql => &SQL,
        }
    }
}
