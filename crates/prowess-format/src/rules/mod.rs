//! Rules: one file each. A rule's doc comment is its page, shown by `prowess explain`.
//!
//! Some rules are reported by the reader; a rule with a `check` runs on the parsed skill.

use std::cell::OnceCell;
use std::collections::HashSet;

use crate::diagnostic::{Findings, Rule};
use crate::dialect::{self, Dialect};
use crate::document::markdown::{FileMention, file_mentions};
use crate::document::yaml::YamlEntry;
use crate::document::{Document, FrontMatter};
use crate::python::{PythonError, PythonFunction, PythonModule};
use crate::skill::{QuizBranch, Skill, ToolKind};
use crate::span::Span;
use crate::text::closest;

macro_rules! rules {
    ($($module:ident $name:ident)+) => {
        $(mod $module; pub(crate) use $module::$name;)+
        /// Every rule, by name.
        pub static ALL: &[&Rule] = &[$(&$name),+];
    };
}

rules! {
    agent_without_fork AGENT_WITHOUT_FORK
    ambiguous_boolean AMBIGUOUS_BOOLEAN
    blank_lines_before_fence BLANK_LINES_BEFORE_FENCE
    byte_order_mark BYTE_ORDER_MARK
    compatibility_too_long COMPATIBILITY_TOO_LONG
    contradictory_permissions CONTRADICTORY_PERMISSIONS
    dangling_link DANGLING_LINK
    description_over_limit DESCRIPTION_OVER_LIMIT
    description_too_long DESCRIPTION_TOO_LONG
    download_and_execute DOWNLOAD_AND_EXECUTE
    dropped_by_client DROPPED_BY_CLIENT
    duplicate_input DUPLICATE_INPUT
    duplicate_key DUPLICATE_KEY
    duplicate_tool DUPLICATE_TOOL
    empty_body EMPTY_BODY
    fence_trailing_blanks FENCE_TRAILING_BLANKS
    file_too_large FILE_TOO_LARGE
    front_matter_language FRONT_MATTER_LANGUAGE
    front_matter_not_a_map FRONT_MATTER_NOT_A_MAP
    hidden_characters HIDDEN_CHARACTERS
    hidden_description HIDDEN_DESCRIPTION
    hyphenated_placeholder HYPHENATED_PLACEHOLDER
    ignored_model IGNORED_MODEL
    input_without_name INPUT_WITHOUT_NAME
    invalid_category INVALID_CATEGORY
    invalid_command INVALID_COMMAND
    invalid_dependency INVALID_DEPENDENCY
    invalid_hook INVALID_HOOK
    invalid_input INVALID_INPUT
    invalid_json INVALID_JSON
    invalid_license INVALID_LICENSE
    invalid_mode INVALID_MODE
    invalid_name INVALID_NAME
    invalid_output_schema INVALID_OUTPUT_SCHEMA
    invalid_parameter_type INVALID_PARAMETER_TYPE
    invalid_permission INVALID_PERMISSION
    invalid_python INVALID_PYTHON
    invalid_range INVALID_RANGE
    invalid_required INVALID_REQUIRED
    invalid_sampling INVALID_SAMPLING
    invalid_security_tier INVALID_SECURITY_TIER
    invalid_tags INVALID_TAGS
    invalid_timeout INVALID_TIMEOUT
    invalid_tool_name INVALID_TOOL_NAME
    invalid_tool_pattern INVALID_TOOL_PATTERN
    invalid_trust_level INVALID_TRUST_LEVEL
    invalid_url INVALID_URL
    invalid_utf8 INVALID_UTF8
    invalid_version INVALID_VERSION
    invalid_yaml INVALID_YAML
    license_too_long LICENSE_TOO_LONG
    long_skill LONG_SKILL
    merge_conflict MERGE_CONFLICT
    misplaced_front_matter MISPLACED_FRONT_MATTER
    missing_annotation MISSING_ANNOTATION
    missing_command MISSING_COMMAND
    missing_docstring MISSING_DOCSTRING
    missing_field MISSING_FIELD
    missing_file MISSING_FILE
    missing_front_matter MISSING_FRONT_MATTER
    missing_parameters_section MISSING_PARAMETERS_SECTION
    missing_tool_function MISSING_TOOL_FUNCTION
    missing_tools_file MISSING_TOOLS_FILE
    misspelt_field MISSPELT_FIELD
    model_below_requirement MODEL_BELOW_REQUIREMENT
    multiple_commands MULTIPLE_COMMANDS
    name_directory_mismatch NAME_DIRECTORY_MISMATCH
    name_from_directory NAME_FROM_DIRECTORY
    name_not_canonical NAME_NOT_CANONICAL
    name_not_unique NAME_NOT_UNIQUE
    no_tools NO_TOOLS
    nonstandard_value NONSTANDARD_VALUE
    not_a_choice NOT_A_CHOICE
    not_a_skill NOT_A_SKILL
    not_text NOT_TEXT
    out_of_range OUT_OF_RANGE
    parameter_mismatch PARAMETER_MISMATCH
    public_suffix_wildcard PUBLIC_SUFFIX_WILDCARD
    quiz_missing_reference QUIZ_MISSING_REFERENCE
    quiz_no_correct_option QUIZ_NO_CORRECT_OPTION
    quiz_option_count QUIZ_OPTION_COUNT
    quiz_passing_score QUIZ_PASSING_SCORE
    quiz_reference_outside QUIZ_REFERENCE_OUTSIDE
    quiz_unknown_anchor QUIZ_UNKNOWN_ANCHOR
    quiz_without_questions QUIZ_WITHOUT_QUESTIONS
    repaired_yaml REPAIRED_YAML
    required_with_default REQUIRED_WITH_DEFAULT
    reserved_name_prefix RESERVED_NAME_PREFIX
    runtime_too_new RUNTIME_TOO_NEW
    shell_syntax SHELL_SYNTAX
    skill_not_installed SKILL_NOT_INSTALLED
    skill_version_mismatch SKILL_VERSION_MISMATCH
    smart_quotes SMART_QUOTES
    strict_extension STRICT_EXTENSION
    too_long TOO_LONG
    undeclared_parameter UNDECLARED_PARAMETER
    undeclared_placeholder UNDECLARED_PLACEHOLDER
    undeclared_tool_function UNDECLARED_TOOL_FUNCTION
    unknown_field UNKNOWN_FIELD
    unknown_hook_event UNKNOWN_HOOK_EVENT
    unknown_input_type UNKNOWN_INPUT_TYPE
    unknown_install_kind UNKNOWN_INSTALL_KIND
    unknown_rule UNKNOWN_RULE
    unknown_runtime UNKNOWN_RUNTIME
    unknown_tag UNKNOWN_TAG
    unpackaged_file UNPACKAGED_FILE
    unpinned_download UNPINNED_DOWNLOAD
    unquoted_text UNQUOTED_TEXT
    unscoped_files UNSCOPED_FILES
    unscoped_shell UNSCOPED_SHELL
    unserializable_return UNSERIALIZABLE_RETURN
    unterminated_front_matter UNTERMINATED_FRONT_MATTER
    unusable_handler UNUSABLE_HANDLER
    unused_parameter UNUSED_PARAMETER
    version_not_semver VERSION_NOT_SEMVER
    wrong_case_path WRONG_CASE_PATH
    wrong_default WRONG_DEFAULT
    wrong_file_name WRONG_FILE_NAME
    wrong_format WRONG_FORMAT
    wrong_type WRONG_TYPE
    yaml_limit YAML_LIMIT
}

