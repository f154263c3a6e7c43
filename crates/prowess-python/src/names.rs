//! Resolves the names of a module: imports, classes and aliases at its top level.

use std::collections::HashMap;

use ruff_python_ast::{Expr, Stmt, StmtClassDef};

/// Modules whose names are known. A name from any other module is foreign.
pub(crate) const TYPING: &[&str] = &[
    "typing",
    "typing_extensions",
    "collections",
    "collections.abc",
    "builtins",
    "types",
    "dataclasses",
    "enum",
];

/// Well-known modules whose classes have no JSON representation.
const NOT_JSON: &[&str] = &[
    "array",
    "datetime",
    "decimal",
    "fractions",
    "io",
    "ipaddress",
    "numpy",
    "pandas",
    "pathlib",
    "re",
    "uuid",
];

/// The meaning of a name.
#[derive(Clone, Copy)]
pub(crate) enum Meaning<'m> {
    /// A name of a well-known module, under its original name.
    Known(&'m str),
    /// A name of a well-known module without a JSON representation.
    NotJson,
    /// A name of another module, which is not inspected.
    Foreign,
    /// A class of this module.
    Class(&'m StmtClassDef),
    /// Another expression of this module.
    Alias(&'m Expr),
}

/// The names of a module.
pub(crate) struct Names<'m> {
    meanings: HashMap<&'m str, Meaning<'m>>,
    /// The names under which the decorator was imported.
    decorators: Vec<&'m str>,
}

impl<'m> Names<'m> {
    /// Collects the names of a module; a later definition replaces an earlier one.
    pub(crate) fn of(suite: &'m [Stmt]) -> Self {
        let mut names = Self { meanings: HashMap::new(), decorators: Vec::new() };
        each_statement(suite, &mut |statement| names.take(statement));
        names
    }

    fn take(&mut self, statement: &'m Stmt) {
        match statement {
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map_or("", |module| module.as_str());
                for alias in &import.names {
                    let local = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
                    if alias.name.as_str() == "tool" {
                        self.decorators.push(local);
                    }
                    let meaning = match module {
                        _ if import.level > 0 => Meaning::Foreign,
                        module if TYPING.contains(&module) => Meaning::Known(alias.name.as_str()),
                        module if NOT_JSON.contains(&module) => Meaning::NotJson,
                        _ => Meaning::Foreign,
                    };
                    self.meanings.insert(local, meaning);
                }
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let module = alias.name.as_str();
                    // `import a.b` binds `a`; `import a.b as c` binds the module itself.
                    let local = alias.asname.as_ref().map_or_else(
                        || module.split('.').next().unwrap_or(module),
                        |local| local.as_str(),
                    );
                    let meaning = match module {
                        module if TYPING.contains(&module) => Meaning::Known(module),
                        module if NOT_JSON.contains(&module) => Meaning::NotJson,
                        _ => Meaning::Foreign,
                    };
                    self.meanings.insert(local, meaning);
                }
            }
            Stmt::ClassDef(class) => {
                self.meanings.insert(class.name.as_str(), Meaning::Class(class));
            }
            Stmt::Assign(assignment) => {
                for target in &assignment.targets {
                    if let Expr::Name(name) = target {
                        self.meanings.insert(name.id.as_str(), Meaning::Alias(&assignment.value));
                    }
                }
            }
            Stmt::AnnAssign(assignment) => {
                if let (Expr::Name(name), Some(value)) = (&*assignment.target, &assignment.value) {
                    self.meanings.insert(name.id.as_str(), Meaning::Alias(value));
                }
            }
            Stmt::TypeAlias(alias) => {
                if let Expr::Name(name) = &*alias.name {
                    self.meanings.insert(name.id.as_str(), Meaning::Alias(&alias.value));
                }
            }
            _ => {}
        }
    }

    /// The meaning of a name; `None` if the module does not define it, such as `str`.
    pub(crate) fn get(&self, name: &str) -> Option<Meaning<'m>> {
        self.meanings.get(name).copied()
    }

    /// Whether a decorator is `tool`, `tool(…)`, `module.tool`, `module.tool(…)` or another name for it.
    pub(crate) fn is_tool_decorator(&self, decorator: &Expr) -> bool {
        match decorator {
            Expr::Call(call) => self.is_tool_name(&call.func),
            name => self.is_tool_name(name),
        }
    }

    fn is_tool_name(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Name(name) => {
                name.id.as_str() == "tool" || self.decorators.contains(&name.id.as_str())
            }
            Expr::Attribute(attribute) => attribute.attr.as_str() == "tool",
            _ => false,
        }
    }
}

/// Calls `visit` for every statement that runs on import, including those in `if`, `try` and
/// `with`: definitions in them are at the top level.
pub(crate) fn each_statement<'m>(suite: &'m [Stmt], visit: &mut impl FnMut(&'m Stmt)) {
    for statement in suite {
        visit(statement);
        match statement {
            Stmt::If(branch) => {
                each_statement(&branch.body, visit);
                for clause in &branch.elif_else_clauses {
                    each_statement(&clause.body, visit);
                }
            }
            Stmt::Try(attempt) => {
                each_statement(&attempt.body, visit);
                for handler in &attempt.handlers {
                    if let Some(handler) = handler.as_except_handler() {
                        each_statement(&handler.body, visit);
                    }
                }
                each_statement(&attempt.orelse, visit);
                each_statement(&attempt.finalbody, visit);
            }
            Stmt::With(block) => each_statement(&block.body, visit),
            _ => {}
        }
    }
}
