//! `prowess prompt`: what a model and a user are told about skills.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use prowess_engine::manifest::{
    Catalogue, CutPart, DisclosureLevel, Manifest, ManifestContent, ManifestCut, ManifestFormat,
    ManifestOptions, MenuCommand, read_resource,
};
use prowess_engine::quiz::Quizzes;
use prowess_library::{LeftOutSkill, SkillSelection};
use prowess_policy::Mode;
use prowess_store::places::Scope;
use serde_json::{Value, json};

use super::Outcome;
use crate::cli::DialectOption;
use crate::error::Error;
use crate::run::tool_run;
use crate::session;
use crate::skill::{check_report, skill_ref};
use crate::terminal::printer::{Channel, Printer, inline};
use crate::terminal::wrap::wrap;

/// Maximum number of cuts that are reported one by one.
const MOST_CUTS: usize = 50;

/// Print what a model is told about skills
///
/// Prints a manifest for the prompt of a model, or for a request to a provider.
/// Without paths, it is about every skill that `prowess list` shows as ok. A folder
/// without a SKILL.md stands for the skills below it.
///
/// Formats about tools list the tools of the skills; `xml` and `json` list all
/// skills, also those that only contain instructions. Only skills that are
/// available in the mode are listed. Skills with `disable-model-invocation` are not,
/// but they are in the user's menu, which `--menu` prints. If two skills have a tool
/// of the same name, the tool is prefixed with the skill's name. If you give several
/// paths, those that are not skills are skipped with a note.
///
/// `--level` is progressive disclosure: 1 has names and descriptions, 2 adds the
/// bodies, 3 adds the list of files with their sizes, and `--file` prints one file.
///
/// `--budget` limits the tokens. First the bodies of the last skills are left out,
/// then all descriptions are shortened to one length (at least 40 characters), then
/// the last skills or tools are left out. What was cut is reported on stderr, and as
/// `cut` in JSON. Tokens are estimated from the characters, because each model has
/// its own tokenizer; 95 % of the estimates are within 10 % of `o200k_base`.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess prompt
  prowess prompt examples/git-insights examples/word-count
  prowess prompt examples --mode Dev --format xml --budget 2000
  prowess prompt examples/text-stats --mode Dev --format openai
  prowess prompt examples/git-insights --native \"typer=Type text at cursor\"
  prowess prompt examples/git-insights --mode Dev --level 2
  prowess prompt examples --menu")]
pub(crate) struct Arguments {
    /// Skills, folders of skills, or names of installed skills; default: all that are visible here
    #[arg(value_name = "SKILL")]
    paths: Vec<PathBuf>,
    /// Only those that are installed in the project
    #[arg(long, conflicts_with = "paths")]
    project: bool,
    /// Only those that are installed for you
    #[arg(long, conflicts_with_all = ["paths", "project"])]
    user: bool,
    #[command(flatten)]
    dialect: DialectOption,
    /// The mode you are in: Global, Dev, Meeting or Writer
    #[arg(long, value_name = "MODE", default_value = "Global", value_parser = tool_run::parse_mode)]
    mode: Mode,
    /// A tool of the host's own; may be repeated
    #[arg(long, value_name = "NAME=DESCRIPTION", value_parser = native)]
    native: Vec<(String, String)>,
    /// The output format; default: functiongemma, or xml with --level
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// How much of each skill is printed: 1, 2 or 3
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    level: Option<DisclosureLevel>,
    /// Print this file of the skill, by its path in the skill's folder
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "budget", "menu"])]
    file: Option<String>,
    /// Maximum number of tokens (estimated)
    #[arg(long, value_name = "TOKENS")]
    budget: Option<usize>,
    /// Print the user's menu of commands instead
    #[arg(long, conflicts_with_all = ["level", "budget", "native"])]
    menu: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The `<available_skills>` block of the Agent Skills standard
    Xml,
    /// Lines of a prompt for small function-calling models (gibb.eri.sh)
    Functiongemma,
    /// The declarations that the model `functiongemma` was trained on
    FunctiongemmaFull,
    /// The `tools` of a request to an OpenAI-compatible provider
    Openai,
    /// The `tools` of a request to Anthropic
    Anthropic,
    /// GAIA's tool registry, with short and qualified names
    Gaia,
    /// All details, for programs
    Json,
}

impl Format {
    fn of_manifest(self) -> ManifestFormat {
        match self {
            Self::Xml => ManifestFormat::Xml,
            Self::Functiongemma => ManifestFormat::FunctionGemma,
            Self::FunctiongemmaFull => ManifestFormat::FunctionGemmaFull,
            Self::Openai => ManifestFormat::OpenAi,
            Self::Anthropic => ManifestFormat::Anthropic,
            Self::Gaia => ManifestFormat::Gaia,
            Self::Json => ManifestFormat::Json,
        }
    }
}

