//! What the commands of a shell name: programs, hosts, variables, installations.

use crate::utilities::is_text_only;
use crate::{CapabilityKind, Collector, FileText, recipes, variables};

/// How much a text counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It is run, or an agent is told to run it.
    Command,
    /// It may be an example of anything; only what installs something is looked for.
    Example,
}

/// Reads commands. Returns whether all of the text was understood.
pub(crate) fn read(commands: &FileText<'_>, weight: Weight, found: &mut Collector<'_>) -> bool {
    let FileText { text, file, .. } = *commands;
    if !found.may_parse_shell(text) {
        if weight == Weight::Command {
            for host in prowess_shell::hosts_in(text) {
                found.add(CapabilityKind::Host, &host.host, file, commands.line(host.span.start));
            }
        }
        return false;
    }
    let script = prowess_shell::parse(text);
    for recipe in recipes::of(&script, text) {
        found.add(CapabilityKind::Recipe, &recipe.text, file, commands.line(recipe.offset));
    }
    if weight == Weight::Example {
        return script.is_complete;
    }
    for program in script.programs() {
        let name = program.name.as_str();
        if !is_text_only(name) && !is_own_file(name, found) {
            found.add(CapabilityKind::Program, name, file, commands.line(program.span.start));
        }
    }
    if let Some(computed) = script.commands.iter().find(|command| command.name.is_none()) {
        found.add(
            CapabilityKind::Program,
            "a program whose name is computed",
            file,
            commands.line(computed.span.start),
        );
    }
    for host in script.hosts() {
        found.add(CapabilityKind::Host, &host.host, file, commands.line(host.span.start));
    }
    for (name, span) in variables::read_by_shell(text) {
        found.add(CapabilityKind::Variable, &name, file, commands.line(span.start));
    }
    script.is_complete
}

/// Whether a program is a file of the skill, which is listed as a script.
fn is_own_file(name: &str, found: &Collector<'_>) -> bool {
    let name = ["${CLAUDE_SKILL_DIR}/", "$CLAUDE_SKILL_DIR/", "{baseDir}/", "./"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .unwrap_or(name);
    name.contains('/') && found.has_file(name) || found.has_file(name) && name.contains('.')
}
