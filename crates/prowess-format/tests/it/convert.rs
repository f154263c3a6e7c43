//! `prowess convert`: every dialect to every other, with an honest list of losses.

use std::fmt::Write as _;

use prowess_format::convert::{Conversion, convert, facets};
use prowess_format::diagnostic::Severity;
use prowess_format::dialect::{self, Dialect};
use prowess_format::skill::Skill;
use prowess_format::{Checked, ReadOptions, check, form_of};

use serde_json::{Value, json};

use crate::{Fixture, named};

/// Converts a text whose dialect is detected.
fn converted(text: &str, to: &str) -> Conversion {
    convert(&check(text, ReadOptions::DETECT), named(to))
}

/// Converts a fixture where it lies.
fn converted_fixture(path: &str, to: &'static Dialect) -> Conversion {
    Fixture::open(path).check(None, |_, checked| convert(checked, to))
}

/// Files, losses and notes as a person would want to read them.
fn report(conversion: &Conversion) -> String {
    let mut report = String::new();
    for (path, text) in &conversion.files {
        let _ = write!(report, "=== {path}\n{text}");
    }
    report + &losses(conversion)
}

fn losses(conversion: &Conversion) -> String {
    let mut report = String::new();
    for loss in &conversion.losses {
        let _ = writeln!(report, "loss {}: {}", loss.field, loss.detail);
    }
    for note in &conversion.notes {
        let _ = writeln!(report, "note {note}");
    }
    report
}

/// The errors of a conversion's files, read in the dialect they were written for.
fn errors(conversion: &Conversion, to: &'static Dialect) -> Vec<String> {
    let mut errors = Vec::new();
    for (path, text) in &conversion.files {
        if path.ends_with(".md") || path.ends_with(".json") {
            let options = ReadOptions { form: form_of(path), dialect: Some(to), ..ReadOptions::DETECT };
            let checked = check(text, options);
            let serious = checked.diagnostics.iter().filter(|found| found.severity == Severity::Error);
            errors.extend(serious.map(|found| format!("{} {}", found.rule.name, found.message)));
        }
    }
    errors
}

fn has_errors(checked: &Checked<'_>) -> bool {
    !checked.is_skill() || checked.diagnostics.iter().any(|found| found.severity == Severity::Error)
}

/// The specifications' own examples, one or more of each dialect.
const EXAMPLES: &[&str] = &[
    "agent-skills/layer-1/hello-world/SKILL.md",
    "claude-code/template-claude-code/my-skill/SKILL.md",
    "skillli/template-quiz/api-onboarding/SKILL.md",
    "gibberish/8.1/git/SKILL.md",
    "gaia/2.1/web-search/SKILL.md",
    "agent-flow/11.2/code-review/SKILL.md",
    "skillrt/3.2/pr-review/SKILL.md",
    "openclaw/OC-4/requires-everything/SKILL.md",
    "openclaw/section-8/shelf-search/SKILL.md",
    "tool-pack/page_outline/page_outline.tool.json",
    "prose/3.1/finding-uk-train-times/SKILL.md",
];

#[test]
fn losses_of_every_example_in_every_dialect() {
    for path in EXAMPLES {
        let mut table = String::new();
        for to in dialect::ALL {
            let conversion = converted_fixture(path, to);
            let _ = write!(table, "--- {}\n{}", to.id, losses(&conversion));
        }
        let name = path.rsplit_once('/').map_or(*path, |(folder, _)| folder);
        insta::assert_snapshot!(format!("losses_{}", name.replace(['/', '.'], "_")), table);
    }
}

/// A file of a dialect can be converted to any other, and is valid there, unless the dialect is for tools and the
/// source has none.
#[test]
fn whatever_is_valid_stays_valid_in_every_other_dialect() {
    let mut seen = 0;
    for fixture in Fixture::all() {
        fixture.check(None, |_, checked| {
            if has_errors(checked) {
                return;
            }
            for to in dialect::ALL {
                let conversion = convert(checked, to);
                let toolless = to.id == "gibberish" && errors(&conversion, to) == ["no-tools no tool is defined"];
                if !toolless {
                    assert_eq!(errors(&conversion, to), [""; 0], "{} to {}", fixture.name, to.id);
                }
                seen += 1;
            }
        });
    }
    assert!(seen > 2_000, "only {seen} conversions");
}

