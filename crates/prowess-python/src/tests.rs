//! Modules and the functions that are read from them.

use insta::assert_snapshot;
use prowess_format::python::PythonType;

use crate::{MAX_BYTES, read};

/// One line per function: whether it is a tool, its parameters and its return type.
fn outline(text: &str) -> String {
    let module = match read(text) {
        Ok(module) => module,
        Err(error) => return format!("{:?} {}", error.span, error.message),
    };
    let lines = module.functions.iter().map(|function| {
        assert_eq!(function.span.slice(text), function.name, "the span is that of the name");
        let parameters = function.parameters.iter().map(|parameter| {
            assert_eq!(parameter.span.slice(text), parameter.name);
            let default = if parameter.has_default { " = …" } else { "" };
            format!("{}: {}{default}", parameter.name, word(&parameter.kind))
        });
        let mut parameters: Vec<String> = parameters.collect();
        if function.takes_any_keyword {
            parameters.push("**".to_owned());
        }
        let tool = if function.is_tool { "@tool " } else { "" };
        let docstring = if function.has_docstring { " documented" } else { "" };
        let (name, returns) = (&function.name, word(&function.returns));
        format!("{tool}{name}({}) -> {returns}{docstring}", parameters.join(", "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn word(kind: &PythonType) -> String {
    match kind {
        PythonType::Unannotated => "-".to_owned(),
        PythonType::Unknown => "?".to_owned(),
        PythonType::Json(word) => (*word).to_owned(),
        PythonType::NotJson(annotation) => format!("not JSON `{annotation}`"),
    }
}

fn outlines(skills: &[&str]) -> String {
    let outlines = skills.iter().map(|skill| {
        format!(
            "{skill}\n{}",
            outline(&prowess_testkit::fixture(&format!("gaia/{skill}/tools.py")))
        )
    });
    outlines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_tools_of_the_specification_are_read() {
    assert_snapshot!(outlines(&["2.1/web-search", "appendix-a/hello-world"]), @"
    2.1/web-search
    @tool search_web(query: string, max_results: integer = …) -> object documented
    appendix-a/hello-world
    @tool greet(name: string) -> object documented
    ");
}

#[test]
fn every_spelling_of_decorators_and_annotations_is_read() {
    let skills = ["edge/GAIA-5.4-1/every-annotation", "edge/GAIA-5.4-1/crlf-tools-py"];
    assert_snapshot!(outlines(&skills), @"
    edge/GAIA-5.4-1/every-annotation
    @tool fetch_all(urls: array, limit: integer = …) -> object documented
    @tool scale(factor: number, names: array = …) -> array documented
    @tool describe(thing: object, note: string = …) -> string documented
    _helper(x: -) -> -
    edge/GAIA-5.4-1/crlf-tools-py
    @tool count_words(text: string, unique: boolean = …) -> object documented
    ");
}

#[test]
fn a_decorated_function_is_a_tool() {
    assert_snapshot!(outline(r"
from gaia.agents.base.tools import tool as offered
from gaia.agents.base import tools
import gaia.agents.base.tools as toolbox

@tool
def plain(): ...
@tool()
def called(): ...
@tools.tool
def dotted(): ...
@toolbox.tool(atomic=True)
async def dotted_and_called(): ...
@offered
def renamed(): ...
@retry(3)
@offered(atomic=True)
def below_another(): ...
@tool.register
def another_decorator(): ...
@toolkit
def similar_name(): ...
def bare(): ...
"), @"
    @tool plain() -> -
    @tool called() -> -
    @tool dotted() -> -
    @tool dotted_and_called() -> -
    @tool renamed() -> -
    @tool below_another() -> -
    another_decorator() -> -
    similar_name() -> -
    bare() -> -
    ");
}

#[test]
fn functions_defined_on_import_are_read() {
    assert_snapshot!(outline(r#"
try:
    from gaia.agents.base.tools import tool
except ImportError:
    def tool(function):
        return function
if True:
    @tool
    def in_a_branch(): ...
else:
    @tool
    def in_the_other(): ...
with open("x") as f:
    @tool
    def in_a_block(): ...
class Tools:
    @tool
    def method(self): ...
def outer():
    @tool
    def inner(): ...
for x in y:
    @tool
    def repeated(): ...
"""
@tool
def in_a_string(): ...
"""
"#), @"
    tool(function: -) -> -
    @tool in_a_branch() -> -
    @tool in_the_other() -> -
    @tool in_a_block() -> -
    outer() -> -
    ");
}

#[test]
fn a_docstring_is_a_plain_string_that_is_not_blank() {
    assert_snapshot!(outline(r#"
def documented():
    """Does it."""
def raw():
    r'Does it.'
def joined():
    "Does" " it."
def on_one_line(): "Does it."
def blank():
    """   """
def computed():
    f"Does {it}."
def bytes_only():
    b"Does it."
def late():
    x = 1
    """Does it."""
"#), @"
    documented() -> - documented
    raw() -> - documented
    joined() -> - documented
    on_one_line() -> - documented
    blank() -> -
    computed() -> -
    bytes_only() -> -
    late() -> -
    ");
}

#[test]
fn parameters_are_those_that_a_caller_passes() {
    assert_snapshot!(outline(r"
def every(a, /, b: int, *args: str, c: bool, d: str = 'x', **kwargs: int): ...
def bound(self, a: int): ...
def of_a_class(cls, a: int): ...
def not_bound(a: int, self: str): ...
def variadic(*args): ...
"), @"
    every(a: -, b: integer, c: boolean, d: string = …, **) -> -
    bound(a: integer) -> -
    of_a_class(a: integer) -> -
    not_bound(a: integer, self: string) -> -
    variadic() -> -
    ");
}

/// The types of `def f(x: annotation) -> annotation` after a preamble, as a parameter and as a return value.
fn types(preamble: &str, annotations: &[&str]) -> String {
    let lines = annotations.iter().map(|annotation| {
        let text = format!("{preamble}\ndef f(x: {annotation}) -> {annotation}: ...\n");
        let module = read(&text).unwrap_or_else(|error| panic!("{annotation}: {error:?}"));
        let function = &module.functions[0];
        let (taken, returned) = (word(&function.parameters[0].kind), word(&function.returns));
        if taken == returned {
            format!("{annotation}: {taken}")
        } else {
            format!("{annotation}: takes {taken}, returns {returned}")
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn annotations_become_json_types() {
    assert_snapshot!(types(
        "import typing as t\nfrom typing import *\nfrom collections.abc import Sequence as Seq\nfrom typing import List as L",
        &[
            "str", "int", "float", "bool", "None", "list", "tuple", "dict", "List[str]", "list[int]",
            "L[str]", "Seq[int]", "Sequence", "tuple[int, ...]", "Dict[str, Any]", "Mapping[str, int]",
            "typing.Dict", "t.Optional[int]", "Optional[str]", "str | None", "None | str",
            "Union[str, None]", "Union[int, float]", "int | str", "Any", "object",
            "Literal['a', 'b']", "Literal[1, -2]", "Literal[True]", "Literal['a', None]",
            "Literal['a', 1]", "Annotated[int, 'metres']", "'int'", "\"Optional['list[str]']\"",
            "Iterable[str]",
        ],
    ), @r#"
    str: string
    int: integer
    float: number
    bool: boolean
    None: null
    list: array
    tuple: array
    dict: object
    List[str]: array
    list[int]: array
    L[str]: array
    Seq[int]: array
    Sequence: array
    tuple[int, ...]: array
    Dict[str, Any]: object
    Mapping[str, int]: object
    typing.Dict: object
    t.Optional[int]: integer
    Optional[str]: string
    str | None: string
    None | str: string
    Union[str, None]: string
    Union[int, float]: number
    int | str: ?
    Any: ?
    object: ?
    Literal['a', 'b']: string
    Literal[1, -2]: integer
    Literal[True]: boolean
    Literal['a', None]: string
    Literal['a', 1]: ?
    Annotated[int, 'metres']: integer
    'int': integer
    "Optional['list[str]']": array
    Iterable[str]: takes array, returns ?
    "#);
}

#[test]
fn types_without_json_representation_are_named() {
    assert_snapshot!(types(
        "from pathlib import Path\nimport datetime\nfrom datetime import datetime as moment\nimport numpy as np\nfrom elsewhere import Thing\nfrom .nearby import Other\nclass Mine: ...",
        &[
            "set", "frozenset[str]", "bytes", "complex", "Path", "datetime.date", "moment", "np.ndarray",
            "Mine", "'Mine'", "Thing", "Other", "elsewhere.Thing", "NeverDefined", "Callable[[int], str]",
            "type[int]", "list[bytes]", "dict[str, Path]", "dict[tuple[int, int], str]", "dict[int, str]",
            "Optional[Path]", "str | Path", "set | bytes", "Iterator[str]",
        ],
    ), @"
    set: not JSON `set`
    frozenset[str]: not JSON `frozenset[str]`
    bytes: not JSON `bytes`
    complex: not JSON `complex`
    Path: not JSON `Path`
    datetime.date: not JSON `datetime.date`
    moment: not JSON `moment`
    np.ndarray: not JSON `np.ndarray`
    Mine: not JSON `Mine`
    'Mine': not JSON `Mine`
    Thing: takes ?, returns not JSON `Thing`
    Other: takes ?, returns not JSON `Other`
    elsewhere.Thing: takes ?, returns not JSON `elsewhere.Thing`
    NeverDefined: takes ?, returns not JSON `NeverDefined`
    Callable[[int], str]: not JSON `Callable[[int], str]`
    type[int]: not JSON `type[int]`
    list[bytes]: takes array, returns not JSON `list[bytes]`
    dict[str, Path]: takes object, returns not JSON `dict[str, Path]`
    dict[tuple[int, int], str]: takes object, returns not JSON `dict[tuple[int, int], str]`
    dict[int, str]: object
    Optional[Path]: not JSON `Optional[Path]`
    str | Path: takes ?, returns not JSON `str | Path`
    set | bytes: not JSON `set | bytes`
    Iterator[str]: takes ?, returns not JSON `Iterator[str]`
    ");
}

#[test]
fn names_of_the_module_are_resolved() {
    assert_snapshot!(types(
        r#"
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NamedTuple, NewType, TypeAlias, TypedDict, TypeVar
T = TypeVar("T")
class Row(TypedDict):
    name: str
class LongRow(Row, total=False): ...
Column = TypedDict("Column", {"name": str})
class Pair(NamedTuple): ...
class Colour(str, Enum): ...
class Size(IntEnum): ...
class Plain(Enum): ...
class Bag(dict): ...
@dataclass
class Point: ...
@dataclass(frozen=True)
class Frozen: ...
UserId = NewType("UserId", int)
Json = dict[str, "Any"]
Rows: TypeAlias = "list[Row]"
type Matrix = list[list[float]]
Loop = Pool
Pool = Loop
made = make()
"#,
        &[
            "T", "Row", "LongRow", "Column", "Pair", "Colour", "Size", "Plain", "Bag", "Point", "Frozen",
            "UserId", "Json", "Rows", "Matrix", "Loop", "made", "list[Row]", "Row | None",
        ],
    ), @"
    T: ?
    Row: object
    LongRow: object
    Column: object
    Pair: array
    Colour: string
    Size: integer
    Plain: not JSON `Plain`
    Bag: object
    Point: ?
    Frozen: ?
    UserId: integer
    Json: object
    Rows: array
    Matrix: array
    Loop: ?
    made: takes ?, returns not JSON `made`
    list[Row]: array
    Row | None: object
    ");
    assert_snapshot!(outline("def f[T](x: T) -> T: ..."), @"f(x: ?) -> ?");
}

#[test]
fn invalid_python_is_an_error_with_a_position() {
    let broken = [
        "def f(:\n",
        "def f()\n    pass\n",
        "x = (1,\n",
        "x = )\n",
        "x = [1)\n",
        "'abc\n",
        "if x:\ny\n",
        "\0",
    ];
    let lines: Vec<String> =
        broken.iter().map(|text| format!("{text:?}: {}", outline(text))).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    "def f(:\n": 6..7 expected a parameter or the end of the parameter list
    "def f()\n    pass\n": 7..8 expected `:`, found newline
    "x = (1,\n": 8..8 unexpected EOF while parsing
    "x = )\n": 4..5 a closing bracket has no matching opening one
    "x = [1)\n": 6..7 a closing bracket has no matching opening one
    "'abc\n": 0..4 missing closing quote in string literal
    "if x:\ny\n": 6..7 expected an indented block after `if` statement
    "\0": 0..1 got unexpected token \u{0}
    "#);
}

#[test]
fn too_large_and_too_deep_files_are_refused() {
    let indented: Vec<String> =
        (0..150).map(|depth| format!("{}if x:", " ".repeat(depth))).collect();
    let too_much = [
        ("large", "#".repeat(MAX_BYTES + 1)),
        ("brackets", format!("x = {}{}", "[".repeat(201), "]".repeat(201))),
        ("open brackets", "(".repeat(100_000)),
        ("indentation", indented.join("\n")),
        ("sum", format!("x = 1{}", " + 1".repeat(2_000))),
        ("attributes", format!("x = y{}", ".z".repeat(2_000))),
        ("calls", format!("x = y{}", "()".repeat(2_000))),
        ("lambdas", format!("x = {}1", "lambda a, b: ".repeat(2_000))),
        ("unary", format!("x = {}1", "not ".repeat(2_000))),
        ("conditions", format!("x = {}1", "1 if x else ".repeat(2_000))),
        ("async", "async ".repeat(100_000)),
        ("skipped brackets", "[),".repeat(100_000)),
    ];
    let lines = too_much.iter().map(|(name, text)| format!("{name}: {}", outline(text)));
    assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @"
    large: 0..0 2097153 bytes exceed the limit of 2097152
    brackets: 204..205 expressions are nested too deeply
    open brackets: 200..201 expressions are nested too deeply
    indentation: 5650..5650 blocks are nested more than 100 deep
    sum: 4002..4003 expressions are nested too deeply
    attributes: 2003..2004 expressions are nested too deeply
    calls: 2003..2004 expressions are nested too deeply
    lambdas: 12996..12997 expressions are nested too deeply
    unary: 4002..4003 expressions are nested too deeply
    conditions: 6002..6003 expressions are nested too deeply
    async: 6001..6002 expressions are nested too deeply
    skipped brackets: 1..2 a closing bracket has no matching opening one
    ");
}

#[test]
fn wide_files_are_read() {
    let wide = [
        format!("x = [{}]", "-1, ".repeat(20_000)),
        format!("x = {{{}}}", "'a': b.c(d) if e else not f, ".repeat(5_000)),
        format!("x = ({})", "'text'\n".repeat(20_000)),
        "x = y + z\n".repeat(20_000),
        "def f(): ...\n".repeat(20_000),
        format!("x = {}{}", "[".repeat(200), "]".repeat(200)),
        format!("x = 1{}", " + 1".repeat(900)),
        format!("def f(x: {}int{}): ...", "list[".repeat(190), "]".repeat(190)),
        format!("def f(x: int{}): ...", " | int".repeat(900)),
    ];
    for text in wide {
        assert!(read(&text).is_ok(), "{}…: {}", &text[..40], outline(&text));
    }
}

#[test]
fn exponential_aliases_take_bounded_time() {
    let aliases: Vec<String> = (0..15)
        .map(|at| format!("A{at} = Union[{}]", format!("A{}, ", at + 1).repeat(100)))
        .collect();
    let text = format!("{}\nA15 = int\ndef f(x: A0) -> A0: ...\n", aliases.join("\n"));
    assert_snapshot!(outline(&text), @"f(x: ?) -> ?");
}
