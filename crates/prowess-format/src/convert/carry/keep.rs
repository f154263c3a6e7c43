//! Preserves what the target has no field for, and applies the target's limits.

use serde_json::Value;

use super::{Carried, Kept};
use crate::dialect::{self, Dialect};
use crate::formats;
use crate::skill::{OptionalText, Skill};
use crate::span::Spanned;
use crate::text::shorten;

/// Writes vendor blocks under `metadata`.
pub(super) fn blocks(carried: &mut Carried, source: &Skill, to: &'static Dialect) {
    let family = dialect::FAMILY.contains(&to.id);
    if source.has_layer("gaia") && (family || to.id == "openclaw") {
        let block = dialect::gaia_block(&carried.skill);
        if !block.is_empty() {
            for facet in [
                "security_tier",
                "permissions",
                "tools",
                "requirements.model",
                "requirements.context",
                "requirements.python",
                "requirements.python_packages",
                "requirements.node_packages",
                "requirements.env_vars",
                "requirements.hardware",
                "requirements.skills",
            ] {
                carried.kept.push(Kept {
                    facet,
                    place: "under `metadata.gaia`, which only GAIA reads".to_owned(),
                });
            }
            carried.skill.metadata.insert(0, ("gaia".to_owned(), Value::Object(block)));
        }
    }
    if source.has_layer("openclaw") && (family || to.id == "gaia") {
        let block = dialect::openclaw_block(&carried.skill);
        if !block.is_empty() {
            let namespace = source
                .openclaw
                .as_ref()
                .map(|block| block.namespace.as_str())
                .filter(|namespace| !namespace.is_empty())
                .unwrap_or("openclaw");
            for facet in [
                "requirements.programs",
                "requirements.any_programs",
                "requirements.env_vars",
                "requirements.config",
                "requirements.os",
                "openclaw.emoji",
                "openclaw.always",
                "openclaw.skill_key",
                "openclaw.primary_env",
                "openclaw.env_vars",
                "openclaw.install",
                "openclaw.extra",
            ] {
                carried.kept.push(Kept {
                    facet,
                    place: format!("under `metadata.{namespace}`, which only OpenClaw reads"),
                });
            }
            carried.skill.metadata.insert(0, (namespace.to_owned(), Value::Object(block)));
        }
    }
}

/// Moves registry fields and texts to `metadata` if the dialect has no field for them.
pub(super) fn registry(carried: &mut Carried, to: &'static Dialect) {
    let Carried { skill, kept, .. } = carried;
    if dialect::FAMILY.contains(&to.id)
        && let Some(registry) = skill.registry.take()
    {
        kept.push(Kept { facet: "registry", place: "in `metadata`".to_owned() });
        skill.metadata.push(("registry".to_owned(), Value::String(registry.value)));
    }
    if !matches!(to.id, "gaia" | "skillrt" | "openclaw" | "agent-flow") {
        return;
    }
    let joined = |texts: &[Spanned<String>]| {
        (!texts.is_empty())
            .then(|| texts.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(", "))
    };
    let value = |text: &OptionalText| text.as_ref().map(|text| text.value.clone());
    let mut texts = vec![
        ("compatibility", "compatibility", joined(&skill.compatibility)),
        ("registry", "registry", value(&skill.registry).filter(|_| to.id != "gaia")),
    ];
    if to.id == "agent-flow" {
        // Its writer already puts the registry fields there.
        let facets = [
            "version",
            "authors",
            "tags",
            "category",
            "trust_level",
            "repository",
            "homepage",
            "min_client_version",
        ];
        kept.extend(facets.map(|facet| Kept { facet, place: "in `metadata`".to_owned() }));
    } else {
        texts.extend([
            ("category", "category", value(&skill.category)),
            ("trust_level", "trust-level", value(&skill.trust_level)),
            ("min_client_version", "min-skillli-version", value(&skill.min_client_version)),
        ]);
    }
    for (facet, key, text) in texts {
        if let Some(text) = text.filter(|_| !skill.metadata.iter().any(|(known, _)| known == key)) {
            kept.push(Kept { facet, place: "in `metadata`".to_owned() });
            skill.metadata.push((key.to_owned(), Value::String(text)));
        }
    }
}

/// Keeps fields of other hosts at the top level: OpenClaw shares its instructions with them and
/// ignores their fields.
pub(super) fn hosted(carried: &mut Carried) {
    let tools: Vec<&str> = carried.skill.allowed_tools.iter().map(|tool| tool.as_str()).collect();
    if !tools.is_empty() {
        carried.skill.extra.push(("allowed-tools".to_owned(), Value::String(tools.join(" "))));
    }
    for facet in [
        "allowed_tools",
        "disallowed_tools",
        "model_alias",
        "hooks",
        "invocation.mode",
        "invocation.argument_hint",
        "invocation.context",
        "invocation.agent",
        "invocation.when_to_use",
        "invocation.arguments",
        "invocation.effort",
        "invocation.background",
        "invocation.paths",
        "invocation.shell",
    ] {
        carried
            .kept
            .push(Kept { facet, place: "at the top level, which OpenClaw ignores".to_owned() });
    }
}

/// Moves values that the target's reader would reject.
pub(super) fn limits(carried: &mut Carried, to: &'static Dialect) {
    let Carried { skill, kept, .. } = carried;
    if to.id == "gaia" {
        for (facet, text) in [
            ("homepage", &mut skill.homepage),
            ("repository", &mut skill.repository),
            ("registry", &mut skill.registry),
        ] {
            if text.as_ref().is_some_and(|text| (formats::URL.check)(text).is_err())
                && let Some(text) = text.take()
            {
                kept.push(Kept { facet, place: "in `metadata`".to_owned() });
                skill.metadata.push((facet.to_owned(), Value::String(text.value)));
            }
        }
    }
    if to.id == "skillli" {
        // The registry only accepts the values of its own lists.
        for (text, words) in [
            (&mut skill.category, dialect::CATEGORIES),
            (&mut skill.trust_level, dialect::TRUST_LEVELS),
        ] {
            if text.as_ref().is_some_and(|text| !words.contains(&text.as_str())) {
                *text = None;
            }
        }
        for text in [&mut skill.homepage, &mut skill.repository] {
            if text.as_ref().is_some_and(|text| (formats::URL.check)(text).is_err()) {
                *text = None;
            }
        }
    }
    if to.id == "agent-flow" {
        // AFL §3.1 and §3.3.
        if skill.license.as_ref().is_some_and(|license| license.chars().count() > 64)
            && let Some(license) = skill.license.take()
        {
            kept.push(Kept { facet: "license", place: "in `metadata`".to_owned() });
            skill.metadata.push(("license".to_owned(), Value::String(license.value)));
        }
        let cut = |text: &mut Option<String>, most: usize| {
            if let Some(long) = text.as_mut().filter(|text| text.chars().count() > most) {
                *long = shorten(long, most - 1);
            }
        };
        for input in &mut skill.inputs {
            cut(&mut input.description, 512);
            cut(&mut input.label, 128);
            if input.default.as_ref().is_some_and(|default| {
                default
                    .as_str()
                    .map_or_else(|| default.to_string().len(), |text| text.chars().count())
                    > 1024
            }) {
                input.default = None;
            }
        }
    }
}
