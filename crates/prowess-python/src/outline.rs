//! A script as a small tree of statements and expressions: what scanners follow values through. It keeps names, texts,
//! calls and assignments; of everything else only what is inside it.
//!
//! The shape belongs to no language: JavaScript is read into the same one.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use prowess_format::python::PythonError;
use prowess_format::span::Span;
use ruff_python_ast::{
    Comprehension, Expr, FStringPart, InterpolatedStringElement, Number, Operator, Stmt,
};
use ruff_python_parser::parse_module;
use ruff_text_size::Ranged;

use crate::{MAX_BYTES, nesting, syntax_error};

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A value gets names.
    Assign {
        /// The names; `a.b` for a member.
        targets: Vec<String>,
        /// The value.
        value: Expression,
    },
    /// A module, or a part of it, gets a name.
    Import {
        /// What it is, as in `os.path`.
        path: String,
        /// How it is called here.
        name: String,
    },
    /// A value alone.
    Expression(Expression),
    /// The result of a function.
    Return(Expression),
    /// A function.
    Function {
        /// Its name.
        name: String,
        /// The names of its parameters.
        parameters: Vec<String>,
        /// What it does.
        body: Vec<Statement>,
    },
    /// Statements in branches, loops and classes.
    Block(Vec<Statement>),
}

/// An expression with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// What it is.
    pub kind: ExpressionKind,
    /// Its bytes in the text.
    pub span: Range<usize>,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionKind {
    /// A literal text, or bytes.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A name.
    Name(String),
    /// A member of a value.
    Member(Box<Expression>, String),
    /// An element of a value.
    Element(Box<Expression>, Box<Expression>),
    /// A call.
    Call {
        /// What is called.
        function: Box<Expression>,
        /// The arguments without names.
        arguments: Vec<Expression>,
        /// Those with names.
        named: Vec<(String, Expression)>,
    },
    /// Two values that are added or joined.
    Sum(Box<Expression>, Box<Expression>),
    /// A text with values in it.
    Template(Vec<Expression>),
    /// A list, tuple or set.
    List(Vec<Expression>),
    /// Keys and values.
    Map(Vec<(Option<Expression>, Expression)>),
    /// A text in reverse (`[::-1]`).
    Reversed(Box<Expression>),
    /// A function without a name.
    Function(Vec<Statement>),
    /// Anything else, with what is inside it.
    Other(Vec<Expression>),
}

/// Reads a script of Python.
pub fn outline(text: &str) -> Result<Vec<Statement>, PythonError> {
    if text.len() > MAX_BYTES {
        let message = format!("{} bytes exceed the limit of {MAX_BYTES}", text.len());
        return Err(PythonError { message, span: Span::at(0) });
    }
    // As in `read`: an assertion of the parser makes this file unreadable and no other.
    catch_unwind(AssertUnwindSafe(|| {
        nesting::check(text)?;
        let module = parse_module(text).map_err(|error| syntax_error(&error))?;
        Ok(statements(module.suite()))
    }))
    .unwrap_or_else(|_| {
        let message = "the file could not be parsed".to_owned();
        Err(PythonError { message, span: Span::at(0) })
    })
}

fn statements(suite: &[Stmt]) -> Vec<Statement> {
    let mut result = Vec::new();
    for statement in suite {
        add(statement, &mut result);
    }
    result
}

fn block(suite: &[Stmt], result: &mut Vec<Statement>) {
    result.push(Statement::Block(statements(suite)));
}

