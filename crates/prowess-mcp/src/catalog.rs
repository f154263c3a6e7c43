//! What is served at one moment: the skills, their tools and their prompts. It never changes; a new one replaces it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prowess_engine::LoadedSkill;
use rmcp::model::{Prompt, Tool};

use crate::tools::{self, ServedTool};
use crate::{files, prompts};

/// Everything that clients can see.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    /// By name, sorted.
    pub(crate) skills: BTreeMap<String, Arc<LoadedSkill>>,
    /// The names of skills that have a folder of instructions, sorted: those that are served as files.
    pub(crate) documents: Vec<String>,
    /// By the names that clients use.
    pub(crate) tools: BTreeMap<String, Arc<ServedTool>>,
    /// The tools as clients see them, in the order of their names.
    pub(crate) definitions: Vec<Tool>,
    /// Prompts, in the order of their names.
    pub(crate) prompts: Vec<Prompt>,
}

impl Catalog {
    /// The catalog of some skills, whose names differ. Tools of skills that have not changed are those of before, with what
    /// is known from earlier calls.
    pub(crate) fn new(skills: impl IntoIterator<Item = Arc<LoadedSkill>>, before: &Self) -> Self {
        let mut catalog = Self::default();
        let mut taken = BTreeSet::new();
        for skill in skills {
            catalog.skills.entry(skill.name.clone()).or_insert(skill);
        }
        for (name, skill) in &catalog.skills {
            for tool in tools::of_skill(skill, &mut taken) {
                let key = tool.definition.name.to_string();
                let same = before.tools.get(&key).filter(|old| {
                    Arc::ptr_eq(&old.skill, skill) && old.definition == tool.definition
                });
                let tool = same.map_or_else(|| Arc::new(tool), Arc::clone);
                catalog.tools.insert(key, tool);
            }
            catalog.prompts.extend(prompts::of_skill(skill));
            if files::is_document(skill) {
                catalog.documents.push(name.clone());
            }
        }
        catalog.definitions = catalog.tools.values().map(|tool| tool.definition.clone()).collect();
        catalog
    }
}
