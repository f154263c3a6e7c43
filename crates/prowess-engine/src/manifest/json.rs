//! A catalogue as JSON: everything, or only what a level discloses.

use std::collections::HashSet;

use prowess_format::tokens::estimated_tokens;
use serde_json::{Value, json};

use super::budget::{CutPart, View};
use super::files::resources;
use super::{Catalogue, DisclosureLevel, ManifestCut, ManifestOptions, description};
use crate::loaded::LoadedSkill;

pub(super) fn write(catalogue: &Catalogue, level: Option<DisclosureLevel>, view: View) -> Value {
    let kept = || catalogue.for_model.iter().take(view.entries).enumerate();
    let Some(level) = level else {
        let skills: Vec<Value> =
            kept().map(|(_, it)| whole(catalogue, it, &view.short(description(it)))).collect();
        let names: HashSet<&str> = kept().map(|(_, skill)| skill.name.as_str()).collect();
        let native: Vec<Value> = catalogue.offer.native.iter().map(native).collect();
        let tools = catalogue.offer.tools.iter().filter(|it| names.contains(it.skill.as_str()));
        let tools: Vec<Value> = tools
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "skill": tool.skill,
                    "tool": tool.tool,
                    "qualified_name": format!("{}/{}", tool.skill, tool.tool),
                    "description": view.short(&tool.description),
                    "parameters": tool.parameters,
                })
            })
            .collect();
        let menu = catalogue.menu().json();
        return json!({ "mode": catalogue.mode.to_string(), "native": native, "tools": tools, "skills": skills, "menu": menu });
    };
    let skills: Vec<Value> = kept()
        .map(|(number, skill)| {
            let text = view.short(description(skill));
            let mut entry = json!({ "name": skill.name, "description": text });
            if level >= DisclosureLevel::Bodies && number < view.bodies {
                add_body(catalogue, skill, &mut entry);
            }
            if level == DisclosureLevel::Files {
                entry["files"] = files(catalogue, skill, true);
            }
            // Level 1 has the name and the description only.
            if level >= DisclosureLevel::Bodies {
                let has_body = number < view.bodies && !catalogue.is_closed(skill);
                let tokens = tokens_of(skill, level, &text, has_body);
                entry["tokens"] = json!(tokens);
            }
            entry
        })
        .collect();
    json!({ "level": level as u8, "skills": skills })
}

/// The tokens of the texts for a model.
pub(super) fn tokens(catalogue: &Catalogue, level: Option<DisclosureLevel>, view: View) -> usize {
    let level = level.unwrap_or(DisclosureLevel::Descriptions);
    let kept = catalogue.for_model.iter().take(view.entries).enumerate();
    kept.map(|(number, skill)| {
        let has_body = number < view.bodies && !catalogue.is_closed(skill);
        tokens_of(skill, level, &view.short(description(skill)), has_body)
    })
    .sum()
}

/// Adds what was counted and what was cut.
pub(super) fn add_totals(
    value: &mut Value,
    options: ManifestOptions,
    tokens: usize,
    cuts: &[ManifestCut],
) {
    value["tokens"] = json!(tokens);
    if let Some(budget) = options.budget {
        value["budget"] = json!(budget);
        value["cut"] = cuts.iter().map(cut).collect();
    }
}

fn cut(cut: &ManifestCut) -> Value {
    let mut entry = json!({ "skill": cut.skill, "part": cut.part.as_str() });
    if let Some(tool) = &cut.tool {
        entry["tool"] = json!(tool);
    }
    if let CutPart::Description { characters, kept } = cut.part {
        entry["characters"] = json!(characters);
        entry["kept"] = json!(kept);
    }
    entry
}

fn native((name, description): &(String, String)) -> Value {
    json!({ "name": name, "description": description })
}

fn whole(catalogue: &Catalogue, skill: &LoadedSkill, text: &str) -> Value {
    let parsed = &skill.skill;
    let body = if catalogue.is_closed(skill) { "" } else { parsed.body.as_str() };
    let invocation = &parsed.invocation;
    let mut entry = json!({
        "name": skill.name,
        "description": text,
        "when_to_use": invocation.when_to_use.as_ref().map(|text| text.as_str()),
        "version": parsed.version.as_ref().map(|version| version.as_str()),
        "kind": parsed.kind.as_str(),
        "dialect": parsed.dialect.id,
        "tier": skill.trust.tier().as_str(),
        "location": skill.file.to_string_lossy(),
        "modes": parsed.modes_or_default(),
        "user_invocable": parsed.is_user_invocable(),
        "mode_command": parsed.is_mode_command(),
        "gated": parsed.is_gated(),
        "tools": parsed.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<&str>>(),
    });
    add_body(catalogue, skill, &mut entry);
    entry["files"] = files(catalogue, skill, false);
    entry["tokens"] = json!({
        "description": estimated_tokens(&skill.name) + estimated_tokens(text),
        "body": estimated_tokens(body),
    });
    entry
}

/// Adds the body, unless a quiz withholds it.
fn add_body(catalogue: &Catalogue, skill: &LoadedSkill, entry: &mut Value) {
    if catalogue.is_closed(skill) {
        entry["withheld"] = json!("the quiz of this skill is not passed");
    } else {
        entry["body"] = json!(skill.skill.body);
    }
}

fn files(catalogue: &Catalogue, skill: &LoadedSkill, count_tokens: bool) -> Value {
    if catalogue.is_closed(skill) {
        return json!([]);
    }
    let file = |file: super::SkillResource| {
        let mut entry = json!({ "path": file.path, "bytes": file.bytes });
        if let Some(tokens) = file.tokens {
            entry["tokens"] = json!(tokens);
        }
        entry
    };
    resources(skill, count_tokens).into_iter().map(file).collect()
}

fn tokens_of(skill: &LoadedSkill, level: DisclosureLevel, text: &str, has_body: bool) -> usize {
    let is_shown = level >= DisclosureLevel::Bodies && has_body;
    let body = if is_shown { estimated_tokens(&skill.skill.body) } else { 0 };
    estimated_tokens(&skill.name) + estimated_tokens(text) + body
}
