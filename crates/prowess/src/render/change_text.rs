//! Changes of a store for people.

use std::fmt::Write as _;

use prowess_library::packages::InstalledChange;
use prowess_store::install::{
    InstallPlan, InstallStep, NewerVersion, SkillDifference, UnavailableSkill,
};
use prowess_store::review::{InstallQuestion, InstallRefusal};
use serde_json::Value;

use crate::packages::names::{NO_VERSION, with_version};
use crate::render::{capability_text, problem_text};
use crate::terminal::printer::inline;
use crate::terminal::wrap::wrap;

/// The skills that can't be installed, each with its reason and what would help.
pub(crate) fn unavailable(skills: &[UnavailableSkill], width: Option<usize>) -> String {
    let mut page = String::new();
    for skill in skills {
        let _ = writeln!(page, "{}", wrap(&inline(&skill.name), 2, width));
        let _ = writeln!(page, "{}", wrap(&format!("  ! {}", inline(&skill.reason)), 4, width));
        for hint in problem_text::hints(&skill.remedies) {
            let _ = writeln!(page, "{}", wrap(&format!("    hint: {}", inline(&hint)), 6, width));
        }
    }
    page
}

/// A skill that was installed.
pub(crate) fn installed(change: &InstalledChange) -> String {
    let instead = match &change.replaced {
        Some(_) if change.is_reinstall => " again".to_owned(),
        Some(replaced) if *replaced == change.version => " with other files".to_owned(),
        Some(replaced) if *replaced == NO_VERSION => " instead of one without a version".to_owned(),
        Some(replaced) => format!(" instead of {replaced}"),
        None => String::new(),
    };
    let wording = if change.is_wording_only { ", only its wording changed" } else { "" };
    format!("installed {}{instead}{wording}", with_version(&change.name, &change.version))
}

/// Newer versions that are outside of the ranges.
pub(crate) fn newer(plan: &InstallPlan) -> Vec<String> {
    let line = |newer: &NewerVersion| {
        let NewerVersion { name, chosen, newest, requested } = newer;
        let range = requested.as_deref().map(|range| format!(", outside of `{}`", inline(range)));
        let range = range.unwrap_or_default();
        format!(
            "{name} {newest} is available{range}, and {chosen} is used; install it with `prowess install {name}@{newest}`"
        )
    };
    plan.newer.iter().map(line).collect()
}

/// The range that updates of a skill stay in from now on, if it has changed.
pub(crate) fn new_range(step: &InstallStep, plan: &InstallPlan) -> Option<String> {
    let range = step.new_range(plan)?;
    Some(format!("updates of {} stay within `{}` from now on", step.name(), inline(range)))
}

/// The install recipes of an OpenClaw skill, which are shown and never run.
pub(crate) fn recipes(step: &InstallStep) -> Option<String> {
    let install = &step.metadata.skill.openclaw.as_ref()?.install;
    let mut commands: Vec<String> = Vec::new();
    for recipe in install {
        let text = |key: &str| recipe.entry.get(key).and_then(Value::as_str).map(quoted);
        let command = match recipe.kind.value.as_str() {
            "brew" => text("formula").map(|it| format!("brew install {it}")),
            "node" | "npm" => text("package").map(|it| format!("npm install --global {it}")),
            "go" => text("module").map(|it| format!("go install {it}")),
            "uv" => text("package").map(|it| format!("uv tool install {it}")),
            "pip" => text("package").map(|it| format!("pip install {it}")),
            "apt" => text("package").map(|it| format!("apt-get install {it}")),
            "download" => text("url").map(|it| format!("download {it}")),
            _ => None,
        };
        commands.push(command.map_or_else(
            || format!("{} (see its SKILL.md)", inline(&recipe.kind.value)),
            |command| format!("`{command}`"),
        ));
    }
    if commands.is_empty() {
        return None;
    }
    Some(format!(
        "`{}` may need one of these, which you run yourself: {}",
        step.name(),
        commands.join(", ")
    ))
}

