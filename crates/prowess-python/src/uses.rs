//! What a script of Python names: texts, commands that it starts, environment variables. It is parsed and never run.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use prowess_format::python::PythonError;
use prowess_format::span::Span;
use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprCall, FStringPart, InterpolatedStringElement, Stmt};
use ruff_python_parser::parse_module;
use ruff_text_size::Ranged;

use crate::{MAX_BYTES, nesting, span, syntax_error};

/// Stands for a part of a text that is computed.
const COMPUTED: char = '{';

/// What a script names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonUses {
    /// Its literal texts except docstrings. A computed part of an f-string is `{`.
    pub texts: Vec<(String, Span)>,
    /// The commands that it starts.
    pub commands: Vec<PythonCommand>,
    /// The environment variables that it reads.
    pub variables: Vec<(String, Span)>,
}

/// A command that a script starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonCommand {
    /// The command.
    pub command: PythonCommandKind,
    /// The call.
    pub span: Span,
}

/// A command, as far as it is literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PythonCommandKind {
    /// A line for a shell, or one that is split like it.
    Line(String),
    /// The program of a list of arguments.
    Program(String),
    /// The script computes it.
    Computed,
}

/// Functions that start a program, with the way their first argument is read.
const STARTERS: &[(&str, ArgumentStyle)] = &[
    ("subprocess.run", ArgumentStyle::Either),
    ("subprocess.call", ArgumentStyle::Either),
    ("subprocess.check_call", ArgumentStyle::Either),
    ("subprocess.check_output", ArgumentStyle::Either),
    ("subprocess.Popen", ArgumentStyle::Either),
    ("subprocess.getoutput", ArgumentStyle::Either),
    ("subprocess.getstatusoutput", ArgumentStyle::Either),
    ("os.system", ArgumentStyle::Either),
    ("os.popen", ArgumentStyle::Either),
    ("os.startfile", ArgumentStyle::Program),
    ("os.execl", ArgumentStyle::Program),
    ("os.execle", ArgumentStyle::Program),
    ("os.execlp", ArgumentStyle::Program),
    ("os.execlpe", ArgumentStyle::Program),
    ("os.execv", ArgumentStyle::Program),
    ("os.execve", ArgumentStyle::Program),
    ("os.execvp", ArgumentStyle::Program),
    ("os.execvpe", ArgumentStyle::Program),
    ("os.posix_spawn", ArgumentStyle::Program),
    ("os.posix_spawnp", ArgumentStyle::Program),
    ("os.spawnl", ArgumentStyle::Second),
    ("os.spawnle", ArgumentStyle::Second),
    ("os.spawnlp", ArgumentStyle::Second),
    ("os.spawnlpe", ArgumentStyle::Second),
    ("os.spawnv", ArgumentStyle::Second),
    ("os.spawnve", ArgumentStyle::Second),
    ("os.spawnvp", ArgumentStyle::Second),
    ("os.spawnvpe", ArgumentStyle::Second),
    ("asyncio.create_subprocess_exec", ArgumentStyle::Program),
    ("asyncio.create_subprocess_shell", ArgumentStyle::Either),
    ("pty.spawn", ArgumentStyle::Either),
];

#[derive(Clone, Copy)]
enum ArgumentStyle {
    /// A line or a list.
    Either,
    /// A program; its arguments follow.
    Program,
    /// A program after a mode argument.
    Second,
}

/// Functions that read one environment variable.
const READERS: &[&str] = &[
    "os.getenv",
    "os.getenvb",
    "os.environ.get",
    "os.environ.pop",
    "os.environ.setdefault",
    "os.environb.get",
];

