//! Renders the exact text or argv of a skill for given inputs. Nothing is run.
//!
//! One pass over the body: inserted text is never scanned again (AFL §5.2), so a value can't
//! introduce a placeholder, an argument or a command.

mod arguments;
mod inputs;
mod scan;

use serde_json::{Map, Value};

use crate::command;
use crate::skill::{Skill, Tool};
use crate::span::Span;
use crate::template;
use scan::{Piece, Variable};

pub use inputs::{InputError, parse_input};

/// Maximum size of a rendered prompt, in bytes: a small body can repeat a large value many times.
pub const MAX_RENDERED_BYTES: usize = 64 << 20;

/// The values to render a body with.
#[derive(Clone, Copy, Debug)]
pub struct RenderContext<'c> {
    /// Values of inputs.
    pub inputs: &'c Map<String, Value>,
    /// What the user typed after the skill's name.
    pub arguments: Option<&'c str>,
    /// The session, for `${CLAUDE_SESSION_ID}`.
    pub session_id: Option<&'c str>,
    /// The skill's own directory, for `${CLAUDE_SKILL_DIR}` and `{baseDir}`.
    pub skill_dir: Option<&'c str>,
    /// The project, for `${CLAUDE_PROJECT_DIR}`.
    pub project_dir: Option<&'c str>,
    /// The effort level of the session, for `${CLAUDE_EFFORT}`; that of the skill comes first.
    pub effort: Option<&'c str>,
    /// The plugin that the skill is a part of, for `${CLAUDE_PLUGIN_ROOT}`.
    pub plugin_root: Option<&'c str>,
    /// The plugin's folder for data, for `${CLAUDE_PLUGIN_DATA}`.
    pub plugin_data: Option<&'c str>,
}

impl<'c> RenderContext<'c> {
    /// A context in which only inputs have values.
    pub fn of_inputs(inputs: &'c Map<String, Value>) -> Self {
        Self {
            inputs,
            arguments: None,
            session_id: None,
            skill_dir: None,
            project_dir: None,
            effort: None,
            plugin_root: None,
            plugin_data: None,
        }
    }
}

/// What takes the place of a command where commands are disabled.
pub const DISABLED_COMMAND: &str = "[shell command execution disabled by policy]";

/// A rendered body.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RenderedPrompt {
    /// The text for the model.
    pub text: String,
    /// Warnings, as lowercase phrases.
    pub warnings: Vec<String>,
    /// The commands whose output belongs in the text; each has a marker in it.
    pub commands: Vec<InjectedCommand>,
    /// The type of the subagent that should get the text, for `context: fork`.
    pub fork: Option<String>,
}

/// A command whose output belongs in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InjectedCommand {
    /// The command, arguments substituted.
    pub command: String,
    /// The marker for its output in [`RenderedPrompt::text`].
    pub span: Span,
    /// A value in it that was typed by a user or a model and that a shell would not take as plain text.
    pub shell_value: Option<String>,
}

impl RenderedPrompt {
    /// The text with an output in place of each command. Nothing in an output is expanded. There is one per command.
    pub fn with_outputs<O: AsRef<str>>(&self, outputs: &[O]) -> String {
        let mut text = String::with_capacity(self.text.len());
        let mut copied = 0;
        for (command, output) in self.commands.iter().zip(outputs) {
            let span = command.span.range();
            text.push_str(&self.text[copied..span.start]);
            text.push_str(output.as_ref());
            copied = span.end;
        }
        text.push_str(&self.text[copied..]);
        text
    }

    /// The text for a model where commands are disabled.
    pub fn with_disabled_commands(&self) -> String {
        self.with_outputs(&vec![DISABLED_COMMAND; self.commands.len()])
    }
}

/// Renders the body of a skill. Reports every problem with the inputs, not only the first.
pub fn prompt(
    skill: &Skill,
    context: &RenderContext<'_>,
) -> Result<RenderedPrompt, Vec<InputError>> {
    let errors = inputs::check(&skill.inputs, context.inputs);
    if !errors.is_empty() {
        return Err(errors);
    }
    let syntax = template::syntax_of(skill);
    // The blank lines between front matter and text belong to the file, not to the prompt.
    let body = skill.body.trim_start_matches(['\r', '\n']).trim_end();
    let names: Vec<&str> = skill.invocation.arguments.iter().map(|name| name.as_str()).collect();
    let mut renderer = Renderer {
        skill,
        context,
        words: arguments::split(context.arguments.unwrap_or_default()),
        names: &names,
        rendered: RenderedPrompt::default(),
        used_arguments: false,
    };
    renderer.note_unused_inputs();
    for piece in scan::pieces(body, syntax, &names) {
        renderer.piece(&piece);
        if renderer.rendered.text.len() > MAX_RENDERED_BYTES {
            return Err(vec![InputError::TooLarge { most: MAX_RENDERED_BYTES }]);
        }
    }
    renderer.append_arguments(syntax.arguments);
    let mut prompt = renderer.rendered;
    prompt.fork = crate::subagent::of(skill).map(|subagent| subagent.agent);
    Ok(prompt)
}

/// Renders a command tool to an argv (GIB §3.4, R10, R11).
pub fn command(
    tool: &Tool,
    values: &Map<String, Value>,
) -> Result<command::RenderedCommand, Vec<command::RenderError>> {
    let text = tool.command.as_ref().map_or("", |command| command.as_str());
    let template =
        command::parse(text).map_err(|error| vec![command::RenderError::Template(error)])?;
    command::render(&template, &tool.parameters, values)
}