fn native(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, description)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), description.trim().to_owned()))
        }
        _ => Err("expected `NAME=DESCRIPTION`".to_owned()),
    }
}

fn level(text: &str) -> Result<DisclosureLevel, String> {
    match text {
        "1" => Ok(DisclosureLevel::Descriptions),
        "2" => Ok(DisclosureLevel::Bodies),
        "3" => Ok(DisclosureLevel::Files),
        _ => Err("expected 1, 2 or 3".to_owned()),
    }
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let format = arguments.manifest_format()?;
    let selection = select(arguments, printer)?;
    for warning in &selection.warnings {
        printer.warning(warning);
    }
    for skill in &selection.left_out {
        match skill.problem.code {
            "not-a-skill" if skill.is_named => {
                let path = skill_ref::shown(&skill.path);
                printer.note(&format!("skipped `{path}`, which is not a skill"));
            }
            _ => printer.warning(&format!("left out: {}", skill.problem.message)),
        }
    }
    if let Some(file) = &arguments.file {
        return print_file(&selection, file, printer);
    }
    let found = selection.skills.len();
    let native = arguments.native.clone();
    let quizzes = Quizzes::of_user(&*session::world()?);
    let catalogue = Catalogue::new(selection.skills, arguments.mode, native).with_gates(&quizzes);
    if arguments.menu {
        print_menu(&catalogue, format, printer);
        return Ok(Outcome::Fine);
    }
    note_absent(&catalogue, found, format, printer);
    let options = ManifestOptions { format, level: arguments.level, budget: arguments.budget };
    let manifest = catalogue.manifest(options);
    report(arguments, &manifest, printer);
    match manifest.content {
        ManifestContent::Text(mut text) => {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            printer.data(&text);
        }
        ManifestContent::Json(mut value) => {
            if format == ManifestFormat::Json {
                value["left_out"] = selection.left_out.iter().map(left_out).collect();
            }
            printer.json(&value);
        }
    }
    Ok(Outcome::Fine)
}

impl Arguments {
    fn manifest_format(&self) -> Result<ManifestFormat, Error> {
        let default = if self.level.is_some() { Format::Xml } else { Format::Functiongemma };
        let format = self.format.unwrap_or(default).of_manifest();
        if self.level > Some(DisclosureLevel::Descriptions) && !format.has_levels() {
            let message = "this format describes tools and has no levels";
            return Err(Error::usage(message).hint("use `--format xml` or `--format json`"));
        }
        if self.menu && self.format.is_some_and(|format| format != Format::Json) {
            return Err(Error::usage("a menu is printed as text or JSON")
                .hint("use `--menu` alone, or with `--format json`"));
        }
        Ok(format)
    }

    fn scope(&self) -> Option<Scope> {
        match (self.project, self.user) {
            (true, _) => Some(Scope::Project),
            (false, true) => Some(Scope::User),
            (false, false) => None,
        }
    }
}

/// The skills that the arguments name, or all that are visible here. A skill that was named and has errors is an error.
fn select(arguments: &Arguments, printer: &mut Printer) -> Result<SkillSelection, Error> {
    let library = session::library()?;
    if arguments.paths.is_empty() {
        return Ok(library.visible_skills(arguments.scope()));
    }
    if arguments.paths.iter().any(|path| path == Path::new("-")) {
        return Err(Error::usage("a skill from standard input can't be listed")
            .hint("save it in a folder of its own and name that"));
    }
    let dialect = arguments.dialect.dialect;
    let selection = library.select_skills(&arguments.paths, dialect)?;
    for path in &arguments.paths {
        if let Ok(located) = library.locate(path) {
            skill_ref::note_others(path, &located, printer)?;
        }
    }
    let is_wrong = |skill: &&LeftOutSkill| skill.is_named && skill.problem.code != "not-a-skill";
    let Some(wrong) = selection.left_out.iter().find(is_wrong) else { return Ok(selection) };
    if wrong.problem.code != "invalid-skill" {
        return Err(wrong.problem.clone().into());
    }
    let file = prowess_library::SkillFile::at(&wrong.path)?;
    let findings = check_report::print_problems(&file, dialect, printer);
    let error = Error::failed(format!("`{}` has errors and was not listed", file.shown))
        .hint("correct them first, or try `prowess check --fix`");
    Err(Error { findings, ..error })
}

