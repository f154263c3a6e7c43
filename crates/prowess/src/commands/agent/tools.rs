//! `prowess agent tools`: the tools of all skills of an agent under one roof (GAIA §5.2, §9.3, R45).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use clap::Args;
use prowess_engine::{RegisteredTool, ToolRegistry};
use prowess_format::diagnostic::Severity;
use prowess_format::skill::Tool;
use prowess_store::composition::{Fit, Member};
use serde_json::{Value, json};

use super::{Agent, AgentOptions};
use crate::commands::Outcome;
use crate::error::Error;
use crate::packages::options::Format;
use crate::run::tool_run;
use crate::skill::skill_ref;
use crate::terminal::printer::{Printer, inline};
use prowess_library::packages::PackageManager;

/// List the tools of an agent: those of its skills and its own
///
/// Each tool has a key, `SKILL/TOOL`, and the name that a model sees: the short
/// one, or the key where two tools share the short one. The agent's own tools have
/// the agent's name before the slash.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess agent tools AGENT.yaml
  prowess agent tools AGENT.yaml --set office --format json

Exit codes:
  0  these are all tools
  1  a skill that the agent requires is not there
  2  there is no such skill set
  3  there is no such file")]
pub(super) struct Arguments {
    #[command(flatten)]
    agent: AgentOptions,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Tools by their keys, each with the JSON Schema of its arguments and the place it comes from.
#[derive(Default)]
struct Roof {
    registry: ToolRegistry,
    schemas: BTreeMap<String, Value>,
    own: String,
}

pub(super) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let agent = Agent::sound(&arguments.agent, "read", printer)?;
    let active = agent.active()?;
    let packages = agent.packages()?;
    let composition = agent.compose(&active, &packages);
    let is_in_the_way = |member: &&Member<'_>| member.fit != Fit::Fits;
    for found in &composition.diagnostics {
        if found.severity == Severity::Warning {
            printer.warning(&inline(&found.message));
        }
    }
    if let Some(member) =
        composition.members.iter().filter(is_in_the_way).find(|member| member.dependency.required)
    {
        let why = composition.diagnostics.iter().find(|it| it.span == member.dependency.name.span);
        let why = why.map(|found| inline(&found.message).into_owned()).unwrap_or_default();
        let shown = skill_ref::shown(&agent.path);
        return Err(Error::failed(format!("the tools of `{}` are not known: {why}", agent.name()))
            .hint(format!("`prowess agent install {shown}` installs what it needs")));
    }
    let mut roof = Roof { own: agent.name().to_owned(), ..Roof::default() };
    for member in composition.members.iter().filter(|member| member.fit == Fit::Fits) {
        let Some(present) = &member.present else { continue };
        let loaded = skill_ref::load(&present.directory, printer)?;
        let sound = tool_run::load_without_errors(&loaded, None, "loaded", printer)?;
        let version = sound.skill.version.as_ref().map(|version| version.as_str());
        roof.add(&sound.name, version, &present.directory, &sound.skill.tools)?;
    }
    let version = agent.manifest.version.as_ref().map(|version| version.as_str());
    roof.add(agent.name(), version, &agent.path, &agent.manifest.tools)?;
    match arguments.format {
        Format::Text => printer.data(&roof.page(&packages)),
        Format::Json => printer.json(&roof.wire(&agent, active.set)),
    }
    Ok(Outcome::Fine)
}

impl Roof {
    fn add(
        &mut self,
        name: &str,
        version: Option<&str>,
        place: &Path,
        tools: &[Tool],
    ) -> Result<(), Error> {
        let keys = self.registry.register_inline(name, version, place, tools).map_err(|taken| {
            Error::failed(taken.to_string()).hint("give the agent or the skill another name")
        })?;
        self.schemas.extend(keys.into_iter().zip(tools.iter().map(Tool::arguments_schema)));
        Ok(())
    }

    fn is_own(&self, tool: &RegisteredTool) -> bool {
        tool.skill == self.own
    }

    fn page(&self, packages: &PackageManager) -> String {
        let names = self.registry.short_names();
        let cell = |text: &str| inline(text).into_owned();
        let widest = |of: fn(&str, &RegisteredTool) -> String| {
            names
                .iter()
                .map(|(name, tool)| cell(&of(name, tool)).chars().count())
                .max()
                .unwrap_or(0)
        };
        let name_width = widest(|name, _| name.to_owned());
        let key_width = widest(|_, tool| tool.qualified_name());
        let mut page = String::new();
        for (name, tool) in &names {
            let version = tool.skill_version.as_deref().map(|it| format!(" {it}"));
            let place = if self.is_own(tool) {
                "the manifest".to_owned()
            } else {
                packages.places().shown(&tool.directory)
            };
            let _ = writeln!(
                page,
                "{:name_width$}  {:key_width$}  {}{}",
                cell(name),
                cell(&tool.qualified_name()),
                cell(&place),
                cell(&version.filter(|_| !self.is_own(tool)).unwrap_or_default()),
            );
        }
        page
    }

    /// The shape of `prompt --format json`, with keys and places: an agent's own tools are what it calls native.
    fn wire(&self, agent: &Agent, set: Option<&str>) -> Value {
        let (mut native, mut tools) = (Vec::new(), Vec::new());
        for (name, tool) in self.registry.short_names() {
            let key = tool.qualified_name();
            let value = json!({
                "name": name,
                "key": key,
                "mcp_name": tool.mcp_name(),
                "skill": tool.skill,
                "version": tool.skill_version,
                "tool": tool.name,
                "description": tool.description,
                "parameters": self.schemas.get(&key),
                "source": tool.directory.display().to_string(),
            });
            if self.is_own(tool) { native.push(value) } else { tools.push(value) }
        }
        json!({ "agent": agent.name(), "set": set, "native": native, "tools": tools })
    }
}
