//! Converts OpenClaw's install steps to requirements, or to instructions for a person (OC-5).
//! Nothing is ever run.

use serde_json::Value;

use super::ReviewItem;
use crate::command::quote;
use crate::skill::{InstallStep, Requirements};
use crate::span::Spanned;
use crate::text::shorten;

/// Adds packages that GAIA can install to the requirements; lists everything else for review.
pub(super) fn install(
    steps: &[InstallStep],
    wanted: &mut Requirements,
    review: &mut Vec<ReviewItem>,
) {
    for step in steps {
        let field =
            |key: &str| step.entry[key].as_str().map(str::trim).filter(|text| !text.is_empty());
        let package = field("package").or_else(|| field("name")).or_else(|| field("formula"));
        let list = match step.kind.as_str() {
            "pip" | "pip3" | "pipx" | "uv" => Some(&mut wanted.python_packages),
            "node" | "npm" | "pnpm" | "yarn" | "bun" => Some(&mut wanted.node_packages),
            _ => None,
        };
        match (list, package) {
            (Some(list), Some(package)) => {
                if !list.iter().any(|known| *known.value == *package) {
                    list.push(Spanned::new(package.to_owned(), step.kind.span));
                }
            }
            _ => review.push(ReviewItem {
                what: format!("install step `{}`", shorten(&title(step), 60)),
                why: format!("GAIA does not install it; to install it, {}", by_hand(step)),
            }),
        }
    }
}

fn title(step: &InstallStep) -> String {
    let named = step.entry["label"].as_str().or_else(|| step.entry["id"].as_str());
    named.unwrap_or(if step.kind.is_empty() { "without a kind" } else { &step.kind }).to_owned()
}

/// What a person has to do, as the end of a sentence.
fn by_hand(step: &InstallStep) -> String {
    let field = |key: &str| step.entry[key].as_str().map(str::trim).filter(|text| !text.is_empty());
    let package = field("package")
        .or_else(|| field("formula"))
        .or_else(|| field("module"))
        .or_else(|| field("name"));
    let run = |words: &str| match package {
        Some(package) => format!("run `{words} {}`", shorten(&quote(package), 120)),
        None => format!("look up what `{words}` should install; the file does not say"),
    };
    match step.kind.as_str() {
        "brew" => run("brew install"),
        "go" => run("go install"),
        "apt" | "apt-get" => run("sudo apt-get install"),
        "cargo" => run("cargo install"),
        "gem" => run("gem install"),
        "snap" => run("sudo snap install"),
        "winget" => run("winget install"),
        "choco" => run("choco install"),
        "scoop" => run("scoop install"),
        "dnf" => run("sudo dnf install"),
        "pacman" => run("sudo pacman -S"),
        "pip" | "pip3" | "pipx" | "uv" => run("pip install"),
        "node" | "npm" | "pnpm" | "yarn" | "bun" => run("npm install --global"),
        "download" => download(step),
        _ => match field("command")
            .or_else(|| field("cmd"))
            .or_else(|| field("run"))
            .or_else(|| field("script"))
            .or_else(|| field("path"))
        {
            Some(command) => format!("read `{}` before running it", shorten(command, 120)),
            None => match field("instructions") {
                Some(text) => format!("follow: {}", shorten(text, 200)),
                None => format!("read {}", shorten(&step.entry.to_string(), 200)),
            },
        },
    }
}

fn download(step: &InstallStep) -> String {
    let field = |key: &str| step.entry[key].as_str().map(str::trim).filter(|text| !text.is_empty());
    let Some(url) = field("url") else {
        return "look up where to download it; the file does not say".to_owned();
    };
    let checked = match field("sha256") {
        Some(digest) => format!("compare its SHA-256 with `{}`", shorten(digest, 64)),
        None => "check its origin, because no SHA-256 is given".to_owned(),
    };
    let target = field("targetDir")
        .map_or_else(String::new, |target| format!(" and unpack it to `{}`", shorten(target, 80)));
    let unsafe_address = if url.starts_with("https://") { "" } else { " (not over https)" };
    format!("download `{}`{unsafe_address}, {checked}{target}", shorten(url, 200))
}

/// The required and the optional variables in `envVars`.
pub(super) fn described_variables(entries: &[Value]) -> (Vec<String>, Vec<String>) {
    let (mut needed, mut optional) = (Vec::new(), Vec::new());
    for entry in entries {
        let Some(name) = entry.as_str().or_else(|| entry["name"].as_str()) else { continue };
        if entry["required"].as_bool().unwrap_or(true) {
            needed.push(name.to_owned());
        } else {
            optional.push(name.to_owned());
        }
    }
    (needed, optional)
}
