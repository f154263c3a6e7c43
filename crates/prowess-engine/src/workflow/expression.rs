//! Conditions of workflows: a small language that is parsed and evaluated, and never inserted into another one.
//!
//! ```text
//! or      = and { "||" and }
//! and     = not { "&&" not }
//! not     = "!" not | comparison
//! compare = value [ ("===" | "!==" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "contains") value ]
//! value   = (text | number | "true" | "false" | "null" | path | "{{" path "}}" | "(" or ")") { ".includes(" or ")" }
//! ```
//!
//! The value of a node is always a value and never part of the expression, whatever it contains.

use std::cmp::Ordering;

use prowess_format::span::Span;
use serde_json::{Number, Value};

use super::template::{Lookup, ValueReference, WorkflowTemplate, is_name, text_of};

/// Maximum nesting depth of parentheses and negations.
const MAX_DEPTH: usize = 64;
/// Maximum length of an expression, in bytes.
const MAX_BYTES: usize = 16 << 10;

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    root: Term,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Literal(Value),
    /// A quoted string may contain references, as everywhere in a workflow.
    Text(WorkflowTemplate),
    Reference(ValueReference, Span),
    Not(Box<Term>),
    And(Box<Term>, Box<Term>),
    Or(Box<Term>, Box<Term>),
    Compare(Comparison, Box<Term>, Box<Term>),
    Contains(Box<Term>, Box<Term>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    /// `===`: the same type and the same value.
    Same,
    NotSame,
    /// `==`: a number and its text are equal too.
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Why a text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// The message, as a lowercase phrase.
    pub message: String,
    /// The position in the expression.
    pub span: Span,
}

impl Expression {
    /// Parses an expression.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        if text.len() > MAX_BYTES {
            let message = format!("an expression may have at most {} KiB", MAX_BYTES >> 10);
            return Err(ExpressionError { message, span: Span::at(0) });
        }
        let mut parser = Parser { text, tokens: tokens(text)?, at: 0 };
        let root = parser.or(0)?;
        match parser.next() {
            None => Ok(Self { root }),
            Some((_, span)) => Err(parser.unexpected(span)),
        }
    }

    /// Whether the condition is true. An unresolved reference is null, and evaluation can't fail.
    pub fn holds(&self, lookup: &dyn Lookup) -> bool {
        is_true(&self.root.evaluate(lookup))
    }

    /// The references of the expression. Those in a quoted string have empty spans.
    pub fn references(&self) -> Vec<(&ValueReference, Span)> {
        let mut found = Vec::new();
        self.root.collect(&mut found);
        found
    }
}

/// Truthiness as in JavaScript, except that empty lists and objects are false too.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(object) => !object.is_empty(),
    }
}

impl Term {
    fn evaluate(&self, lookup: &dyn Lookup) -> Value {
        match self {
            Term::Literal(value) => value.clone(),
            Term::Text(template) => template.render(lookup).into(),
            Term::Reference(reference, _) => {
                lookup.value(reference).cloned().unwrap_or(Value::Null)
            }
            Term::Not(term) => (!is_true(&term.evaluate(lookup))).into(),
            // As in JavaScript the result is one of the two values.
            Term::And(left, right) => {
                let left = left.evaluate(lookup);
                if is_true(&left) { right.evaluate(lookup) } else { left }
            }
            Term::Or(left, right) => {
                let left = left.evaluate(lookup);
                if is_true(&left) { left } else { right.evaluate(lookup) }
            }
            Term::Compare(comparison, left, right) => {
                compare(*comparison, &left.evaluate(lookup), &right.evaluate(lookup)).into()
            }
            Term::Contains(whole, part) => {
                contains(&whole.evaluate(lookup), &part.evaluate(lookup)).into()
            }
        }
    }

    fn collect<'t>(&'t self, found: &mut Vec<(&'t ValueReference, Span)>) {
        match self {
            Term::Literal(_) => {}
            Term::Text(template) => {
                found.extend(template.references().map(|(reference, _)| (reference, Span::at(0))));
            }
            Term::Reference(reference, span) => found.push((reference, *span)),
            Term::Not(term) => term.collect(found),
            Term::And(left, right)
            | Term::Or(left, right)
            | Term::Compare(_, left, right)
            | Term::Contains(left, right) => {
                left.collect(found);
                right.collect(found);
            }
        }
    }
}

fn compare(comparison: Comparison, left: &Value, right: &Value) -> bool {
    match comparison {
        Comparison::Same => same(left, right),
        Comparison::NotSame => !same(left, right),
        Comparison::Equal => equal(left, right),
        Comparison::NotEqual => !equal(left, right),
        Comparison::Less => ordered(left, right, Ordering::is_lt),
        Comparison::LessOrEqual => ordered(left, right, Ordering::is_le),
        Comparison::Greater => ordered(left, right, Ordering::is_gt),
        Comparison::GreaterOrEqual => ordered(left, right, Ordering::is_ge),
    }
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        // 1 and 1.0 are equal.
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64() == right.as_f64()
        }
        _ => left == right,
    }
}