/// Quotes an untrusted word in a command that is meant to be copied: a shell sees one argument, and no option.
fn quoted(word: &str) -> String {
    let word = inline(word);
    let is_plain = |character: char| {
        character.is_ascii_alphanumeric()
            || matches!(character, '@' | '/' | '.' | '_' | ':' | '+' | '-')
    };
    if word.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '@')
        && word.chars().all(is_plain)
    {
        return word.into_owned();
    }
    let word = if word.starts_with('-') { format!("./{word}") } else { word.into_owned() };
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A step of a plan, with everything that should be read before agreeing to it.
pub(crate) fn step(step: &InstallStep, keeps_files: bool, width: Option<usize>) -> String {
    let mut page = String::new();
    let (files, bytes) = step.size();
    let source = step.entry.source.as_ref().map(ToString::to_string).unwrap_or_default();
    let version = |version: &semver::Version| {
        if *version == NO_VERSION { "(no version)".to_owned() } else { version.to_string() }
    };
    let mut change = match &step.replaces {
        Some(replaced) if *replaced == step.entry.version && keeps_files => {
            format!("{}, installed again", version(replaced))
        }
        Some(replaced) if *replaced == step.entry.version => {
            format!("{}, with other files", version(replaced))
        }
        Some(replaced) => format!("{} -> {}", version(replaced), version(&step.entry.version)),
        None => version(&step.entry.version),
    };
    if step.metadata.declares_version
        && let Some(written) = &step.metadata.written_version
    {
        let _ = write!(change, " (written `{}`)", inline(written));
    }
    if let Some(own) = &step.metadata.calls_itself {
        let _ = write!(change, ", which calls itself `{}`", inline(own));
    }
    let line = |page: &mut String, text: &str, indent: usize| {
        let _ = writeln!(page, "{}", wrap(text, indent, width));
    };
    line(&mut page, &format!("{} {change}, {}", step.name(), step.entry.tier), 2);
    line(&mut page, &format!("  from   {}", inline(&source)), 9);
    line(&mut page, &format!("  files  {files} ({})", size(bytes)), 9);
    let signers: Vec<String> = step
        .entry
        .signers
        .iter()
        .map(|signer| match &signer.identity {
            Some(identity) => format!("{} ({})", inline(identity), signer.key_id),
            None => format!("{} key {}", signer.scheme, signer.key_id),
        })
        .collect();
    if !signers.is_empty() {
        line(&mut page, &format!("  signed {}", signers.join(", ")), 9);
    }
    // The refusal says it already.
    let is_refused =
        |refusal: &InstallRefusal| matches!(refusal, InstallRefusal::CallsItselfExperimental(_));
    let is_refusal = step.review.refusals.iter().any(is_refused);
    if let Some(lower_claim) = step.lower_claim().filter(|_| !is_refusal) {
        line(&mut page, &format!("  tier   {lower_claim}"), 9);
    }
    if !step.entry.permissions.is_empty() {
        let permissions: Vec<&str> = step.entry.permissions.iter().map(String::as_str).collect();
        line(&mut page, &format!("  may    {}", inline(&permissions.join(", "))), 9);
    }
    let packages = &step.metadata.skill.requirements.python_packages;
    if !packages.is_empty() {
        let packages: Vec<&str> = packages.iter().map(|package| package.as_str()).collect();
        line(&mut page, &format!("  python {}", inline(&packages.join(", "))), 9);
    }
    // Whoever updates a skill has read it once.
    if step.difference.is_none() || step.review.asks_about_capabilities() {
        line(&mut page, &format!("  agent  {}", capability_text::AGENT_RIGHTS), 9);
    }
    if let Some(difference) = &step.difference {
        for text in differences(difference) {
            line(&mut page, &format!("  change {text}"), 9);
        }
    }
    let (mut capabilities, mut changed_scripts) = (Vec::new(), Vec::new());
    for question in &step.review.questions {
        match question {
            InstallQuestion::Capability(capability) => capabilities.push(capability),
            InstallQuestion::ChangedScript(script) => changed_scripts.push(script),
            other => line(&mut page, &format!("  ? {}", inline(&other.to_string())), 4),
        }
    }
    let prefix = if step.difference.is_some() { "new" } else { "" };
    for text in capability_text::lines(&capabilities, prefix)
        .into_iter()
        .chain(capability_text::lines(&changed_scripts, "changed"))
    {
        line(&mut page, &format!("  ? {text}"), 4);
    }
    for refusal in &step.review.refusals {
        line(&mut page, &format!("  ! {}", inline(&refusal.to_string())), 4);
    }
    page
}

/// How a skill differs from the installed version.
fn differences(difference: &SkillDifference) -> Vec<String> {
    let files = &difference.files;
    let mut lines = Vec::new();
    for (word, paths) in
        [("changed", &files.changed), ("added", &files.added), ("removed", &files.removed)]
    {
        if !paths.is_empty() {
            let wording = if difference.is_wording_only { "only wording: " } else { "" };
            lines.push(format!("{wording}{word} {}", capability_text::paths(paths)));
        }
    }
    if !difference.removed.is_empty() {
        lines.push(format!("no longer: {}", capability_text::paths(&difference.removed)));
    }
    lines
}

/// A number of bytes for people.
pub(crate) fn size(bytes: usize) -> String {
    if bytes < 10 << 10 {
        format!("{bytes} bytes")
    } else if bytes < 10 << 20 {
        format!("{} KiB", bytes >> 10)
    } else {
        format!("{} MiB", bytes >> 20)
    }
}