/// Says why skills are not in the manifest.
fn note_absent(catalogue: &Catalogue, found: usize, format: ManifestFormat, printer: &mut Printer) {
    let mode = catalogue.mode;
    if !catalogue.hidden.is_empty() {
        let names: Vec<String> =
            catalogue.hidden.iter().map(|skill| format!("`{}`", inline(&skill.name))).collect();
        let names = names.join(", ");
        printer.note(&format!("only the user may invoke {names} (disable-model-invocation)"));
    }
    if found == 0 {
        printer.note("there are no skills here");
    } else if format.has_levels() {
        if catalogue.for_model.is_empty() && catalogue.other_modes > 0 {
            printer.note(&format!("none of these skills is available in mode {mode}"));
        }
    } else if catalogue.offer.tools.is_empty() {
        printer.note(&format!("none of these skills has tools in mode {mode}"));
        if !catalogue.for_model.is_empty() {
            printer.hint("`--format xml` lists skills without tools too");
        }
    }
}

/// Says how many tokens the manifest has and what the budget cut.
fn report(arguments: &Arguments, manifest: &Manifest, printer: &mut Printer) {
    for cut in manifest.cuts.iter().take(MOST_CUTS) {
        printer.warning(&cut_text(cut));
    }
    if let Some(more) = manifest.cuts.len().checked_sub(MOST_CUTS).filter(|more| *more > 0) {
        printer.warning(&format!("the budget made {more} more cuts (`--format json` lists all)"));
    }
    match (arguments.budget, arguments.level) {
        (Some(budget), _) if manifest.tokens > budget => printer.warning(&format!(
            "about {} tokens, although everything that may be cut was: the budget of {budget} is too small",
            manifest.tokens
        )),
        (Some(budget), _) => {
            printer.note(&format!("about {} of {budget} tokens", manifest.tokens));
        }
        (None, Some(_)) => printer.note(&format!("about {} tokens", manifest.tokens)),
        (None, None) => {}
    }
}

fn cut_text(cut: &ManifestCut) -> String {
    let name = match &cut.tool {
        Some(tool) => format!("{}/{tool}", cut.skill),
        None => cut.skill.clone(),
    };
    match cut.part {
        CutPart::Body => format!("the budget left out the body of `{name}`"),
        CutPart::Description { characters, kept } => format!(
            "the budget shortened the description of `{name}` from {characters} to {kept} characters"
        ),
        CutPart::Entry => format!("the budget left out `{name}`"),
    }
}

fn left_out(skill: &LeftOutSkill) -> Value {
    json!({
        "name": skill.name,
        "path": skill.path.display().to_string(),
        "code": skill.problem.code,
        "message": skill.problem.message,
    })
}

fn print_file(
    selection: &SkillSelection,
    file: &str,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let [skill] = selection.skills.as_slice() else {
        let count = selection.skills.len();
        return Err(Error::usage(format!("`--file` needs one skill, and these are {count}"))
            .hint("name one, as in `prowess prompt SKILL --file references/details.md`"));
    };
    let bytes = read_resource(skill, file, &Quizzes::of_user(&*session::world()?))?;
    match std::str::from_utf8(&bytes) {
        Ok(text) => printer.data(text),
        Err(_) if printer.is_terminal(Channel::Out) => {
            return Err(Error::failed(format!("`{}` is not text", inline(file)))
                .hint("redirect the output to a file"));
        }
        Err(_) => printer.piece(Channel::Out, &bytes),
    }
    Ok(Outcome::Fine)
}

fn print_menu(catalogue: &Catalogue, format: ManifestFormat, printer: &mut Printer) {
    let menu = catalogue.menu();
    if format == ManifestFormat::Json {
        printer.json(&menu.json());
        return;
    }
    let width = printer.width(Channel::Out);
    let mut page = String::new();
    for (title, commands) in [("Mode Commands", &menu.mode_commands), ("Commands", &menu.commands)]
    {
        if commands.is_empty() {
            continue;
        }
        if !page.is_empty() {
            page.push('\n');
        }
        page.push_str(title);
        page.push('\n');
        for command in commands {
            page.push_str(&wrap(&menu_line(command), 6, width));
            page.push('\n');
        }
    }
    if page.is_empty() {
        printer.note("there are no commands here");
    }
    printer.report(&page);
}

fn menu_line(command: &MenuCommand) -> String {
    let hint = command.argument_hint.as_deref().map(|hint| format!(" {}", inline(hint)));
    let (name, hint) = (inline(&command.name), hint.unwrap_or_default());
    let words: Vec<&str> = command.description.split_whitespace().collect();
    format!("  /{name}{hint}: {}", inline(&words.join(" ")))
}