/// Models answer in text, so `==` also compares a number with its text.
fn equal(left: &Value, right: &Value) -> bool {
    same(left, right)
        || match (left, right) {
            (Value::Number(number), Value::String(text))
            | (Value::String(text), Value::Number(number)) => {
                number_in(text).is_some_and(|it| Some(it) == number.as_f64())
            }
            (Value::Bool(value), Value::String(text))
            | (Value::String(text), Value::Bool(value)) => {
                text.trim() == if *value { "true" } else { "false" }
            }
            _ => false,
        }
}

/// Compares numbers by value, also if one of them is a text, and texts by characters. Other values have no order.
fn ordered(left: &Value, right: &Value, wanted: impl Fn(Ordering) -> bool) -> bool {
    let number = |value: &Value| match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => number_in(text),
        _ => None,
    };
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        _ => number(left).zip(number(right)).and_then(|(left, right)| left.partial_cmp(&right)),
    };
    order.is_some_and(wanted)
}

fn number_in(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// Whether a text contains a text, a list an element, or an object a key.
fn contains(whole: &Value, part: &Value) -> bool {
    match whole {
        Value::String(text) => text.contains(&text_of(part)),
        Value::Array(items) => items.iter().any(|item| same(item, part)),
        Value::Object(object) => object.contains_key(&text_of(part)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Open,
    Close,
    Not,
    And,
    Or,
    Compare(Comparison),
    Contains,
    /// `.includes(`, with the parenthesis.
    Includes,
    Text(String),
    Number(Number),
    Reference(ValueReference),
    True,
    False,
    Null,
}

fn tokens(text: &str) -> Result<Vec<(Token, Span)>, ExpressionError> {
    /// Longer ones first.
    const SIGNS: &[(&str, Token)] = &[
        ("===", Token::Compare(Comparison::Same)),
        ("!==", Token::Compare(Comparison::NotSame)),
        ("==", Token::Compare(Comparison::Equal)),
        ("!=", Token::Compare(Comparison::NotEqual)),
        ("<=", Token::Compare(Comparison::LessOrEqual)),
        (">=", Token::Compare(Comparison::GreaterOrEqual)),
        ("<", Token::Compare(Comparison::Less)),
        (">", Token::Compare(Comparison::Greater)),
        ("&&", Token::And),
        ("||", Token::Or),
        (".includes(", Token::Includes),
        ("!", Token::Not),
        ("(", Token::Open),
        (")", Token::Close),
    ];
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = if let Some((sign, token)) =
            SIGNS.iter().find(|(sign, _)| rest.starts_with(sign))
        {
            (token.clone(), sign.len())
        } else if first == '"' || first == '\'' {
            quoted(rest, first)
                .map_err(|message| ExpressionError { message, span: Span::new(at, text.len()) })?
        } else if rest.starts_with("{{") {
            let end = rest.find("}}");
            let inner = end.map(|end| rest[2..end].trim());
            match (inner.and_then(ValueReference::parse), end) {
                (Some(reference), Some(end)) => (Token::Reference(reference), end + 2),
                _ => {
                    let message = "`{{` begins a reference such as `{{node.output}}`".to_owned();
                    return Err(ExpressionError { message, span: Span::new(at, at + 2) });
                }
            }
        } else if let Some(found) = number(rest) {
            found
        } else if is_name(first) && first != '-' {
            word(rest)
        } else {
            let message = format!("`{first}` is not valid in an expression");
            return Err(ExpressionError { message, span: Span::new(at, at + first.len_utf8()) });
        };
        tokens.push((token, Span::new(at, at + length)));
        at += length;
    }
    Ok(tokens)
}

fn quoted(text: &str, quote: char) -> Result<(Token, usize), String> {
    let mut content = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => match characters.next().map(|(_, escaped)| escaped) {
                Some('n') => content.push('\n'),
                Some('t') => content.push('\t'),
                Some('r') => content.push('\r'),
                Some(escaped) => content.push(escaped),
                None => break,
            },
            _ if character == quote => return Ok((Token::Text(content), at + 1)),
            _ => content.push(character),
        }
    }
    Err("this string has no closing quote".to_owned())
}

/// A number, unless it is the beginning of a name, as in many identifiers.
fn number(text: &str) -> Option<(Token, usize)> {
    let signless = text.strip_prefix('-').unwrap_or(text);
    if !signless.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let sign = text.len() - signless.len();
    let length = signless.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let written = &text[..sign + length];
    if signless[length..].starts_with(is_name) {
        return None;
    }
    let number = serde_json::from_str(written).ok()?;
    Some((Token::Number(number), written.len()))
}