/// Looks up a rule by its code.
pub fn by_name(name: &str) -> Option<&'static Rule> {
    ALL.iter().copied().find(|rule| rule.name == name)
}

/// The files of a skill, provided by the caller.
pub trait SkillFiles {
    /// Whether a file of this relative path exists.
    fn exists(&self, path: &str) -> bool;
    /// What becomes of a file that the text names.
    fn state(&self, path: &str) -> FileState {
        if self.exists(path) { FileState::Present } else { FileState::Missing }
    }
    /// The functions of `tools.py`; `None` if it is missing or can't be parsed here.
    fn python(&self) -> Option<&Result<PythonModule, PythonError>>;
}

/// What becomes of a file that a skill names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// It is a file or a folder of the skill.
    Present,
    /// It does not exist.
    Missing,
    /// It exists in another spelling, which some file systems don't accept.
    OtherCase(String),
    /// It exists, but is no part of the package; the phrase says why.
    LeftOut(&'static str),
}

/// The location of a skill.
#[derive(Clone, Copy, Default)]
pub struct SkillLocation<'p> {
    /// The name of its directory; `None` for a lone file or a text.
    pub directory: Option<&'p str>,
    /// Its files; `None` for a lone file or a text.
    pub files: Option<&'p dyn SkillFiles>,
}