/// Reads what a script names.
pub fn uses(text: &str) -> Result<PythonUses, PythonError> {
    if text.len() > MAX_BYTES {
        let message = format!("{} bytes exceed the limit of {MAX_BYTES}", text.len());
        return Err(PythonError { message, span: Span::at(0) });
    }
    // As in `read`: an assertion of the parser makes this file unreadable and no other.
    catch_unwind(AssertUnwindSafe(|| {
        nesting::check(text)?;
        let module = parse_module(text).map_err(|error| syntax_error(&error))?;
        let mut aliases = Aliases::default();
        aliases.visit_body(module.suite());
        let mut reader = Reader { aliases: aliases.0, uses: PythonUses::default() };
        reader.visit_body(module.suite());
        Ok(reader.uses)
    }))
    .unwrap_or_else(|_| {
        let message = "the file could not be parsed".to_owned();
        Err(PythonError { message, span: Span::at(0) })
    })
}

/// The names under which modules and their functions were imported, anywhere in the file.
#[derive(Default)]
struct Aliases(HashMap<String, String>);

impl<'a> Visitor<'a> for Aliases {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    if let Some(name) = &alias.asname {
                        self.0.insert(name.to_string(), alias.name.to_string());
                    }
                }
            }
            Stmt::ImportFrom(import) => {
                let Some(module) = &import.module else { return };
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.0.insert(name.to_string(), format!("{module}.{}", alias.name));
                }
            }
            _ => walk_stmt(self, statement),
        }
    }

    // Imports are statements: no expression has one.
    fn visit_expr(&mut self, _: &'a Expr) {}
}

struct Reader {
    aliases: HashMap<String, String>,
    uses: PythonUses,
}

impl<'a> Visitor<'a> for Reader {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        // A text that stands alone is documentation.
        if let Stmt::Expr(alone) = statement
            && alone.value.is_string_literal_expr()
        {
            return;
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::StringLiteral(_) | Expr::FString(_) => {
                if let Some(text) = text_of(expression) {
                    self.uses.texts.push((text, span(expression.range())));
                }
            }
            Expr::Call(call) => self.call(call),
            Expr::Subscript(subscript) => {
                let is_environment = matches!(
                    self.path(&subscript.value).as_deref(),
                    Some("os.environ" | "os.environb")
                );
                if is_environment && let Some(name) = literal(&subscript.slice) {
                    self.uses.variables.push((name, span(expression.range())));
                }
            }
            _ => {}
        }
        walk_expr(self, expression);
    }
}

impl Reader {
    fn call(&mut self, call: &ExprCall) {
        let Some(path) = self.path(&call.func) else { return };
        let place = span(call.range());
        if READERS.contains(&path.as_str()) {
            if let Some(name) = call.arguments.args.first().and_then(literal) {
                self.uses.variables.push((name, place));
            }
            return;
        }
        let Some((_, style)) = STARTERS.iter().find(|(name, _)| *name == path) else { return };
        let at = match style {
            ArgumentStyle::Either | ArgumentStyle::Program => 0,
            ArgumentStyle::Second => 1,
        };
        let named = call.arguments.keywords.iter().find(|keyword| {
            keyword.arg.as_ref().is_some_and(|name| matches!(name.as_str(), "args" | "cmd"))
        });
        let argument = call.arguments.args.get(at).or(named.map(|keyword| &keyword.value));
        let command = match argument {
            Some(argument) => self.command(argument, *style),
            None => PythonCommandKind::Computed,
        };
        self.uses.commands.push(PythonCommand { command, span: place });
    }

    fn command(&self, argument: &Expr, style: ArgumentStyle) -> PythonCommandKind {
        let program = |expression: Option<&Expr>| match expression {
            Some(first) if self.path(first).as_deref() == Some("sys.executable") => {
                PythonCommandKind::Program("python3".to_owned())
            }
            Some(first) => {
                literal(first).map_or(PythonCommandKind::Computed, PythonCommandKind::Program)
            }
            None => PythonCommandKind::Computed,
        };
        match (argument, style) {
            (Expr::List(list), _) => program(list.elts.first()),
            (Expr::Tuple(tuple), _) => program(tuple.elts.first()),
            (Expr::Call(call), ArgumentStyle::Either)
                if self.path(&call.func).as_deref() == Some("shlex.split") =>
            {
                match call.arguments.args.first() {
                    Some(line) => self.command(line, style),
                    None => PythonCommandKind::Computed,
                }
            }
            // `["git"] + more` starts what the left side says.
            (Expr::BinOp(sum), ArgumentStyle::Either) => self.command(&sum.left, style),
            (argument, ArgumentStyle::Either) => {
                text_of(argument).map_or(PythonCommandKind::Computed, PythonCommandKind::Line)
            }
            (argument, ArgumentStyle::Program | ArgumentStyle::Second) => program(Some(argument)),
        }
    }

