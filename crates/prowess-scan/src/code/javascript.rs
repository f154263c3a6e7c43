//! JavaScript and TypeScript to facts. This is the only file that knows their parsers.

use std::cell::Cell;
use std::ops::ControlFlow;

use prowess_python::{Expression, ExpressionKind, Statement};
use tree_sitter::{Language, Node, ParseOptions, ParseState, Parser};

use super::assemble::unescape;
use super::flow;
use crate::fact::Fact;

/// How often the parser may report progress.
const MAX_REPORTS: usize = 100_000;
/// The longest program, and how deep it may be nested.
const MAX_BYTES: usize = 1 << 20;
const MAX_DEPTH: usize = 120;
/// The most parameters of a function that are looked at.
const MAX_PARAMETERS: usize = 16;

/// Reads a program in JavaScript that begins at an offset of a document.
pub(crate) fn read(document: usize, text: &str, base: usize) -> Result<Vec<Fact>, String> {
    read_as(&tree_sitter_javascript::LANGUAGE.into(), document, text, base)
}

/// Reads a program in TypeScript.
pub(crate) fn read_typescript(
    document: usize,
    text: &str,
    base: usize,
) -> Result<Vec<Fact>, String> {
    read_as(&tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(), document, text, base)
}

/// Whether a file or a fence is TypeScript, by the end of its name or by the name of its language. `.tsx` is read as
/// JavaScript, which knows its elements.
pub(crate) fn is_typescript(name: &str) -> bool {
    let end = name.rsplit('.').next().unwrap_or(name);
    ["ts", "mts", "cts", "typescript"].iter().any(|known| end.eq_ignore_ascii_case(known))
}

fn read_as(
    language: &Language,
    document: usize,
    text: &str,
    base: usize,
) -> Result<Vec<Fact>, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("{} bytes exceed the limit of {MAX_BYTES}", text.len()));
    }
    let mut parser = Parser::new();
    parser.set_language(language).map_err(|error| error.to_string())?;
    let reports = Cell::new(0_usize);
    let mut progress = |_: &ParseState| {
        reports.set(reports.get() + 1);
        if reports.get() > MAX_REPORTS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let bytes = text.as_bytes();
    let options = ParseOptions::new().progress_callback(&mut progress);
    let tree = parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or_default(),
        None,
        Some(options),
    );
    let Some(tree) = tree else { return Err("the parser took too long".to_owned()) };
    let reader = Lower { text };
    let mut statements = Vec::new();
    reader.children(tree.root_node(), 0, &mut statements);
    if statements.is_empty()
        && tree.root_node().has_error()
        && text
            .lines()
            .any(|line| !line.trim().is_empty() && !line.trim_start().starts_with(['/', '*']))
    {
        return Err("no statement can be read from it".to_owned());
    }
    Ok(flow::follow(document, base, &statements, read, flow::Scopes::Closures))
}

struct Lower<'t> {
    text: &'t str,
}

