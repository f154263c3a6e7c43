//! The programs that a Python file starts, as far as its text says which.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ruff_python_ast::visitor::{Visitor, walk_expr, walk_stmt};
use ruff_python_ast::{Expr, ExprCall, Stmt};
use ruff_python_parser::parse_module;

use crate::{MAX_BYTES, nesting};

/// What a call starts or asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartedCommand {
    /// A program, by name or path.
    Program(String),
    /// A text for a shell.
    Shell(String),
    /// A program that is only looked for.
    Query(String),
}

/// How a function takes what it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// A list of arguments, or a text if `shell=True`.
    Arguments,
    /// The program, then its arguments.
    Program,
    /// A text for a shell.
    Shell,
    /// A name to look for.
    Query,
}

/// The functions of the standard library that start programs.
const FUNCTIONS: &[(&str, &[&str], Way)] = &[
    ("subprocess", &["run", "call", "check_call", "check_output", "Popen"], Way::Arguments),
    ("subprocess", &["getoutput", "getstatusoutput"], Way::Shell),
    ("os", &["system", "popen"], Way::Shell),
    ("os", &["execlp", "execlpe", "execvp", "execvpe"], Way::Program),
    ("asyncio", &["create_subprocess_exec"], Way::Program),
    ("asyncio", &["create_subprocess_shell"], Way::Shell),
    ("shutil", &["which"], Way::Query),
];

/// Reads the commands that a file starts, in the order of the text. Computed ones and those of a file that can't be parsed
/// are not known, and left out.
pub fn started_commands(text: &str) -> Vec<StartedCommand> {
    if text.len() > MAX_BYTES {
        return Vec::new();
    }
    // As for functions: an assertion of the parser must not end the program.
    catch_unwind(AssertUnwindSafe(|| {
        let Ok(()) = nesting::check(text) else { return Vec::new() };
        let Ok(module) = parse_module(text) else { return Vec::new() };
        let mut reader = CommandReader::default();
        for statement in module.suite() {
            reader.visit_stmt(statement);
        }
        reader.found
    }))
    .unwrap_or_default()
}

#[derive(Default)]
struct CommandReader {
    /// Names of modules and what they stand for (`import subprocess as sp`).
    modules: BTreeMap<String, String>,
    /// Names of functions, with their module (`from subprocess import run`).
    functions: BTreeMap<String, (String, String)>,
    found: Vec<StartedCommand>,
}

impl Visitor<'_> for CommandReader {
    fn visit_stmt(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Import(import) => {
                for name in &import.names {
                    let called = name.asname.as_ref().unwrap_or(&name.name);
                    self.modules.insert(called.to_string(), name.name.to_string());
                }
            }
            Stmt::ImportFrom(import) => {
                let Some(module) = &import.module else { return };
                for name in &import.names {
                    let called = name.asname.as_ref().unwrap_or(&name.name);
                    let meant = (module.to_string(), name.name.to_string());
                    self.functions.insert(called.to_string(), meant);
                }
            }
            _ => walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &Expr) {
        if let Expr::Call(call) = expression
            && let Some(way) = self.way_of(&call.func)
        {
            self.found.extend(started(call, way));
        }
        walk_expr(self, expression);
    }
}

impl CommandReader {
    fn way_of(&self, function: &Expr) -> Option<Way> {
        let (module, name) = match function {
            Expr::Attribute(attribute) => {
                let module = attribute.value.as_name_expr()?.id.as_str();
                (self.modules.get(module)?.as_str(), attribute.attr.as_str())
            }
            Expr::Name(name) => {
                let (module, name) = self.functions.get(name.id.as_str())?;
                (module.as_str(), name.as_str())
            }
            _ => return None,
        };
        let mut known = FUNCTIONS.iter();
        known.find(|(of, names, _)| *of == module && names.contains(&name)).map(|(_, _, way)| *way)
    }
}

fn started(call: &ExprCall, way: Way) -> Option<StartedCommand> {
    let named = |wanted: &str| {
        let mut keywords = call.arguments.keywords.iter();
        keywords.find(|keyword| keyword.arg.as_ref().is_some_and(|name| name == wanted))
    };
    let first = call.arguments.args.first().or_else(|| named("args").map(|it| &it.value))?;
    let text = |expression: &Expr| {
        expression.as_string_literal_expr().map(|text| text.value.to_str().to_owned())
    };
    match way {
        Way::Program => text(first).map(StartedCommand::Program),
        Way::Shell => text(first).map(StartedCommand::Shell),
        Way::Query => text(first).map(StartedCommand::Query),
        Way::Arguments => {
            let items = match first {
                Expr::List(list) => &list.elts,
                Expr::Tuple(tuple) => &tuple.elts,
                _ => {
                    let shell = named("shell").and_then(|it| it.value.as_boolean_literal_expr());
                    let start = match shell {
                        Some(literal) if literal.value => StartedCommand::Shell,
                        Some(_) | None => StartedCommand::Program,
                    };
                    return text(first).map(start);
                }
            };
            text(items.first()?).map(StartedCommand::Program)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        let words = started_commands(text).into_iter().map(|command| match command {
            StartedCommand::Program(name) => name,
            StartedCommand::Shell(text) => format!("$ {text}"),
            StartedCommand::Query(name) => format!("? {name}"),
        });
        words.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn literal_commands_are_found() {
        for (text, expected) in [
            ("import subprocess\nsubprocess.run(['git', 'log'])\n", "git"),
            ("import subprocess as sp\nif x:\n    y = sp.Popen(('curl',), shell=False)\n", "curl"),
            (
                "from subprocess import check_output as out\nout('ls | wc', shell=True)\n",
                "$ ls | wc",
            ),
            ("import os, shutil\nos.system('make')\nshutil.which('jq')\n", "$ make; ? jq"),
            ("import subprocess\nsubprocess.run(args=['a'])\n", "a"),
            (
                "import asyncio\nasync def f():\n    await asyncio.create_subprocess_exec('b', 'c')\n",
                "b",
            ),
            (
                "import subprocess\ndef f(x):\n    return [subprocess.run([x, 'y']), subprocess.run(x)]\n",
                "",
            ),
            ("import subprocess\nsubprocess.run([f'{x}'])\n", ""),
            ("run(['git'])\nmy.run(['git'])\n", ""),
            ("def (", ""),
            ("", ""),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
        assert_eq!(found(&format!("x = {}", "(".repeat(100_000))), "");
    }
}
