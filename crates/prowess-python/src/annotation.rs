//! The JSON type of an annotation.

use std::cell::Cell;

use prowess_format::python::PythonType;
use prowess_format::text::shorten;
use ruff_python_ast::{Expr, ExprSubscript, Number, Operator, StmtClassDef};
use ruff_python_parser::parse_expression;
use ruff_text_size::Ranged;

use crate::names::{Meaning, Names, TYPING};
use crate::nesting;

/// What the annotation is for. A parameter may have any type, but a return value must be JSON at
/// every level (GAIA §5.4).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Parameter,
    Return,
}

/// Maximum number of steps per annotation: aliases of unions of aliases grow exponentially.
const MAX_STEPS: u32 = 1_000;
/// Maximum depth of aliases, classes and quotes: aliases can refer to each other.
const MAX_INDIRECTIONS: u32 = 16;
/// Maximum length of an annotation in a message, in characters.
const MAX_SHOWN: usize = 60;

/// The context of an annotation.
pub(crate) struct Context<'a> {
    names: &'a Names<'a>,
    /// Type parameters of the function itself.
    own: &'a [&'a str],
    usage: Use,
    steps: Cell<u32>,
}

/// What is known about a type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Json(&'static str),
    NotJson,
    Unknown,
}

/// The JSON type of an annotation in the module `text`.
pub(crate) fn kind(
    expression: &Expr,
    text: &str,
    names: &Names<'_>,
    own: &[&str],
    usage: Use,
) -> PythonType {
    let context = Context { names, own, usage, steps: Cell::new(0) };
    match context.known(expression, 0) {
        Known::Json(word) => PythonType::Json(word),
        Known::Unknown => PythonType::Unknown,
        Known::NotJson => {
            let range = expression.range();
            let written = match expression {
                Expr::StringLiteral(quoted) => quoted.value.to_str(),
                _ => text.get(range.start().to_usize()..range.end().to_usize()).unwrap_or_default(),
            };
            PythonType::NotJson(shorten(written, MAX_SHOWN))
        }
    }
}