/// A parsed skill, as the rules see it.
pub struct Subject<'s> {
    /// The text.
    pub document: &'s Document<'s>,
    /// The model.
    pub skill: &'s Skill,
    /// Its location.
    pub place: SkillLocation<'s>,
    /// Whether the user named the dialect, so that it was not detected.
    pub named_dialect: bool,
    /// Top-level fields that are present but at least partly unreadable; they have a finding.
    unreadable: Vec<&'s str>,
    unknown: OnceCell<Vec<(&'s YamlEntry<'s>, Option<&'static str>)>>,
    mentions: OnceCell<Vec<(FileMention, FileState)>>,
}

impl<'s> Subject<'s> {
    /// Creates a subject from a parsed `document` and its findings.
    pub fn new(
        document: &'s Document<'s>,
        skill: &'s Skill,
        place: SkillLocation<'s>,
        named_dialect: bool,
        findings: &Findings,
    ) -> Self {
        let wrong: Vec<Span> = findings.places(&WRONG_TYPE).collect();
        let entries = document.root.entries.iter();
        let unreadable = entries
            .filter(|entry| wrong.iter().any(|span| entry.value.span.covers(*span)))
            .map(|entry| &*entry.key)
            .collect();
        let (unknown, mentions) = (OnceCell::new(), OnceCell::new());
        Self { document, skill, place, named_dialect, unreadable, unknown, mentions }
    }

    /// Whether a top-level field is present but at least partly unreadable.
    fn is_unreadable(&self, key: &str) -> bool {
        self.unreadable.contains(&key)
    }

    /// Whether there is readable front matter.
    pub(crate) fn has_front_matter(&self) -> bool {
        matches!(self.document.front_matter, FrontMatter::Read | FrontMatter::Repaired)
    }

    /// Whether a span is in the body: tools defined there were written as sections.
    pub(crate) fn in_body(&self, span: Span) -> bool {
        span.start >= self.document.body.start && !self.document.body.is_empty()
    }