fn word(text: &str) -> (Token, usize) {
    let mut length = text.find(|it: char| !is_name(it) && it != '.').unwrap_or(text.len());
    // A method call ends a path.
    if text[..length].ends_with(".includes") && text[length..].starts_with('(') {
        length -= ".includes".len();
    }
    let written = text[..length].trim_end_matches('.');
    let token = match written {
        "true" => Token::True,
        "false" => Token::False,
        "null" | "undefined" => Token::Null,
        "contains" => Token::Contains,
        _ => match ValueReference::parse(written) {
            Some(reference) => Token::Reference(reference),
            // Two dots in a row: the parser reports them.
            None => Token::Reference(ValueReference {
                segments: written.split('.').map(str::to_owned).collect(),
            }),
        },
    };
    (token, written.len())
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token, Span)>,
    at: usize,
}

impl Parser<'_> {
    fn or(&mut self, depth: usize) -> Result<Term, ExpressionError> {
        let mut left = self.and(depth)?;
        while self.take(&Token::Or) {
            left = Term::Or(Box::new(left), Box::new(self.and(depth)?));
        }
        Ok(left)
    }

    fn and(&mut self, depth: usize) -> Result<Term, ExpressionError> {
        let mut left = self.not(depth)?;
        while self.take(&Token::And) {
            left = Term::And(Box::new(left), Box::new(self.not(depth)?));
        }
        Ok(left)
    }

    fn not(&mut self, depth: usize) -> Result<Term, ExpressionError> {
        if self.take(&Token::Not) {
            self.bounded(depth)?;
            return Ok(Term::Not(Box::new(self.not(depth + 1)?)));
        }
        let left = self.value(depth)?;
        let term = match self.peek() {
            Some(Token::Compare(comparison)) => {
                let comparison = *comparison;
                self.at += 1;
                Term::Compare(comparison, Box::new(left), Box::new(self.operand(depth)?))
            }
            Some(Token::Contains) => {
                self.at += 1;
                Term::Contains(Box::new(left), Box::new(self.operand(depth)?))
            }
            _ => left,
        };
        Ok(term)
    }

    /// The right side of a comparison, which may be negated: `a === !b`.
    fn operand(&mut self, depth: usize) -> Result<Term, ExpressionError> {
        if self.take(&Token::Not) {
            self.bounded(depth)?;
            return Ok(Term::Not(Box::new(self.operand(depth + 1)?)));
        }
        self.value(depth)
    }

    fn value(&mut self, depth: usize) -> Result<Term, ExpressionError> {
        let Some((token, span)) = self.next() else {
            let end = self.text.len();
            let message = "the expression ends where a value is expected".to_owned();
            return Err(ExpressionError { message, span: Span::at(end) });
        };
        let mut term = match token {
            Token::Open => {
                self.bounded(depth)?;
                let inner = self.or(depth + 1)?;
                self.close(span)?;
                inner
            }
            Token::Text(text) => Term::Text(WorkflowTemplate::parse(&text)),
            Token::Number(number) => Term::Literal(Value::Number(number)),
            Token::True => Term::Literal(true.into()),
            Token::False => Term::Literal(false.into()),
            Token::Null => Term::Literal(Value::Null),
            Token::Reference(reference) if reference.segments.iter().all(|it| !it.is_empty()) => {
                Term::Reference(reference, span)
            }
            Token::Reference(_)
            | Token::Close
            | Token::Not
            | Token::And
            | Token::Or
            | Token::Compare(_)
            | Token::Contains
            | Token::Includes => return Err(self.unexpected(span)),
        };
        while let Some((Token::Includes, span)) = self.tokens.get(self.at) {
            let span = *span;
            self.at += 1;
            self.bounded(depth)?;
            let part = self.or(depth + 1)?;
            self.close(span)?;
            term = Term::Contains(Box::new(term), Box::new(part));
        }
        Ok(term)
    }

    fn close(&mut self, opened: Span) -> Result<(), ExpressionError> {
        match self.next() {
            Some((Token::Close, _)) => Ok(()),
            Some((_, span)) => Err(self.unexpected(span)),
            None => Err(ExpressionError {
                message: "this parenthesis is not closed".to_owned(),
                span: opened,
            }),
        }
    }

    fn bounded(&self, depth: usize) -> Result<(), ExpressionError> {
        if depth < MAX_DEPTH {
            return Ok(());
        }
        let span = self.tokens.get(self.at).map_or(Span::at(self.text.len()), |(_, span)| *span);
        let message = format!("nested more than {MAX_DEPTH} levels deep");
        Err(ExpressionError { message, span })
    }

    fn unexpected(&self, span: Span) -> ExpressionError {
        let message = format!("unexpected `{}`", span.slice(self.text));
        ExpressionError { message, span }
    }

    fn next(&mut self) -> Option<(Token, Span)> {
        let token = self.tokens.get(self.at).cloned();
        self.at += usize::from(token.is_some());
        token
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn take(&mut self, wanted: &Token) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }
}

#[cfg(test)]
mod tests;