/// The meaning of the head of an annotation.
enum Head<'a> {
    /// A built-in, or a name of `typing` and similar modules.
    Word(&'a str),
    NotJson,
    Foreign,
    Class(&'a StmtClassDef),
    Alias(&'a Expr),
    TypeParameter,
}

impl<'a> Context<'a> {
    fn known(&self, expression: &Expr, indirections: u32) -> Known {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MAX_STEPS || indirections > MAX_INDIRECTIONS {
            return Known::Unknown;
        }
        match expression {
            Expr::NoneLiteral(_) => Known::Json("null"),
            Expr::StringLiteral(quoted) => self.quoted(quoted.value.to_str(), indirections),
            Expr::Name(_) | Expr::Attribute(_) => match self.head(expression) {
                Head::Word(word) => self.word(word),
                head => self.definition(&head, indirections),
            },
            Expr::Subscript(subscript) => self.generic(subscript, indirections),
            Expr::BinOp(union) if union.op == Operator::BitOr => {
                let mut members = vec![self.known(&union.right, indirections)];
                let mut left = &*union.left;
                while let Expr::BinOp(inner) = left
                    && inner.op == Operator::BitOr
                {
                    members.push(self.known(&inner.right, indirections));
                    left = &inner.left;
                }
                members.push(self.known(left, indirections));
                self.union(&members)
            }
            _ => Known::Unknown,
        }
    }

    fn quoted(&self, text: &str, indirections: u32) -> Known {
        // Brackets inside quotes were not counted when the nesting was checked.
        if nesting::check(text).is_err() {
            return Known::Unknown;
        }
        parse_expression(text)
            .map_or(Known::Unknown, |parsed| self.known(parsed.expr(), indirections + 1))
    }

    fn head<'e>(&self, expression: &'e Expr) -> Head<'e>
    where
        'a: 'e,
    {
        match expression {
            Expr::Name(name) => {
                let name = name.id.as_str();
                if self.own.contains(&name) {
                    return Head::TypeParameter;
                }
                match self.names.get(name) {
                    None => Head::Word(name),
                    Some(Meaning::Known(word)) => Head::Word(word),
                    Some(Meaning::NotJson) => Head::NotJson,
                    Some(Meaning::Foreign) => Head::Foreign,
                    Some(Meaning::Class(class)) => Head::Class(class),
                    Some(Meaning::Alias(alias)) => Head::Alias(alias),
                }
            }
            Expr::Attribute(attribute) => {
                let mut root = &*attribute.value;
                while let Expr::Attribute(inner) = root {
                    root = &inner.value;
                }
                let Expr::Name(root) = root else { return Head::Foreign };
                match self.names.get(root.id.as_str()) {
                    Some(Meaning::Known(_)) => Head::Word(attribute.attr.as_str()),
                    None if TYPING.contains(&root.id.as_str()) => {
                        Head::Word(attribute.attr.as_str())
                    }
                    Some(Meaning::NotJson) => Head::NotJson,
                    _ => Head::Foreign,
                }
            }
            _ => Head::Foreign,
        }
    }

    /// A name without a subscript.
    fn word(&self, word: &str) -> Known {
        match word {
            "str" | "Text" | "LiteralString" => Known::Json("string"),
            "int" => Known::Json("integer"),
            "float" => Known::Json("number"),
            "bool" => Known::Json("boolean"),
            "list" | "List" | "tuple" | "Tuple" | "Sequence" | "MutableSequence" | "NamedTuple" => {
                Known::Json("array")
            }
            "dict" | "Dict" | "Mapping" | "MutableMapping" | "OrderedDict" | "defaultdict"
            | "DefaultDict" | "Counter" | "TypedDict" => Known::Json("object"),
            "NoneType" => Known::Json("null"),
            // A list is iterable, so an iterable parameter accepts an array; a returned iterable
            // may be a set.
            "Iterable" | "Collection" | "Container" | "Reversible" => match self.usage {
                Use::Parameter => Known::Json("array"),
                Use::Return => Known::Unknown,
            },
            "Any" | "object" | "AnyStr" | "Never" | "NoReturn" | "Self" | "Union" | "Optional"
            | "Annotated" | "Literal" | "Awaitable" | "Coroutine" => Known::Unknown,
            "set" | "Set" | "frozenset" | "FrozenSet" | "bytes" | "bytearray" | "memoryview"
            | "complex" | "type" | "Type" | "Callable" | "Path" | "datetime" | "date"
            | "Decimal" | "UUID" => Known::NotJson,
            _ => self.foreign(),
        }
    }

    /// A type of another module, which is not inspected. It may be JSON, so a parameter gets the
    /// benefit of the doubt; for a return value GAIA §5.4 requires certainty.
    fn foreign(&self) -> Known {
        match self.usage {
            Use::Parameter => Known::Unknown,
            Use::Return => Known::NotJson,
        }
    }

    fn definition(&self, head: &Head<'_>, indirections: u32) -> Known {
        match head {
            Head::Word(word) => self.word(word),
            Head::NotJson => Known::NotJson,
            Head::Foreign => self.foreign(),
            Head::TypeParameter => Known::Unknown,
            Head::Class(class) => self.class(class, indirections),
            Head::Alias(alias) => self.alias(alias, indirections),
        }
    }

    /// A class of the module is JSON if one of its bases is: `TypedDict`, `dict`, or `str` with
    /// `Enum`.
    fn class(&self, class: &StmtClassDef, indirections: u32) -> Known {
        let is_dataclass = class.decorator_list.iter().any(|decorator| {
            let name = match &decorator.expression {
                Expr::Call(call) => &call.func,
                name => name,
            };
            matches!(self.head(name), Head::Word("dataclass"))
        });
        if is_dataclass {
            return Known::Unknown;
        }
        let bases = class.arguments.iter().flat_map(|arguments| arguments.args.iter());
        bases
            .map(|base| match self.head(base) {
                Head::Word("StrEnum") => Known::Json("string"),
                Head::Word("IntEnum" | "IntFlag") => Known::Json("integer"),
                _ => self.known(base, indirections + 1),
            })
            .find(|known| matches!(known, Known::Json(_)))
            .unwrap_or(Known::NotJson)
    }

    /// The right side of `Name = …`.
    fn alias(&self, value: &Expr, indirections: u32) -> Known {
        let Expr::Call(call) = value else { return self.known(value, indirections + 1) };
        match self.head(&call.func) {
            Head::Word("TypeVar" | "ParamSpec" | "TypeVarTuple") => Known::Unknown,
            Head::Word("TypedDict") => Known::Json("object"),
            Head::Word("namedtuple" | "NamedTuple") => Known::Json("array"),
            Head::Word("NewType") => match call.arguments.args.get(1) {
                Some(base) => self.known(base, indirections + 1),
                None => Known::Unknown,
            },
            _ => self.foreign(),
        }
    }

    /// A name with a subscript.
    fn generic(&self, subscript: &ExprSubscript, indirections: u32) -> Known {
        let arguments = match &*subscript.slice {
            Expr::Tuple(tuple) => tuple.elts.as_slice(),
            single => std::slice::from_ref(single),
        };
        let argument = |at: usize| {
            arguments.get(at).map_or(Known::Unknown, |argument| self.known(argument, indirections))
        };
        let head = self.head(&subscript.value);
        let Head::Word(word) = head else { return self.definition(&head, indirections) };
        match word {
            "Optional" | "Annotated" | "Required" | "NotRequired" | "ReadOnly" | "Final"
            | "ClassVar" | "Awaitable" => argument(0),
            // The awaited value comes last: `Coroutine[Yields, Sends, Returns]`.
            "Coroutine" => argument(2),
            "Union" => {
                let members: Vec<Known> =
                    arguments.iter().map(|member| self.known(member, indirections)).collect();
                self.union(&members)
            }
            "Literal" => self.union(&arguments.iter().map(literal).collect::<Vec<_>>()),
            _ => match self.word(word) {
                Known::Json(container @ ("array" | "object")) if self.usage == Use::Return => {
                    let holds_other = arguments
                        .iter()
                        .any(|argument| self.known(argument, indirections) == Known::NotJson);
                    // A list can't be the key of an object; numbers and booleans become text.
                    let odd_key = container == "object"
                        && matches!(argument(0), Known::Json("array" | "object"));
                    if holds_other || odd_key { Known::NotJson } else { Known::Json(container) }
                }
                known => known,
            },
        }
    }

    /// A union. `None` is ignored if there are other members, because an absent value has no type.
    fn union(&self, members: &[Known]) -> Known {
        let null = Known::Json("null");
        let mut rest = members.iter().copied().filter(|member| *member != null);
        let Some(first) = rest.next() else { return null };
        let rest: Vec<Known> = rest.collect();
        let all =
            |wanted: &dyn Fn(Known) -> bool| wanted(first) && rest.iter().copied().all(wanted);
        let any_not_json = !all(&|member| member != Known::NotJson);
        if self.usage == Use::Return && any_not_json {
            Known::NotJson
        } else if all(&|member| member == first) {
            first
        } else if all(&|member| matches!(member, Known::Json("integer" | "number"))) {
            Known::Json("number")
        } else {
            Known::Unknown
        }
    }
}

/// A member of `Literal[…]`.
fn literal(value: &Expr) -> Known {
    match value {
        Expr::StringLiteral(_) => Known::Json("string"),
        Expr::BooleanLiteral(_) => Known::Json("boolean"),
        Expr::NoneLiteral(_) => Known::Json("null"),
        Expr::BytesLiteral(_) => Known::NotJson,
        Expr::NumberLiteral(number) if matches!(number.value, Number::Int(_)) => {
            Known::Json("integer")
        }
        Expr::UnaryOp(negative) if negative.operand.is_number_literal_expr() => {
            Known::Json("integer")
        }
        _ => Known::Unknown,
    }
}