    /// The functions of `tools.py`, if Python tools are declared.
    pub(crate) fn python(&self) -> Option<&'s Result<PythonModule, PythonError>> {
        let wanted = self.skill.tools.iter().any(|tool| tool.kind == ToolKind::Python);
        self.place.files.filter(|_| wanted)?.python()
    }

    /// The functions of declared tools.
    pub(crate) fn declared_functions(&self) -> impl Iterator<Item = &'s PythonFunction> {
        let functions = self
            .python()
            .and_then(|module| module.as_ref().ok())
            .map(|module| module.functions.as_slice())
            .unwrap_or_default();
        functions.iter().filter(|function| {
            self.skill.tool(&function.name).is_some_and(|tool| tool.kind == ToolKind::Python)
        })
    }

    /// Every branch of every quiz question.
    pub(crate) fn branches(&self) -> impl Iterator<Item = &'s QuizBranch> {
        self.skill
            .quiz
            .iter()
            .flat_map(|quiz| &quiz.questions)
            .flat_map(|question| [&question.on_correct, &question.on_incorrect])
    }

    /// The files that the body names, each once and with what becomes of it; empty if the skill's files are not known. Cached,
    /// because three rules use it.
    pub(crate) fn mentions(&self) -> &[(FileMention, FileState)] {
        self.mentions.get_or_init(|| {
            let body = self.document.body_text();
            let Some(files) = self.place.files else { return Vec::new() };
            // Most bodies name no file, and need no parser.
            let bytes = body.as_bytes();
            let names = [&b"]("[..], b"]:", b"scripts/", b"references/", b"assets/"];
            if !names.iter().any(|name| memchr::memmem::find(bytes, name).is_some()) {
                return Vec::new();
            }
            // A path that is repeated is one mistake.
            let mut seen = HashSet::new();
            file_mentions(body, self.document.body.start as usize)
                .into_iter()
                .filter(|mention| seen.insert(mention.path.clone()))
                .map(|mention| {
                    let state = if is_inside(&mention.path) {
                        files.state(&mention.path)
                    } else {
                        FileState::LeftOut("it is outside the skill's folder")
                    };
                    (mention, state)
                })
                .collect()
        })
    }

    /// Top-level entries that no layer knows, each with a known field that it resembles. Cached,
    /// because two rules use it.
    pub(crate) fn unknown_fields(&self) -> &[(&'s YamlEntry<'s>, Option<&'static str>)] {
        self.unknown.get_or_init(|| {
            let (skill, document) = (self.skill, self.document);
            let known = |entry: &&YamlEntry<'_>| is_known(&skill.layers, document, &entry.key);
            let unknown = document.root.entries.iter().filter(|entry| !known(entry));
            let resembling = |entry: &'s YamlEntry<'s>| {
                let fields = || skill.layers.iter().flat_map(|layer| layer.fields);
                let mistaken = fields()
                    .find(|field| field.mistakes.contains(&&*entry.key))
                    .filter(|field| field.shape.is_structure() != entry.value.text().is_some())
                    .map(|field| field.name);
                let names = fields().map(|field| field.name);
                (entry, mistaken.or_else(|| closest(&entry.key, names)))
            };
            unknown.map(resembling).collect()
        })
    }
}

/// Whether one of the layers knows a top-level field.
pub(crate) fn is_known(layers: &[&'static Dialect], document: &Document<'_>, key: &str) -> bool {
    layers.iter().any(|layer| layer.fields.iter().any(|field| field.name == key))
        || (layers.iter().any(|layer| layer.id == "openclaw")
            && dialect::openclaw_claims(document, key))
}

/// Whether a relative path stays inside its directory.
pub(crate) fn is_inside(path: &str) -> bool {
    let absolute = path.starts_with(['/', '\\', '~']) || path.get(1..2) == Some(":");
    let climbs = path.split(['/', '\\']).try_fold(0_i32, |depth, part| {
        let depth = match part {
            "" | "." => depth,
            ".." => depth - 1,
            _ => depth + 1,
        };
        (depth >= 0).then_some(depth)
    });
    !absolute && !path.contains('\0') && climbs.is_some()
}

/// Rules that fire because a field is absent. If it is present but unreadable, they would report
/// the same mistake twice.
static CONCLUSIONS: &[(&Rule, &str)] = &[
    (&AGENT_WITHOUT_FORK, "context"),
    (&HYPHENATED_PLACEHOLDER, "inputs"),
    (&MISSING_TOOLS_FILE, "tools"),
    (&NO_TOOLS, "actions"),
    (&NO_TOOLS, "tools"),
    (&QUIZ_NO_CORRECT_OPTION, "quiz"),
    (&UNDECLARED_PLACEHOLDER, "inputs"),
    (&UNDECLARED_TOOL_FUNCTION, "tools"),
];

/// Runs every rule with a `check`, sorted by name: `misspelt-field` comes before `unknown-field`.
pub(crate) fn run(subject: &Subject<'_>, findings: &mut Findings) {
    let concludes = |rule: &Rule| {
        let mut fields = CONCLUSIONS.iter().filter(|(known, _)| *known == rule);
        fields.any(|(_, field)| subject.is_unreadable(field))
    };
    for rule in ALL {
        if let Some(check) = rule.check.filter(|_| !concludes(rule)) {
            check(subject, findings);
        }
    }
}
