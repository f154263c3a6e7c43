//! Skills of the studio: files below `DIR/skills`, their text checked before it is written.

mod content;
mod files;
mod history;
mod name;
mod resolver;
mod table;
mod view;

pub use content::MAX_CONTENT_BYTES;
pub(crate) use content::{check_content, diagnostics_json, model_of, owner_of, read};
pub(crate) use files::{IMPORTED, SkillFileError, SkillFiles, StoredSkill};
pub(crate) use history::{SkillFacts, SkillHistory, SkillVersion, SkillVersionText};
pub use name::SkillName;
pub(crate) use resolver::{OwnerSkills, load_text, stored_owner};
pub(crate) use view::{SkillDetail, SkillSummary};
