//! What is served at one moment: the skills, their tools and their prompts. It never changes; a new one replaces it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prowess_engine::LoadedSkill;
use prowess_engine::quiz::Quizzes;
use prowess_policy::Mode;
use rmcp::model::{Prompt, Tool};

use crate::tools::{self, ServedTool};
use crate::{files, prompts, quiz};

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
    /// The names of skills behind a quiz that is not passed.
    pub(crate) closed: BTreeSet<String>,
}

impl Catalog {
    /// The catalog of some skills, whose names differ. Tools of skills that have not changed are those of before, with what
    /// is known from earlier calls.
    pub(crate) fn new(
        skills: impl IntoIterator<Item = Arc<LoadedSkill>>,
        before: &Self,
        quizzes: &Quizzes,
        mode: Mode,
    ) -> Self {
        let mut catalog = Self::default();
        let mut taken = BTreeSet::new();
        for skill in skills {
            catalog.skills.entry(skill.name.clone()).or_insert(skill);
        }
        for (name, skill) in &catalog.skills {
            let is_closed = skill.skill.is_gated() && !quizzes.is_open(skill);
            if is_closed {
                catalog.closed.insert(name.clone());
            }
            for mut tool in tools::of_skill(skill, mode, &mut taken) {
                if is_closed {
                    quiz::mark_closed(&mut tool.definition);
                }
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
        if catalog.has_quiz() {
            catalog.definitions.extend(quiz::definitions());
            catalog.definitions.sort_by(|one, other| one.name.cmp(&other.name));
        }
        catalog
    }

    /// Whether a skill has a quiz, so that quizzes can be taken.
    pub(crate) fn has_quiz(&self) -> bool {
        self.skills.values().any(|skill| !skill.skill.quiz.is_empty())
    }
}