#[test]
fn a_skill_in_its_own_dialect_is_returned_byte_for_byte() {
    for fixture in Fixture::all() {
        fixture.check(None, |text, checked| {
            if checked.is_skill() {
                let conversion = convert(checked, checked.skill.dialect);
                assert_eq!(conversion.files.len(), 1, "{}", fixture.name);
                assert_eq!(conversion.files[0].1, text, "{}", fixture.name);
                assert!(conversion.losses.is_empty() && conversion.notes.is_empty());
            }
        });
    }
}

/// What a skill says, without what goes without saying: the defaults that no dialect needs to write down.
fn said(skill: &Skill) -> Vec<(&'static str, Value)> {
    let unsaid = [
        ("network", json!(false)),
        ("read_only", json!(false)),
        ("always_ask", json!(false)),
        ("modes", json!(["Global"])),
        ("timeout_secs", json!(30)),
        ("invocation.user_invocable", json!(true)),
        ("invocation.disable_model_invocation", json!(false)),
        ("invocation.mode", json!(false)),
        ("invocation.background", json!(false)),
        ("invocation.command_arg_mode", json!("raw")),
        ("openclaw.always", json!(false)),
        ("runtime.type", json!("markdown-skill")),
        ("version", json!("0.0.0")),
        ("security_tier", json!("experimental")),
    ];
    let mut said = facets(skill);
    for (name, value) in &mut said {
        match (*name, value) {
            ("permissions", Value::Array(grants)) => {
                grants.retain(|grant| grant.as_str().is_some_and(|grant| !grant.ends_with(":none")));
            }
            // The two widgets for text are one type elsewhere (R13).
            ("inputs", Value::Array(inputs)) => {
                for input in inputs {
                    if input["type"] == "textarea" || input["type"] == "text" {
                        input["type"] = json!("string");
                    }
                }
            }
            // A list here, one line there (R42, R44).
            ("compatibility" | "authors", texts) => {
                let words: Vec<&str> = texts.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                *texts = json!(words.join(", "));
            }
            ("body", Value::String(body)) => *body = prowess_format::template::tighten(body.trim()),
            _ => {}
        }
    }
    said.retain(|facet| !unsaid.contains(facet) && facet.1 != json!([]));
    said
}

/// Reads the first file of a conversion as anybody would.
fn read_back(conversion: &Conversion) -> Option<Skill> {
    let (path, text) = conversion.files.first()?;
    Some(check(text, ReadOptions { form: form_of(path), ..ReadOptions::DETECT }).skill)
}

/// What neither step lists as lost, moved or changed is there again, as it was.
#[test]
fn there_and_back_keeps_what_both_carry() {
    for fixture in Fixture::all() {
        fixture.check(None, |_, checked| {
            if has_errors(checked) {
                return;
            }
            for to in dialect::ALL.iter().filter(|to| ***to != *checked.skill.dialect) {
                let there = convert(checked, to);
                // Several tools become several packs, which are several skills.
                let Some((path, text)) = there.files.first().filter(|_| there.files.len() == 1) else { continue };
                let options = ReadOptions { form: form_of(path), dialect: Some(to), ..ReadOptions::DETECT };
                let back = convert(&check(text, options), checked.skill.dialect);
                let Some(skill) = read_back(&back) else { continue };
                let now = said(&skill);
                let lost = |facet: &str| {
                    let mut losses = there.losses.iter().chain(&back.losses);
                    losses.any(|loss| loss.field.starts_with(facet) || (facet == "extra" && !loss.field.contains('.')))
                };
                for (facet, value) in said(&checked.skill) {
                    // A migrated skill is experimental, and a pack's text is written anew.
                    // Without the namespace that counts, the next one counts (OC-1).
                    let reset = (facet == "security_tier" && to.id == "openclaw")
                        || (facet == "metadata" && lost("openclaw"))
                        || (facet == "body" && to.id == "tool-pack");
                    let new = now.iter().find(|(name, _)| *name == facet).map_or(&Value::Null, |(_, new)| new);
                    assert!(reset || lost(facet) || holds(new, &value), "{} via {}: {facet} {value} became {new}", fixture.name, to.id);
                }
            }
        });
    }
}

/// Whether everything that `value` says is there: a map may have more entries.
fn holds(now: &Value, value: &Value) -> bool {
    match (now, value) {
        (Value::Object(now), Value::Object(value)) => value.iter().all(|(key, value)| now.get(key) == Some(value)),
        _ => now == value,
    }
}