fn add(statement: &Stmt, result: &mut Vec<Statement>) {
    match statement {
        Stmt::FunctionDef(function) => {
            result.extend(
                function
                    .decorator_list
                    .iter()
                    .map(|decorator| Statement::Expression(expression(&decorator.expression))),
            );
            let parameters = &function.parameters;
            let names =
                parameters.posonlyargs.iter().chain(&parameters.args).chain(&parameters.kwonlyargs);
            let parameters = names.map(|parameter| parameter.parameter.name.to_string()).collect();
            result.push(Statement::Function {
                name: function.name.to_string(),
                parameters,
                body: statements(&function.body),
            });
        }
        Stmt::ClassDef(class) => block(&class.body, result),
        Stmt::Return(returned) => {
            if let Some(value) = &returned.value {
                result.push(Statement::Return(expression(value)));
            }
        }
        Stmt::Assign(assign) => {
            let value = expression(&assign.value);
            let targets = assign.targets.iter().flat_map(targets).collect();
            result.push(Statement::Assign { targets, value });
        }
        Stmt::AugAssign(assign) => {
            let target = expression(&assign.target);
            let value = expression(&assign.value);
            let span = range(&*assign.value);
            let sum =
                Expression { kind: ExpressionKind::Sum(Box::new(target), Box::new(value)), span };
            result.push(Statement::Assign { targets: targets(&assign.target), value: sum });
        }
        Stmt::AnnAssign(assign) => {
            if let Some(value) = &assign.value {
                result.push(Statement::Assign {
                    targets: targets(&assign.target),
                    value: expression(value),
                });
            }
        }
        Stmt::For(repeat) => {
            result.push(Statement::Assign {
                targets: targets(&repeat.target),
                value: expression(&repeat.iter),
            });
            block(&repeat.body, result);
            block(&repeat.orelse, result);
        }
        Stmt::While(repeat) => {
            result.push(Statement::Expression(expression(&repeat.test)));
            block(&repeat.body, result);
            block(&repeat.orelse, result);
        }
        Stmt::If(branch) => {
            result.push(Statement::Expression(expression(&branch.test)));
            block(&branch.body, result);
            for clause in &branch.elif_else_clauses {
                if let Some(test) = &clause.test {
                    result.push(Statement::Expression(expression(test)));
                }
                block(&clause.body, result);
            }
        }
        Stmt::With(with) => {
            for item in &with.items {
                let value = expression(&item.context_expr);
                result.push(match &item.optional_vars {
                    Some(target) => Statement::Assign { targets: targets(target), value },
                    None => Statement::Expression(value),
                });
            }
            block(&with.body, result);
        }
        Stmt::Match(choice) => {
            result.push(Statement::Expression(expression(&choice.subject)));
            for case in &choice.cases {
                block(&case.body, result);
            }
        }
        Stmt::Try(attempt) => {
            block(&attempt.body, result);
            for handler in &attempt.handlers {
                let ruff_python_ast::ExceptHandler::ExceptHandler(handler) = handler;
                block(&handler.body, result);
            }
            block(&attempt.orelse, result);
            block(&attempt.finalbody, result);
        }
        Stmt::Import(import) => {
            for alias in &import.names {
                let path = alias.name.to_string();
                let name = match &alias.asname {
                    Some(name) => name.to_string(),
                    None => path.split('.').next().unwrap_or(&path).to_owned(),
                };
                let path = if alias.asname.is_some() { path } else { name.clone() };
                result.push(Statement::Import { path, name });
            }
        }
        Stmt::ImportFrom(import) => {
            let module = import.module.as_ref().map(ToString::to_string).unwrap_or_default();
            for alias in &import.names {
                let name = alias.asname.as_ref().unwrap_or(&alias.name).to_string();
                result.push(Statement::Import { path: format!("{module}.{}", alias.name), name });
            }
        }
        Stmt::Expr(alone) => result.push(Statement::Expression(expression(&alone.value))),
        Stmt::Raise(raise) => {
            result.extend(raise.exc.iter().map(|value| Statement::Expression(expression(value))));
        }
        Stmt::Assert(assert) => result.push(Statement::Expression(expression(&assert.test))),
        Stmt::Delete(_)
        | Stmt::TypeAlias(_)
        | Stmt::Global(_)
        | Stmt::Nonlocal(_)
        | Stmt::Pass(_)
        | Stmt::Break(_)
        | Stmt::Continue(_)
        | Stmt::IpyEscapeCommand(_) => {}
    }
}

/// The names that a target gives.
fn targets(target: &Expr) -> Vec<String> {
    match target {
        Expr::Name(name) => vec![name.id.to_string()],
        Expr::Attribute(member) => match &*member.value {
            Expr::Name(owner) => vec![format!("{}.{}", owner.id, member.attr)],
            _ => vec![member.attr.to_string()],
        },
        Expr::Subscript(element) => targets(&element.value),
        Expr::Starred(starred) => targets(&starred.value),
        Expr::Tuple(list) => list.elts.iter().flat_map(targets).collect(),
        Expr::List(list) => list.elts.iter().flat_map(targets).collect(),
        _ => Vec::new(),
    }
}

fn range(node: &impl Ranged) -> Range<usize> {
    node.range().start().to_usize()..node.range().end().to_usize()
}

fn boxed(node: &Expr) -> Box<Expression> {
    Box::new(expression(node))
}

fn all<'e>(nodes: impl IntoIterator<Item = &'e Expr>) -> Vec<Expression> {
    nodes.into_iter().map(expression).collect()
}

/// A comprehension as a function: what is gone through gets names, and then there is a value.
fn comprehension<'e>(
    generators: &[Comprehension],
    values: impl IntoIterator<Item = &'e Expr>,
) -> ExpressionKind {
    let mut body = Vec::new();
    for generator in generators {
        body.push(Statement::Assign {
            targets: targets(&generator.target),
            value: expression(&generator.iter),
        });
        body.extend(generator.ifs.iter().map(|test| Statement::Expression(expression(test))));
    }
    body.extend(values.into_iter().map(|value| Statement::Return(expression(value))));
    ExpressionKind::Function(body)
}

