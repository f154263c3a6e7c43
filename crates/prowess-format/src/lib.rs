//! SKILL.md text to one model with diagnostics, and back.
//!
//! Pure: text in, values out. Nothing here reads a file, the clock or the environment, and no input makes it panic.
//!
//! ```
//! let text = "---\nname: hello-world\ndescription: Greets the user\n---\n\n# Hello\n";
//! let checked = prowess_format::check(text, prowess_format::ReadOptions::DETECT);
//! assert_eq!(checked.skill.name_text(), Some("hello-world"));
//! assert!(checked.diagnostics.is_empty());
//! ```

pub mod binary;
pub mod client;
pub mod command;
pub mod convert;
pub mod diagnostic;
pub mod dialect;
pub mod document;
pub mod eligibility;
pub mod emit;
pub mod fix;
pub mod formats;
pub mod hook_events;
pub mod json;
pub mod manifest;
pub mod migrate;
pub mod permission;
pub mod python;
pub mod range;
mod read;
pub mod render;
pub mod rules;
pub mod scaffold;
pub mod shape;
pub mod skill;
pub mod span;
pub mod specification;
pub mod subagent;
pub mod suppress;
pub mod template;
pub mod text;
pub mod tokens;
pub mod tool_output;
pub mod tool_pattern;

pub use read::{
    Checked, ReadOptions, check, check_bytes, declared_quizzes, form_of, read, read_bytes,
};
