//! What a model and a user are told about skills: a [`Catalogue`] of them, written as a [`Manifest`] in one of several
//! formats and within a budget of tokens, or as a menu of commands.
//!
//! The three levels are those of progressive disclosure (SKL): names and descriptions, then bodies, then files.

mod budget;
mod files;
mod functiongemma;
mod gaia;
mod json;
mod menu;
mod xml;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use prowess_format::tokens::estimated_tokens;
use prowess_policy::{Mode, is_available};
use serde_json::Value;

use crate::loaded::LoadedSkill;
use crate::offer::{OfferedTool, ToolOffer};
use crate::quiz::Quizzes;

use budget::{Extent, View};

pub use budget::{CutPart, ManifestCut};
pub use files::{SkillResource, read_resource};
pub use menu::{MenuCommand, UserMenu};
pub use xml::skill_content;

/// The skills that are available in a mode.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// The mode.
    pub mode: Mode,
    /// The skills that a model may use, in order of precedence.
    pub for_model: Vec<Arc<LoadedSkill>>,
    /// The skills that only the user may invoke (`disable-model-invocation`).
    pub hidden: Vec<Arc<LoadedSkill>>,
    /// The number of skills that are not available in the mode.
    pub other_modes: usize,
    /// The tools for a model.
    pub offer: ToolOffer,
    /// Where the skills are whose gates are passed.
    open: HashSet<PathBuf>,
}

/// The format of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManifestFormat {
    /// The `<available_skills>` block of the Agent Skills standard.
    Xml,
    /// The lines of GIB §7.1.
    FunctionGemma,
    /// The function declarations that `FunctionGemma` was trained on.
    FunctionGemmaFull,
    /// The `tools` of a request to an OpenAI-compatible provider.
    OpenAi,
    /// The `tools` of a request to Anthropic.
    Anthropic,
    /// The tool registry of GAIA §5.2.
    Gaia,
    /// All details, for programs.
    Json,
}

impl ManifestFormat {
    /// Whether the format describes skills and can contain their texts, or only their tools.
    pub fn has_levels(self) -> bool {
        matches!(self, Self::Xml | Self::Json)
    }
}

/// How much of each skill is disclosed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DisclosureLevel {
    /// Names and descriptions.
    Descriptions = 1,
    /// The bodies too.
    Bodies = 2,
    /// The list of files too. Files are read one by one with [`read_resource`].
    Files = 3,
}

/// Options of a manifest.
#[derive(Clone, Copy, Debug)]
pub struct ManifestOptions {
    /// The format.
    pub format: ManifestFormat,
    /// The level; `None` for the default of the format: names and descriptions, or everything in JSON.
    pub level: Option<DisclosureLevel>,
    /// Maximum number of tokens, as [`estimated_tokens`] estimates them.
    pub budget: Option<usize>,
}

/// A manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The text or JSON value.
    pub content: ManifestContent,
    /// The estimated number of tokens. For JSON, only the texts for a model count: names, descriptions and bodies.
    pub tokens: usize,
    /// What was cut to stay within the budget.
    pub cuts: Vec<ManifestCut>,
}

/// The content of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub enum ManifestContent {
    /// A text for a prompt.
    Text(String),
    /// A JSON value.
    Json(Value),
}

impl Catalogue {
    /// The catalogue of some skills in a mode (GIB §7.2), with the host's own tools: name and description.
    pub fn new(
        skills: impl IntoIterator<Item = Arc<LoadedSkill>>,
        mode: Mode,
        native: Vec<(String, String)>,
    ) -> Self {
        let is_here = |skill: &Arc<LoadedSkill>| {
            is_available(skill.skill.modes.iter().map(|mode| mode.as_str()), mode)
        };
        let (available, others): (Vec<_>, Vec<_>) = skills.into_iter().partition(is_here);
        let (hidden, for_model): (Vec<_>, Vec<_>) =
            available.into_iter().partition(|skill| skill.skill.is_hidden_from_model());
        let named = for_model.iter().map(|skill| (skill.name.as_str(), &skill.skill));
        let offer = ToolOffer::of(named, mode).with_native(native);
        let open = HashSet::new();
        Self { mode, other_modes: others.len(), offer, for_model, hidden, open }
    }

    /// Discloses what is behind gates that are passed. Without this, every skill with a gate is closed.
    #[must_use]
    pub fn with_gates(mut self, quizzes: &Quizzes) -> Self {
        let gated = self.for_model.iter().filter(|skill| skill.skill.is_gated());
        let open = gated.filter(|skill| quizzes.is_open(skill));
        self.open = open.map(|skill| skill.place().to_owned()).collect();
        self
    }

    /// Whether a quiz withholds the body and the files of a skill.
    fn is_closed(&self, skill: &LoadedSkill) -> bool {
        skill.skill.is_gated() && !self.open.contains(skill.place())
    }

