//! The tool registry of GAIA §5.2: tools by their qualified names, each with the name that a model sees (R45).

use std::collections::BTreeMap;

use prowess_format::skill::{Parameter, Tool};
use serde_json::{Map, Value, json};

use super::Catalogue;
use super::budget::View;
use crate::loaded::LoadedSkill;

/// The tools that a view keeps. Of two skills of one name, the first has its tools listed.
pub(super) fn write(catalogue: &Catalogue, view: View) -> Value {
    let mut registry = Map::new();
    for (name, description) in &catalogue.offer.native {
        let tool = json!({ "name": name, "qualified_name": name, "description": description, "parameters": {}, "atomic": true, "skill": null, "skill_version": null });
        registry.insert(name.clone(), tool);
    }
    let all = || {
        let skills = catalogue.for_model.iter();
        skills.flat_map(|skill| skill.skill.tools.iter().map(move |tool| (skill, tool)))
    };
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for name in all().map(|(_, tool)| tool.name.as_str()).chain(catalogue.native_names()) {
        *uses.entry(name).or_default() += 1;
    }
    // The offer has the same tools in the same order.
    for ((skill, tool), offered) in all().zip(&catalogue.offer.tools).take(view.entries) {
        let qualified = format!("{}/{}", skill.name, tool.name.as_str());
        let is_unique = uses.get(tool.name.as_str()) == Some(&1);
        let name = if is_unique { tool.name.as_str() } else { qualified.as_str() };
        let entry = entry(skill, tool, name, &qualified, &view.short(&offered.description));
        registry.entry(qualified).or_insert(entry);
    }
    Value::Object(registry)
}

impl Catalogue {
    fn native_names(&self) -> impl Iterator<Item = &str> {
        self.offer.native.iter().map(|(name, _)| name.as_str())
    }
}

fn entry(skill: &LoadedSkill, tool: &Tool, name: &str, qualified: &str, text: &str) -> Value {
    let parameters: Map<String, Value> =
        tool.parameters.iter().map(|it| (it.name.value.clone(), parameter(it))).collect();
    json!({
        "name": name,
        "qualified_name": qualified,
        "description": text,
        "parameters": parameters,
        "atomic": tool.atomic.unwrap_or(false),
        "skill": skill.name,
        "skill_version": skill.skill.version.as_ref().map(|version| version.as_str()),
    })
}

fn parameter(parameter: &Parameter) -> Value {
    let mut entry = json!({ "type": parameter.kind.as_str(), "required": parameter.required });
    if let Some(description) = &parameter.description {
        entry["description"] = json!(description);
    }
    if let Some(default) = &parameter.default {
        entry["default"] = default.clone();
    }
    entry
}