impl Lower<'_> {
    fn source(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn children(&self, node: Node<'_>, depth: usize, result: &mut Vec<Statement>) {
        if depth > MAX_DEPTH {
            return;
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.statement(child, depth + 1, result);
        }
    }

    fn statement(&self, node: Node<'_>, depth: usize, result: &mut Vec<Statement>) {
        if depth > MAX_DEPTH {
            return;
        }
        match node.kind() {
            "comment" => {}
            "variable_declarator" | "field_definition" | "public_field_definition" => {
                let (Some(name), Some(value)) = (
                    node.child_by_field_name("name")
                        .or_else(|| node.child_by_field_name("property")),
                    node.child_by_field_name("value"),
                ) else {
                    return;
                };
                let value = self.expression(value, depth);
                if name.kind() == "object_pattern" {
                    self.pattern(name, &value, result);
                    return;
                }
                if let ExpressionKind::Function(body) = &value.kind {
                    result.push(Statement::Function {
                        name: self.source(name).to_owned(),
                        parameters: Vec::new(),
                        body: body.clone(),
                    });
                }
                result.push(Statement::Assign { targets: self.targets(name), value });
            }
            "assignment_expression" | "augmented_assignment_expression" => {
                result.push(self.assignment(node, depth));
            }
            "expression_statement" => {
                if let Some(inner) = node.named_child(0) {
                    self.statement(inner, depth + 1, result);
                }
            }
            "return_statement" => {
                if let Some(value) = node.named_child(0) {
                    result.push(Statement::Return(self.expression(value, depth)));
                }
            }
            "function_declaration" | "generator_function_declaration" | "method_definition" => {
                let name = node
                    .child_by_field_name("name")
                    .map(|name| self.source(name).to_owned())
                    .unwrap_or_default();
                let mut body = Vec::new();
                if let Some(block) = node.child_by_field_name("body") {
                    self.children(block, depth + 1, &mut body);
                }
                result.push(Statement::Function { name, parameters: self.parameters(node), body });
            }
            "import_statement" => self.import(node, result),
            "for_in_statement" => {
                if let (Some(left), Some(right)) =
                    (node.child_by_field_name("left"), node.child_by_field_name("right"))
                {
                    result.push(Statement::Assign {
                        targets: self.targets(left),
                        value: self.expression(right, depth),
                    });
                }
                if let Some(body) = node.child_by_field_name("body") {
                    self.statement(body, depth + 1, result);
                }
            }
            "lexical_declaration"
            | "variable_declaration"
            | "program"
            | "statement_block"
            | "if_statement"
            | "else_clause"
            | "for_statement"
            | "while_statement"
            | "do_statement"
            | "try_statement"
            | "catch_clause"
            | "finally_clause"
            | "switch_statement"
            | "switch_body"
            | "switch_case"
            | "switch_default"
            | "class_declaration"
            | "abstract_class_declaration"
            | "internal_module"
            | "class_body"
            | "export_statement"
            | "labeled_statement"
            | "ERROR"
            | "class" => self.children(node, depth, result),
            "empty_statement"
            | "break_statement"
            | "continue_statement"
            | "identifier"
            | "debugger_statement"
            | "interface_declaration"
            | "type_alias_declaration"
            | "type_annotation"
            | "type_identifier" => {}
            _ => result.push(Statement::Expression(self.expression(node, depth))),
        }
    }

    fn assignment(&self, node: Node<'_>, depth: usize) -> Statement {
        let value = node
            .child_by_field_name("right")
            .map_or_else(|| Self::nothing(node), |right| self.expression(right, depth));
        let left = node.child_by_field_name("left");
        let targets = left.map(|left| self.targets(left)).unwrap_or_default();
        if node.kind() == "augmented_assignment_expression"
            && let Some(left) = left
        {
            let left = self.expression(left, depth);
            let span = node.byte_range();
            return Statement::Assign {
                targets,
                value: Expression {
                    kind: ExpressionKind::Sum(Box::new(left), Box::new(value)),
                    span,
                },
            };
        }
        Statement::Assign { targets, value }
    }

    /// `const { exec: run } = require('child_process')`
    fn pattern(&self, pattern: Node<'_>, value: &Expression, result: &mut Vec<Statement>) {
        let mut cursor = pattern.walk();
        for part in pattern.named_children(&mut cursor) {
            let (key, name) = match part.kind() {
                "pair_pattern" => {
                    (part.child_by_field_name("key"), part.child_by_field_name("value"))
                }
                _ => (Some(part), Some(part)),
            };
            if let (Some(key), Some(name)) = (key, name) {
                let member =
                    ExpressionKind::Member(Box::new(value.clone()), self.source(key).to_owned());
                result.push(Statement::Assign {
                    targets: vec![self.source(name).to_owned()],
                    value: Expression { kind: member, span: part.byte_range() },
                });
            }
        }
    }

    fn import(&self, node: Node<'_>, result: &mut Vec<Statement>) {
        let Some(source) = node.child_by_field_name("source") else { return };
        let module = self.source(source).trim_matches(['"', '\'', '`']);
        let module = module.strip_prefix("node:").unwrap_or(module).to_owned();
        let mut pending = vec![node];
        let mut count = 0;
        while let Some(next) = pending.pop() {
            count += 1;
            if count > 2_000 {
                return;
            }
            let mut cursor = next.walk();
            for child in next.named_children(&mut cursor) {
                match child.kind() {
                    "import_clause" | "named_imports" => pending.push(child),
                    "identifier" | "namespace_import" => {
                        let name = self.source(child).trim_start_matches("* as ").trim().to_owned();
                        result.push(Statement::Import { path: module.clone(), name });
                    }
                    "import_specifier" => {
                        let Some(name) = child.child_by_field_name("name") else { continue };
                        let alias = child.child_by_field_name("alias").unwrap_or(name);
                        result.push(Statement::Import {
                            path: format!("{module}.{}", self.source(name)),
                            name: self.source(alias).to_owned(),
                        });
                    }
                    _ => {}
                }
            }
        }
    }

    fn parameters(&self, node: Node<'_>) -> Vec<String> {
        let Some(list) = node.child_by_field_name("parameters") else {
            return node
                .child_by_field_name("parameter")
                .map(|one| self.source(one).to_owned())
                .into_iter()
                .collect();
        };
        let mut cursor = list.walk();
        list.named_children(&mut cursor)
            .map(|one| {
                self.source(one).split(['=', ':']).next().unwrap_or_default().trim().to_owned()
            })
            .collect()
    }

    /// The names that the parameters of a function get.
    fn parameter_names(&self, node: Node<'_>) -> Vec<String> {
        let Some(list) = node.child_by_field_name("parameters") else {
            let one = node.child_by_field_name("parameter");
            return one.map(|one| self.source(one).to_owned()).into_iter().collect();
        };
        let mut cursor = list.walk();
        let names = list.named_children(&mut cursor).flat_map(|one| {
            let inner = one
                .child_by_field_name("pattern")
                .or_else(|| one.child_by_field_name("left"))
                .unwrap_or(one);
            self.targets(inner)
        });
        names.take(MAX_PARAMETERS).collect()
    }

    fn targets(&self, node: Node<'_>) -> Vec<String> {
        match node.kind() {
            "identifier"
            | "member_expression"
            | "private_property_identifier"
            | "property_identifier" => vec![self.source(node).replace("this.", "")],
            "subscript_expression" => node
                .child_by_field_name("object")
                .map(|object| self.targets(object))
                .unwrap_or_default(),
            "array_pattern"
            | "object_pattern"
            | "lexical_declaration"
            | "variable_declaration"
            | "variable_declarator" => {
                let mut cursor = node.walk();
                node.named_children(&mut cursor).flat_map(|child| self.targets(child)).collect()
            }
            "shorthand_property_identifier_pattern" => vec![self.source(node).to_owned()],
            "pair_pattern" => node
                .child_by_field_name("value")
                .map(|value| self.targets(value))
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn nothing(node: Node<'_>) -> Expression {
        Expression { kind: ExpressionKind::Other(Vec::new()), span: node.byte_range() }
    }

    fn text(&self, node: Node<'_>) -> String {
        let source = self.source(node);
        let inner = source.get(1..source.len().saturating_sub(1)).unwrap_or_default();
        if inner.contains('\\') { unescape(inner) } else { inner.to_owned() }
    }

    fn all(&self, node: Node<'_>, depth: usize) -> Vec<Expression> {
        let mut cursor = node.walk();
        node.named_children(&mut cursor)
            .filter(|child| child.kind() != "comment")
            .map(|child| self.expression(child, depth))
            .collect()
    }

    fn boxed(&self, node: Node<'_>, field: &str, depth: usize) -> Box<Expression> {
        Box::new(
            node.child_by_field_name(field)
                .map_or_else(|| Self::nothing(node), |child| self.expression(child, depth)),
        )
    }

    fn expression(&self, node: Node<'_>, depth: usize) -> Expression {
        use ExpressionKind as Kind;
        let depth = depth + 1;
        if depth > MAX_DEPTH {
            return Self::nothing(node);
        }
        let kind = match node.kind() {
            "string" => Kind::Text(self.text(node)),
            "template_string" => {
                let mut parts = Vec::new();
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    match child.kind() {
                        "template_substitution" => parts.extend(
                            child.named_child(0).map(|inner| self.expression(inner, depth)),
                        ),
                        _ => parts.push(Expression {
                            kind: Kind::Text(unescape(self.source(child))),
                            span: child.byte_range(),
                        }),
                    }
                }
                Kind::Template(parts)
            }
            "number" => self.source(node).parse().map_or_else(
                |_| {
                    let hex = self
                        .source(node)
                        .strip_prefix("0x")
                        .and_then(|hex| i64::from_str_radix(hex, 16).ok());
                    hex.map_or_else(|| Kind::Other(Vec::new()), Kind::Number)
                },
                Kind::Number,
            ),
            "identifier"
            | "property_identifier"
            | "shorthand_property_identifier"
            | "this"
            | "import" => Kind::Name(self.source(node).to_owned()),
            "member_expression" => {
                let member = node
                    .child_by_field_name("property")
                    .map(|member| self.source(member).to_owned())
                    .unwrap_or_default();
                Kind::Member(self.boxed(node, "object", depth), member)
            }
            "subscript_expression" => {
                Kind::Element(self.boxed(node, "object", depth), self.boxed(node, "index", depth))
            }
            "call_expression" | "new_expression" => {
                let field =
                    if node.kind() == "new_expression" { "constructor" } else { "function" };
                let arguments = node.child_by_field_name("arguments");
                let arguments = match arguments {
                    Some(list) if list.kind() == "template_string" => {
                        vec![self.expression(list, depth)]
                    }
                    Some(list) => self.all(list, depth),
                    None => Vec::new(),
                };
                Kind::Call {
                    function: self.boxed(node, field, depth),
                    arguments,
                    named: Vec::new(),
                }
            }
            "binary_expression"
                if node
                    .child_by_field_name("operator")
                    .is_some_and(|operator| self.source(operator) == "+") =>
            {
                Kind::Sum(self.boxed(node, "left", depth), self.boxed(node, "right", depth))
            }
            "array" => Kind::List(self.all(node, depth)),
            "object" => {
                let mut cursor = node.walk();
                let entries =
                    node.named_children(&mut cursor).filter_map(|child| match child.kind() {
                        "pair" => {
                            let key = child.child_by_field_name("key")?;
                            let text = if key.kind() == "string" {
                                self.text(key)
                            } else {
                                self.source(key).to_owned()
                            };
                            let key = Expression { kind: Kind::Text(text), span: key.byte_range() };
                            Some((Some(key), *self.boxed(child, "value", depth)))
                        }
                        "comment" => None,
                        _ => Some((None, self.expression(child, depth))),
                    });
                Kind::Map(entries.collect())
            }
            "arrow_function" | "function_expression" | "function" | "generator_function" => {
                // What a caller passes to a function without a name comes from that call.
                let mut body = vec![Statement::Assign {
                    targets: self.parameter_names(node),
                    value: Expression {
                        kind: Kind::Name(flow::PASSED.to_owned()),
                        span: node.byte_range(),
                    },
                }];
                if let Some(inner) = node.child_by_field_name("body") {
                    if inner.kind() == "statement_block" {
                        self.children(inner, depth, &mut body);
                    } else {
                        body.push(Statement::Return(self.expression(inner, depth)));
                    }
                }
                Kind::Function(body)
            }
            "assignment_expression" | "augmented_assignment_expression" => {
                Kind::Function(vec![self.assignment(node, depth)])
            }
            // `(0, eval)`
            "sequence_expression" => {
                let last = node.named_child_count().checked_sub(1);
                match last.and_then(|last| node.named_child(u32::try_from(last).unwrap_or(0))) {
                    Some(inner) => return self.expression(inner, depth),
                    None => Kind::Other(Vec::new()),
                }
            }
            "parenthesized_expression"
            | "await_expression"
            | "spread_element"
            | "as_expression"
            | "satisfies_expression"
            | "non_null_expression" => match node.named_child(0) {
                Some(inner) => return self.expression(inner, depth),
                None => Kind::Other(Vec::new()),
            },
            "comment" | "regex" | "type_annotation" | "type_arguments" | "type_parameters" => {
                Kind::Other(Vec::new())
            }
            _ => Kind::Other(self.all(node, depth)),
        };
        Expression { kind, span: node.byte_range() }
    }
}