    /// `os.environ` for `environ` of `from os import environ`.
    fn path(&self, expression: &Expr) -> Option<String> {
        match expression {
            Expr::Name(name) => {
                let name = name.id.as_str();
                Some(self.aliases.get(name).cloned().unwrap_or_else(|| name.to_owned()))
            }
            Expr::Attribute(attribute) => {
                Some(format!("{}.{}", self.path(&attribute.value)?, attribute.attr))
            }
            _ => None,
        }
    }
}

/// A text without computed parts.
fn literal(expression: &Expr) -> Option<String> {
    expression.as_string_literal_expr().map(|text| text.value.to_str().to_owned())
}

/// A text, in which every computed part is [`COMPUTED`].
fn text_of(expression: &Expr) -> Option<String> {
    match expression {
        Expr::StringLiteral(_) => literal(expression),
        Expr::FString(formatted) => {
            let mut text = String::new();
            for part in &formatted.value {
                match part {
                    FStringPart::Literal(part) => text.push_str(part.as_str()),
                    FStringPart::FString(part) => {
                        for element in &part.elements {
                            match element {
                                InterpolatedStringElement::Literal(part) => text.push_str(part),
                                InterpolatedStringElement::Interpolation(_) => text.push(COMPUTED),
                            }
                        }
                    }
                }
            }
            Some(text)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let uses = uses(text).expect("it parses");
        let texts = uses.texts.into_iter().map(|(text, _)| format!("text {text}"));
        let commands = uses.commands.into_iter().map(|command| format!("{:?}", command.command));
        let variables = uses.variables.into_iter().map(|(name, _)| format!("variable {name}"));
        texts.filter(|text| text.contains("://")).chain(commands).chain(variables).collect()
    }

    #[test]
    fn urls_are_texts_of_code_and_not_of_documentation() {
        let text = "\"\"\"See https://docs.example.\"\"\"\nimport requests\ndef f(id):\n    'https://docs.example'\n    return requests.get(f'https://api.example/{id}?x=1')\n";
        assert_eq!(shown(text), ["text https://api.example/{?x=1"]);
    }

    #[test]
    fn commands_are_found_under_every_imported_name() {
        let text = "
import subprocess, os, sys, shlex
import subprocess as sp
from subprocess import check_output as out
from os import system

def f(x):
    subprocess.run(['git', 'status'])
    sp.Popen(('curl', x))
    out('ls -l | wc', shell=True)
    system(f'rm {x}')
    os.execvp('vim', [x])
    os.spawnlp(os.P_WAIT, 'less', 'less')
    subprocess.run([sys.executable, '-m', 'pip'])
    subprocess.run(shlex.split('jq .'))
    subprocess.run(args=['make'])
    subprocess.run(x)
    other.run(['not'])
";
        assert_eq!(
            shown(text),
            [
                "Program(\"git\")",
                "Program(\"curl\")",
                "Line(\"ls -l | wc\")",
                "Line(\"rm {\")",
                "Program(\"vim\")",
                "Program(\"less\")",
                "Program(\"python3\")",
                "Line(\"jq .\")",
                "Program(\"make\")",
                "Computed",
            ]
        );
    }

    #[test]
    fn variables_are_read_in_three_ways() {
        let text = "import os\nfrom os import environ, getenv\na = os.environ['A']\nb = environ.get('B')\nc = getenv('C', '')\nd = os.environ[x]\n";
        assert_eq!(shown(text), ["variable A", "variable B", "variable C"]);
    }

    #[test]
    fn what_is_not_python_is_an_error() {
        assert!(uses("print 'two'\n").is_err());
        assert!(uses(&"(".repeat(100_000)).is_err());
    }
}
