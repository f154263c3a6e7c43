//! Skills as arguments of verbs: references, checks, fixes, and writing their files.

pub(crate) mod check_report;
pub(crate) mod error_free;
pub(crate) mod fixes;
pub(crate) mod prose_warning;
pub(crate) mod quiz_gate;
pub(crate) mod skill_ref;
pub(crate) mod skill_writer;
pub(crate) mod tool_ref;
