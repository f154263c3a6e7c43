//! Fields that another dialect reads: the target's own ones among the unknown, and entries of
//! `metadata`.

use serde_json::{Map, Value};

use super::{Carried, computed};
use crate::diagnostic::{Findings, Severity};
use crate::dialect::{self, Dialect};
use crate::document::Document;
use crate::emit::YamlWriter;
use crate::shape;
use crate::skill::Skill;

/// Entries of `metadata` that another dialect reads as fields, where the source was not read with that dialect: registry
/// fields, and the target's own vendor block. Fields that are declared already win (SKL-L3-1).
pub(super) fn lift(carried: &mut Carried, to: &'static Dialect) {
    let skill = &mut carried.skill;
    // The first namespace wins, without merging (OC-1).
    let has =
        |key: &str| skill.metadata.iter().any(|(known, value)| known == key && value.is_object());
    let namespace = dialect::NAMESPACES.iter().copied().find(|namespace| has(namespace));
    let free = |skill: &Skill, key: &str| match key {
        "version" => skill.version.is_none(),
        "author" => skill.authors.is_empty(),
        "tags" => skill.tags.is_empty(),
        "category" => skill.category.is_none(),
        "trust-level" => skill.trust_level.is_none(),
        "repository" => skill.repository.is_none(),
        "homepage" => skill.homepage.is_none(),
        "min-skillli-version" => skill.min_client_version.is_none(),
        "gaia" => to.id == "gaia" && !skill.has_layer("gaia"),
        _ => to.id == "openclaw" && !skill.has_layer("openclaw") && Some(key) == namespace,
    };
    let wanted: Map<String, Value> = skill
        .metadata
        .iter()
        .filter(|(key, value)| free(skill, key) && value.is_object() == is_block(key))
        .cloned()
        .collect();
    let mut take = |skill: &mut Skill, key: &str| {
        let at =
            skill.metadata.iter().position(|(known, value)| known == key && value.is_string())?;
        let (key, value) = skill.metadata.remove(at);
        carried.lifted.push(key);
        Some(computed(value.as_str().unwrap_or_default()))
    };
    if dialect::FAMILY.contains(&to.id) && skill.compatibility.is_empty() {
        let text = take(skill, "compatibility");
        skill.compatibility.extend(text);
    }
    if to.id == "gaia" && skill.registry.is_none() {
        skill.registry = take(skill, "registry");
    }
    if wanted.is_empty() {
        return;
    }
    let keys: Vec<String> = wanted.keys().cloned().collect();
    skill.metadata.retain(|(key, _)| !keys.contains(key));
    let rest = std::mem::take(&mut skill.metadata);
    let mut yaml = YamlWriter::new();
    yaml.value("metadata", &Value::Object(wanted));
    let text = format!("---\n{}---\n", yaml.as_str());
    read_more(&text, &["skillli", to.id], skill);
    skill.metadata = rest;
    carried.lifted.extend(keys);
}

fn is_block(key: &str) -> bool {
    key == "gaia" || dialect::NAMESPACES.contains(&key)
}

/// Fields that the source's dialect does not know and the target does: the target's own reader takes them.
pub(super) fn adopt(carried: &mut Carried, to: &'static Dialect) {
    let known = |key: &str| {
        let layers = dialect::layers_of(to);
        layers.iter().any(|layer| layer.fields.iter().any(|field| field.name == key))
    };
    let (candidates, mut rest): (Vec<_>, Vec<_>) =
        std::mem::take(&mut carried.skill.extra).into_iter().partition(|(key, _)| known(key));
    for (key, value) in candidates {
        let mut yaml = YamlWriter::new();
        yaml.value(&key, &value);
        let text = format!("---\n{}---\n", yaml.as_str());
        let mut findings = Findings::default();
        let document = Document::markdown(&text, &mut findings);
        for layer in dialect::layers_of(to) {
            let fields: Vec<_> =
                layer.fields.iter().filter(|field| field.name == key).copied().collect();
            shape::check(&fields, &document.root, document.opening, "", &mut findings);
        }
        let fits =
            findings.into_sorted().iter().all(|diagnostic| diagnostic.severity != Severity::Error);
        if fits {
            let ids: Vec<&str> = dialect::layers_of(to).iter().map(|layer| layer.id).collect();
            read_more(&text, &ids, &mut carried.skill);
        } else {
            // The target gives this key another meaning: at the top level it would be misread.
            rest.push((key, value));
        }
    }
    let misread: Vec<String> =
        rest.iter().map(|(key, _)| key.clone()).filter(|key| known(key)).collect();
    let homeless = |key: &String| misread.contains(key) || to.id == "agent-skills";
    let (moved, stays): (Vec<_>, Vec<_>) = rest.into_iter().partition(|(key, _)| homeless(key));
    carried.skill.extra = stays;
    // The registry reads its fields in `metadata` too, where an invalid value stays invalid.
    let read_there = |key: &String| to.id == "skillli" && misread.contains(key);
    for (key, value) in moved {
        if read_there(&key) {
            let note = format!("`{key}` has a value that {} does not accept: left out", to.id);
            carried.notes.push(("unknown fields", note));
        } else if keeps_metadata(to)
            && !carried.skill.metadata.iter().any(|(known, _)| *known == key)
        {
            carried.notes.push((
                "unknown fields",
                format!("`{key}` is not a field of {}: it went to `metadata`", to.id),
            ));
            carried.skill.metadata.push((key, value));
        }
    }
}

fn keeps_metadata(to: &Dialect) -> bool {
    !matches!(to.id, "gibberish" | "tool-pack" | "prose")
}

/// Lets dialects read more front matter into an existing model.
fn read_more(text: &str, ids: &[&str], skill: &mut Skill) {
    let document = Document::markdown(text, &mut Findings::default());
    let kind = skill.kind;
    for layer in ids.iter().filter_map(|id| dialect::by_id(id)) {
        (layer.read)(&document, skill);
    }
    skill.kind = kind;
}