struct Renderer<'r> {
    skill: &'r Skill,
    context: &'r RenderContext<'r>,
    /// The arguments, split like a shell does.
    words: Vec<String>,
    /// The declared names of the arguments.
    names: &'r [&'r str],
    rendered: RenderedPrompt,
    used_arguments: bool,
}

impl Renderer<'_> {
    fn piece(&mut self, piece: &Piece<'_>) {
        match piece {
            Piece::Command { source, block } => self.command(source, *block),
            other => {
                let text = self.substitute(other);
                self.rendered.text.push_str(&text);
            }
        }
    }

    /// Substitutes a piece other than a command.
    fn substitute(&mut self, piece: &Piece<'_>) -> String {
        match piece {
            Piece::Text(text) => (*text).to_owned(),
            Piece::Input { name } => self.input(name),
            Piece::AllArguments => {
                self.used_arguments = true;
                self.context.arguments.unwrap_or_default().to_owned()
            }
            Piece::Argument { index, written } => match self.words.get(*index) {
                Some(word) => {
                    self.used_arguments = true;
                    word.clone()
                }
                // A missing argument stays as written, so that a price of $5 survives.
                None => (*written).to_owned(),
            },
            Piece::NamedArgument { index } => {
                self.used_arguments = true;
                self.words.get(*index).cloned().unwrap_or_default()
            }
            Piece::Variable { variable, written } => self.variable(*variable, written),
            // Commands don't contain other commands: the scanner only looks for them in the body.
            Piece::Command { source, .. } => (*source).to_owned(),
        }
    }

    fn input(&mut self, name: &str) -> String {
        let Some(input) = self.skill.inputs.iter().find(|input| *input.name == name) else {
            self.warn(format!("`{{{{{name}}}}}` is not declared in `inputs` and becomes empty"));
            return String::new();
        };
        inputs::text_of(input, self.context.inputs)
    }

    fn variable(&mut self, variable: Variable, written: &str) -> String {
        let value = match variable {
            Variable::SessionId => self.context.session_id,
            Variable::SkillDir => self.context.skill_dir,
            Variable::ProjectDir => self.context.project_dir,
            Variable::Effort => {
                let own = self.skill.invocation.effort.as_ref().map(|effort| effort.as_str());
                own.or(self.context.effort)
            }
            Variable::PluginRoot => self.context.plugin_root,
            Variable::PluginData => self.context.plugin_data,
        };
        match value {
            Some(value) => value.to_owned(),
            None => {
                self.warn(format!("`{written}` has no value here and is left as it is"));
                written.to_owned()
            }
        }
    }

    /// Inserts a marker for a command and lists it; nothing is run (SKL-L2-7).
    fn command(&mut self, source: &str, block: bool) {
        let syntax = template::Substitutions {
            inputs: template::syntax_of(self.skill).inputs,
            arguments: true,
        };
        let mut command = String::new();
        let mut shell_value = None;
        for piece in scan::pieces_of_command(source, syntax, self.names) {
            let text = self.substitute(&piece);
            if piece.is_typed_by_the_user() && text.contains(SHELL_CHARACTERS) {
                let shown = crate::text::shorten(&text, 40);
                self.warn(format!(
                    "the argument `{shown}` contains shell syntax and is used in a command"
                ));
                shell_value.get_or_insert_with(|| text.clone());
            }
            command.push_str(&text);
        }
        let command = command.trim().to_owned();
        let start = self.rendered.text.len();
        let marker = if block || command.contains(['`', '\n']) {
            format!("[not run:\n```\n{command}\n```\n]")
        } else {
            format!("[not run: `{command}`]")
        };
        self.rendered.text.push_str(&marker);
        let span = Span::new(start, self.rendered.text.len());
        self.rendered.commands.push(InjectedCommand { command, span, shell_value });
    }

    /// Appends the arguments to a body that never mentions them, as Claude Code does.
    fn append_arguments(&mut self, takes_arguments: bool) {
        let Some(arguments) = self.context.arguments.filter(|text| !text.is_empty()) else {
            return;
        };
        if !takes_arguments {
            self.warn("the arguments are not used: this skill takes inputs by name".to_owned());
        } else if !self.used_arguments {
            self.rendered.text.push_str("\n\nARGUMENTS: ");
            self.rendered.text.push_str(arguments);
        }
    }

    fn note_unused_inputs(&mut self) {
        let names: Vec<&str> = self.skill.inputs.iter().map(|input| input.name.as_str()).collect();
        for name in inputs::unknown(&self.skill.inputs, self.context.inputs) {
            let hint = crate::text::closest(name, names.iter().copied())
                .map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            self.warn(format!("`{name}` is not an input of this skill and is not used{hint}"));
        }
    }

    fn warn(&mut self, warning: String) {
        // Report each warning once, and bound the list.
        let warnings = &mut self.rendered.warnings;
        if warnings.len() < MOST_WARNINGS && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
}

const MOST_WARNINGS: usize = 100;

/// Characters with which a value could become more than one argument of a shell command.
const SHELL_CHARACTERS: &[char] =
    &[';', '|', '&', '$', '`', '<', '>', '(', ')', '\n', '\r', '\\', '"', '\'', '*', '?', '!'];