    /// Writes the manifest. If it exceeds the budget, it is cut in this order until it fits:
    ///
    /// 1. The bodies of the last skills are left out. A body is never cut: half of the instructions could mean something
    ///    else.
    /// 2. Descriptions are shortened to a common length, the largest that fits and at least 40 characters.
    /// 3. The last skills, or the last tools in formats of tools, are left out.
    ///
    /// The host's own tools are never cut.
    pub fn manifest(&self, options: ManifestOptions) -> Manifest {
        let extent = self.extent(options);
        let measure = |view: View| self.tokens(options, view);
        let view = match options.budget {
            Some(budget) => budget::fit(extent, |view| measure(view) <= budget),
            None => extent.everything(),
        };
        let cuts = self.cuts(options, extent, view);
        let tokens = measure(view);
        let mut content = self.content(options, view);
        if let (ManifestFormat::Json, ManifestContent::Json(value)) = (options.format, &mut content)
        {
            json::add_totals(value, options, tokens, &cuts);
        }
        Manifest { content, tokens, cuts }
    }

    fn content(&self, options: ManifestOptions, view: View) -> ManifestContent {
        let tools = || self.offer_in(view);
        match options.format {
            ManifestFormat::Xml => ManifestContent::Text(xml::write(self, options.level, view)),
            ManifestFormat::FunctionGemma => ManifestContent::Text(tools().prompt()),
            ManifestFormat::FunctionGemmaFull => {
                ManifestContent::Text(functiongemma::write(&tools()))
            }
            ManifestFormat::OpenAi => ManifestContent::Json(tools().openai()),
            ManifestFormat::Anthropic => ManifestContent::Json(tools().anthropic()),
            ManifestFormat::Gaia => ManifestContent::Json(gaia::write(self, view)),
            ManifestFormat::Json => ManifestContent::Json(json::write(self, options.level, view)),
        }
    }

    fn tokens(&self, options: ManifestOptions, view: View) -> usize {
        if options.format == ManifestFormat::Json {
            return json::tokens(self, options.level, view);
        }
        match self.content(options, view) {
            ManifestContent::Text(text) => estimated_tokens(&text),
            ManifestContent::Json(value) => estimated_tokens(&value.to_string()),
        }
    }

    fn extent(&self, options: ManifestOptions) -> Extent {
        let longest = |text: &str| text.chars().count();
        if options.format.has_levels() {
            let has_bodies = options.level >= Some(DisclosureLevel::Bodies);
            return Extent {
                entries: self.for_model.len(),
                bodies: if has_bodies { self.for_model.len() } else { 0 },
                longest: self
                    .for_model
                    .iter()
                    .map(|it| longest(description(it)))
                    .max()
                    .unwrap_or(0),
            };
        }
        let tools = self.offer.tools.iter().map(|tool| tool.description.as_str());
        let commands = self.offer.mode_commands.iter().map(|(_, text)| text.as_str());
        Extent {
            entries: self.offer.tools.len() + self.offer.mode_commands.len(),
            bodies: 0,
            longest: tools.chain(commands).map(longest).max().unwrap_or(0),
        }
    }

    /// The tools and mode commands that a view keeps.
    fn offer_in(&self, view: View) -> ToolOffer {
        let kept = self.offer.tools.iter().take(view.entries);
        let tools = kept.map(|tool| OfferedTool {
            description: view.shortened(&tool.description),
            ..tool.clone()
        });
        let commands = view.entries.saturating_sub(self.offer.tools.len());
        let commands = self.offer.mode_commands.iter().take(commands);
        ToolOffer {
            native: self.offer.native.clone(),
            tools: tools.collect(),
            mode_commands: commands
                .map(|(name, text)| (name.clone(), view.shortened(text)))
                .collect(),
        }
    }

    /// What a view leaves out, in the order of the entries.
    fn cuts(&self, options: ManifestOptions, extent: Extent, view: View) -> Vec<ManifestCut> {
        if view == extent.everything() {
            return Vec::new();
        }
        let entries: Vec<(&str, Option<&str>, &str)> = if options.format.has_levels() {
            self.for_model.iter().map(|it| (it.name.as_str(), None, description(it))).collect()
        } else {
            let tools = self.offer.tools.iter().map(|tool| {
                (tool.skill.as_str(), Some(tool.tool.as_str()), tool.description.as_str())
            });
            let commands = self.offer.mode_commands.iter();
            tools.chain(commands.map(|(name, text)| (name.as_str(), None, text.as_str()))).collect()
        };
        let mut cuts = Vec::new();
        for (number, (skill, tool, text)) in entries.into_iter().enumerate() {
            let mut cut = |part| {
                let (skill, tool) = (skill.to_owned(), tool.map(str::to_owned));
                cuts.push(ManifestCut { skill, tool, part });
            };
            let characters = text.chars().count();
            if number >= view.entries {
                cut(CutPart::Entry);
                continue;
            }
            if number >= view.bodies && number < extent.bodies {
                cut(CutPart::Body);
            }
            if characters > view.longest {
                cut(CutPart::Description { characters, kept: view.longest });
            }
        }
        cuts
    }
}

/// The description of a skill for a model.
fn description(skill: &LoadedSkill) -> &str {
    skill.skill.model_description(&skill.name)
}
