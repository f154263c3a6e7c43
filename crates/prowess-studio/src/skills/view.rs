//! Skills as the API shows them (specification §9).

use prowess_format::skill::Skill;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::StoredSkill;
use super::content::{diagnostics_json, model_of, owner_of};
use crate::timestamp;

/// A skill in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SkillSummary {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) license: Option<String>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) tags: Vec<String>,
    pub(crate) inputs: Vec<SkillInput>,
    pub(crate) knowledge_base: Option<String>,
    pub(crate) model: SkillSampling,
    pub(crate) user_id: Option<String>,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
    pub(crate) version: i64,
}

/// A skill with its text.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SkillDetail {
    #[serde(flatten)]
    pub(crate) summary: SkillSummary,
    pub(crate) prompt: String,
    pub(crate) content: String,
    pub(crate) diagnostics: Vec<Value>,
}

/// An input of a skill.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SkillInput {
    pub(crate) name: String,
    pub(crate) label: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
    pub(crate) description: Option<String>,
}

/// How the model samples.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SkillSampling {
    pub(crate) temperature: f64,
    pub(crate) max_tokens: i64,
}

impl SkillSummary {
    pub(crate) fn of(
        stored: &StoredSkill,
        skill: &Skill,
        created: Option<&str>,
        version: i64,
    ) -> Self {
        let updated_at = timestamp::of(stored.modified);
        let created_at = created.map(str::to_owned).or_else(|| stored.created.map(timestamp::of));
        let name = stored.name.as_str();
        Self {
            name: name.to_owned(),
            description: skill.description_or(name).to_owned(),
            license: skill.license.as_ref().map(|license| license.value.clone()),
            metadata: skill.metadata.iter().cloned().collect(),
            tags: skill.tags.iter().map(|tag| tag.value.clone()).collect(),
            inputs: skill
                .inputs
                .iter()
                .map(|input| SkillInput {
                    name: input.name.value.clone(),
                    label: input.label.clone().unwrap_or_else(|| input.name.value.clone()),
                    kind: input.kind.value.clone(),
                    required: input.required,
                    default: input.default.clone(),
                    description: input.description.clone(),
                })
                .collect(),
            knowledge_base: skill.knowledge_base.as_ref().map(|base| base.value.clone()),
            model: SkillSampling {
                temperature: skill.temperature_or_default(),
                max_tokens: skill.max_tokens_or_default(),
            },
            user_id: owner_of(skill).map(str::to_owned),
            created_at: created_at.unwrap_or_else(|| updated_at.clone()),
            updated_at,
            version,
        }
    }
}

impl SkillDetail {
    /// A skill with its text; `None` if the file is not valid.
    pub(crate) fn of(stored: &StoredSkill, created: Option<&str>, version: i64) -> Option<Self> {
        let (skill, diagnostics) = model_of(&stored.text, stored.name.as_str()).ok()?;
        Some(Self {
            diagnostics: diagnostics_json(&stored.text, &diagnostics),
            summary: SkillSummary::of(stored, &skill, created, version),
            prompt: skill.body.trim_start_matches(['\r', '\n']).to_owned(),
            content: stored.text.clone(),
        })
    }
}