fn expression(node: &Expr) -> Expression {
    use ExpressionKind as Kind;
    let kind = match node {
        Expr::StringLiteral(text) => Kind::Text(text.value.to_str().to_owned()),
        Expr::BytesLiteral(bytes) => {
            let bytes: Vec<u8> = bytes.value.bytes().collect();
            Kind::Text(String::from_utf8_lossy(&bytes).into_owned())
        }
        Expr::NumberLiteral(number) => match &number.value {
            Number::Int(number) => {
                number.as_i64().map_or_else(|| Kind::Other(Vec::new()), Kind::Number)
            }
            Number::Float(_) | Number::Complex { .. } => Kind::Other(Vec::new()),
        },
        Expr::Name(name) => Kind::Name(name.id.to_string()),
        Expr::Attribute(member) => Kind::Member(boxed(&member.value), member.attr.to_string()),
        Expr::Subscript(element) => match &*element.slice {
            Expr::Slice(slice) => {
                let is_reverse = slice.lower.is_none()
                    && slice.upper.is_none()
                    && matches!(slice.step.as_deref(), Some(Expr::UnaryOp(step)) if matches!(&*step.operand, Expr::NumberLiteral(_)));
                if is_reverse {
                    Kind::Reversed(boxed(&element.value))
                } else {
                    Kind::Other(vec![expression(&element.value)])
                }
            }
            index => Kind::Element(boxed(&element.value), boxed(index)),
        },
        Expr::Call(call) => Kind::Call {
            function: boxed(&call.func),
            arguments: all(call.arguments.args.iter()),
            named: call
                .arguments
                .keywords
                .iter()
                .map(|keyword| {
                    (
                        keyword.arg.as_ref().map(ToString::to_string).unwrap_or_default(),
                        expression(&keyword.value),
                    )
                })
                .collect(),
        },
        Expr::BinOp(operation) if operation.op == Operator::Add => {
            Kind::Sum(boxed(&operation.left), boxed(&operation.right))
        }
        Expr::BinOp(operation) if operation.op == Operator::Mod => {
            Kind::Template(vec![expression(&operation.left), expression(&operation.right)])
        }
        Expr::BinOp(operation) => {
            Kind::Other(vec![expression(&operation.left), expression(&operation.right)])
        }
        Expr::FString(text) => {
            let mut parts = Vec::new();
            for part in &text.value {
                match part {
                    FStringPart::Literal(part) => parts.push(Expression {
                        kind: Kind::Text(part.as_str().to_owned()),
                        span: range(part),
                    }),
                    FStringPart::FString(part) => {
                        for element in &part.elements {
                            parts.push(match element {
                                InterpolatedStringElement::Literal(part) => Expression {
                                    kind: Kind::Text(part.to_string()),
                                    span: range(part),
                                },
                                InterpolatedStringElement::Interpolation(part) => {
                                    expression(&part.expression)
                                }
                            });
                        }
                    }
                }
            }
            Kind::Template(parts)
        }
        Expr::List(list) => Kind::List(all(list.elts.iter())),
        Expr::Tuple(list) => Kind::List(all(list.elts.iter())),
        Expr::Set(set) => Kind::List(all(set.elts.iter())),
        Expr::Dict(map) => Kind::Map(
            map.items
                .iter()
                .map(|item| (item.key.as_ref().map(expression), expression(&item.value)))
                .collect(),
        ),
        Expr::ListComp(list) => comprehension(&list.generators, [&*list.elt]),
        Expr::SetComp(list) => comprehension(&list.generators, [&*list.elt]),
        Expr::Generator(list) => comprehension(&list.generators, [&*list.elt]),
        Expr::DictComp(map) => {
            comprehension(&map.generators, map.key.as_deref().into_iter().chain([&*map.value]))
        }
        Expr::Lambda(lambda) => Kind::Function(vec![Statement::Return(expression(&lambda.body))]),
        Expr::BoolOp(operation) => Kind::Other(all(operation.values.iter())),
        Expr::Named(named) => Kind::Other(vec![expression(&named.value)]),
        Expr::UnaryOp(operation) => Kind::Other(vec![expression(&operation.operand)]),
        Expr::If(branch) => Kind::Other(vec![
            expression(&branch.test),
            expression(&branch.body),
            expression(&branch.orelse),
        ]),
        Expr::Await(wait) => return expression(&wait.value),
        Expr::Yield(give) => {
            Kind::Other(give.value.as_deref().map(expression).into_iter().collect())
        }
        Expr::YieldFrom(give) => Kind::Other(vec![expression(&give.value)]),
        Expr::Compare(compare) => Kind::Other(
            std::iter::once(&*compare.left)
                .chain(compare.comparators.iter())
                .map(expression)
                .collect(),
        ),
        Expr::Starred(starred) => Kind::Other(vec![expression(&starred.value)]),
        Expr::Slice(_)
        | Expr::TString(_)
        | Expr::BooleanLiteral(_)
        | Expr::NoneLiteral(_)
        | Expr::EllipsisLiteral(_)
        | Expr::IpyEscapeCommand(_) => Kind::Other(Vec::new()),
    };
    Expression { kind, span: range(node) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_calls_and_texts_are_kept() {
        let read = outline("from os import system as sh\nsh('a' + x)\n").expect("it parses");
        assert_eq!(
            read[0],
            Statement::Import { path: "os.system".to_owned(), name: "sh".to_owned() }
        );
        let Statement::Expression(call) = &read[1] else { panic!("{read:?}") };
        assert!(
            matches!(&call.kind, ExpressionKind::Call { arguments, .. } if matches!(arguments[0].kind, ExpressionKind::Sum(..)))
        );
        assert!(outline("def (").is_err());
    }
}
