//! `prowess generate-docs`: generates the reference from the code.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use prowess_format::dialect::{self, Dialect};
use prowess_format::shape::{self, Field, Need};
use prowess_format::specification::{self, Section, Specification};
use prowess_format::{client, manifest};

use super::{Outcome, explain};
use crate::error::Error;
use crate::skill::check_report::MANIFEST;
use crate::terminal::printer::{Printer, json_text};

/// Write the reference pages into a folder
#[derive(Args)]
pub(crate) struct Arguments {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let pages = pages();
    for (name, text) in &pages {
        write(&arguments.folder.join(name), text)?;
    }
    printer.say(&format!("wrote {} pages to {}", pages.len(), arguments.folder.display()));
    Ok(Outcome::Fine)
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|source| Error::io("create", folder, &source))?;
    fs::write(path, text).map_err(|source| Error::io("write", path, &source))
}

/// All pages by their paths. The output is reproducible.
fn pages() -> Vec<(String, String)> {
    let mut pages = vec![
        ("cli.md".to_owned(), command_line()),
        ("diagnostics/index.md".to_owned(), diagnostics()),
        ("dialects/index.md".to_owned(), dialects()),
        (format!("dialects/{MANIFEST}.md"), manifest_page()),
        (format!("schemas/{MANIFEST}.json"), json_text(&manifest::schema())),
        ("clients.md".to_owned(), clients()),
    ];
    for rule in explain::all_rules() {
        pages.push((format!("diagnostics/{}.md", rule.name), explain::page(rule)));
    }
    for dialect in dialect::ALL {
        pages.push((format!("dialects/{}.md", dialect.id), dialect_page(dialect)));
        pages.push((format!("schemas/{}.json", dialect.id), json_text(&dialect.schema())));
    }
    pages
}

fn command_line() -> String {
    let mut command = crate::cli::command().term_width(80);
    command.build();
    let mut page = "# Command line\n\nThe help of every verb.\n".to_owned();
    section(&mut page, "prowess", &mut crate::cli::groups::with_groups(command.clone()));
    for verb in crate::cli::verbs_in_groups(&command) {
        let title = format!("prowess {}", verb.get_name());
        section(&mut page, &title, &mut verb.clone());
    }
    page
}

fn section(page: &mut String, title: &str, command: &mut clap::Command) {
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = write!(page, "\n## {title}\n\n```text\n{}\n```\n", lines.join("\n").trim());
}

fn diagnostics() -> String {
    let mut page = "# Diagnostics\n\nThe findings of `prowess check` and `prowess workflow check`. `prowess explain CODE` prints the same pages.\n\n\
                    | Code | Severity | With `--strict` | What it does |\n|---|---|---|---|\n"
        .to_owned();
    for rule in explain::all_rules() {
        let _ = writeln!(
            page,
            "| [{0}]({0}.md) | {1} | {2} | {3} |",
            rule.name,
            rule.severity.as_str(),
            rule.strict.as_str(),
            cell(rule.summary()),
        );
    }
    page
}

fn dialects() -> String {
    let mut page = "# Dialects\n\nThe ways to write a SKILL.md that Prowess reads.\n\n\
                    | Dialect | Name | What it is for |\n|---|---|---|\n"
        .to_owned();
    for dialect in dialect::ALL {
        let _ = writeln!(
            page,
            "| [{0}]({0}.md) | {1} | {2} |",
            dialect.id,
            cell(dialect.title),
            cell(dialect.about)
        );
    }
    page
}

fn dialect_page(dialect: &Dialect) -> String {
    let mut page = format!("# {}\n\n{}\n", dialect.title, dialect.about);
    let specification = dialect.specification.link();
    let _ = writeln!(page, "\nDialect id: `{}`. Specification: {specification}.", dialect.id);
    if !dialect.bases.is_empty() {
        let bases: Vec<String> =
            dialect.bases.iter().map(|base| format!("[{base}]({base}.md)")).collect();
        let _ = writeln!(page, "\nExtends {}, whose fields are valid too.", bases.join(" and "));
    }
    let _ = writeln!(page, "\nJSON Schema: [{0}.json](../schemas/{0}.json).", dialect.id);
    fields(&mut page, dialect.fields, dialect.specification.specification);
    if !dialect.limits.is_empty() {
        page.push_str("\n## Limits\n\n| What | Limit | Section |\n|---|---|---|\n");
        for limit in dialect.limits {
            let _ = writeln!(
                page,
                "| {} | {} | {} |",
                cell(limit.what),
                cell(limit.value),
                cell(&section_text(limit.section, dialect.specification.specification))
            );
        }
    }
    page
}

fn manifest_page() -> String {
    let mut page = "# Agent manifest\n\nAn agent as a set of skills, with its own tools and the model it needs.\n"
        .to_owned();
    let names: Vec<String> = manifest::FILE_NAMES.iter().map(|name| format!("`{name}`")).collect();
    let specification = specification::GAIA.at("9").link();
    let _ = writeln!(page, "\nFile names: {}. Specification: {specification}.", names.join(", "));
    let _ = writeln!(page, "\nJSON Schema: [{MANIFEST}.json](../schemas/{MANIFEST}.json).");
    fields(&mut page, manifest::fields(), &specification::GAIA);
    page
}

fn fields(page: &mut String, fields: &[Field], specification: &Specification) {
    if fields.is_empty() {
        return;
    }
    page.push_str("\n## Fields\n\n| Field | Type | Need | Default | About | Section |\n");
    page.push_str("|---|---|---|---|---|---|\n");
    for field in fields {
        let need = match field.need {
            Need::Required => "required",
            Need::Expected => "expected",
            Need::Optional => "optional",
        };
        let default =
            if field.default.is_empty() { String::new() } else { format!("`{}`", field.default) };
        let _ = writeln!(
            page,
            "| `{}` | {} | {need} | {} | {} | {} |",
            field.name,
            cell(&shape::describe(&field.shape)),
            cell(&default),
            cell(field.about),
            cell(&section_text(field.section, specification)),
        );
    }
}

/// The section, with the title of its document if it is not the one that the page is about.
fn section_text(section: Section, specification: &Specification) -> String {
    if section.specification == specification { section.label() } else { section.to_string() }
}

fn clients() -> String {
    let mut page = "# Clients\n\nThe programs that `prowess check --for` reports on.\n".to_owned();
    for client in client::CLIENTS {
        let _ = write!(
            page,
            "\n## {}\n\n`{}`: {}\n\nSource: {}\n",
            client.title, client.id, client.about, client.source
        );
    }
    page
}

/// Text for a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
