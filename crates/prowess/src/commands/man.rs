//! `prowess man`: manual pages.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;

use super::Outcome;
use crate::cli::groups;
use crate::error::Error;
use crate::terminal::printer::Printer;

/// Print a manual page
///
/// Prints the page of prowess itself or of one verb, in the format of man(1). With
/// `--output`, all pages are written to a folder.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess man check | man -l -
  prowess man --output ~/.local/share/man/man1")]
pub(crate) struct Arguments {
    /// The verb; prowess itself if omitted
    verb: Option<String>,
    /// Write all pages to this folder
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let mut command = crate::cli::command();
    command.build();
    if let Some(folder) = &arguments.output {
        fs::create_dir_all(folder).map_err(|source| Error::io("create", folder, &source))?;
        let verbs = crate::cli::verbs(&command);
        for page in std::iter::once(&command).chain(verbs) {
            let path = folder.join(format!("{}.1", page_name(page)));
            let text = render(page)?;
            fs::write(&path, text).map_err(|source| Error::io("write", &path, &source))?;
        }
        return Ok(Outcome::Fine);
    }
    let page = match &arguments.verb {
        None => &command,
        Some(verb) => {
            crate::cli::verbs(&command).find(|known| known.get_name() == verb).ok_or_else(|| {
                Error::not_found(format!("there is no command `{verb}`"))
                    .hint("`prowess --help` lists all commands")
            })?
        }
    };
    printer.data(&String::from_utf8_lossy(&render(page)?));
    Ok(Outcome::Fine)
}

/// `prowess` for the program, `prowess-check` for a verb.
fn page_name(command: &clap::Command) -> String {
    match command.get_name() {
        "prowess" => "prowess".to_owned(),
        verb => format!("prowess-{verb}"),
    }
}

fn render(command: &clap::Command) -> Result<Vec<u8>, Error> {
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone())
        .title(page_name(command))
        .source(concat!("prowess ", env!("CARGO_PKG_VERSION")));
    let written = if command.get_name() == "prowess" {
        render_grouped(&man, command, &mut page)
    } else {
        man.render(&mut page)
    };
    written.map_err(|source| Error::failed(format!("cannot write the manual page: {source}")))?;
    Ok(page)
}

/// The page of the program, with its verbs in groups.
fn render_grouped(
    man: &clap_mangen::Man,
    command: &clap::Command,
    page: &mut Vec<u8>,
) -> io::Result<()> {
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    writeln!(page, ".SH COMMANDS")?;
    for (title, verbs) in groups::grouped(command) {
        writeln!(page, ".SS {title}")?;
        for verb in verbs {
            let name = verb.name.replace('-', "\\-");
            writeln!(page, ".TP\n\\fBprowess {name}\\fR(1)\n{}", roff_text(&verb.about))?;
        }
    }
    man.render_options_section(page)?;
    man.render_extra_section(page)?;
    man.render_version_section(page)
}

/// Text that starts no request of roff.
fn roff_text(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    if escaped.starts_with(['.', '\'']) { format!("\\&{escaped}") } else { escaped }
}
