//! Declared tools compared with the functions of a real `tools.py` (GAIA §5.4).

mod written;

use insta::assert_snapshot;
use prowess_format::diagnostic::Severity;
use prowess_format::python::{PythonError, PythonModule};
use prowess_format::rules::{SkillFiles, SkillLocation};
use prowess_format::span::LineIndex;
use prowess_format::{ReadOptions, check};

/// A directory with a SKILL.md and an optional `tools.py`.
struct Directory {
    python: Option<Result<PythonModule, PythonError>>,
}

impl SkillFiles for Directory {
    fn exists(&self, path: &str) -> bool {
        path == "tools.py" && self.python.is_some()
    }

    fn python(&self) -> Option<&Result<PythonModule, PythonError>> {
        self.python.as_ref()
    }
}

/// The warnings and errors of a check with `--strict`, one per line.
fn problems(skill: &str, tools: Option<&str>, name: &str) -> String {
    let directory = Directory { python: tools.map(prowess_python::read) };
    let place = SkillLocation { directory: Some(name), files: Some(&directory) };
    let checked = check(skill, ReadOptions { place, ..ReadOptions::DETECT });
    let lines = checked.diagnostics.iter().filter_map(|diagnostic| {
        let severity = diagnostic.effective(true);
        let (file, text) = match (&diagnostic.file, tools) {
            (Some(file), Some(tools)) => (file.as_str(), tools),
            (Some(file), None) => (file.as_str(), ""),
            (None, _) => ("SKILL.md", skill),
        };
        let position = LineIndex::new(text).position(text, diagnostic.span.start as usize);
        let help = diagnostic.help.as_deref().unwrap_or("-");
        (severity > Severity::Info).then(|| {
            format!(
                "  {file}:{}:{} {} {}: {} ({help})",
                position.line,
                position.column,
                severity.as_str(),
                diagnostic.rule.name,
                diagnostic.message
            )
        })
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The problems of every fixture below a folder of `fixtures/gaia`.
fn problems_below(folder: &str) -> String {
    let root = prowess_testkit::fixtures().join("gaia").join(folder);
    let skills = prowess_testkit::files_below(&root, &|name| name == "SKILL.md");
    assert!(!skills.is_empty(), "there are fixtures in {folder}");
    let read = |path: &std::path::Path| String::from_utf8(prowess_testkit::bytes(path)).unwrap();
    let reports = skills.iter().map(|path| {
        let directory = path.parent().unwrap();
        let name = directory.file_name().unwrap().to_str().unwrap();
        let beside = prowess_testkit::files_below(directory, &|name| name == "tools.py");
        let tools = beside.first().map(|path| read(path));
        format!("{name}\n{}", problems(&read(path), tools.as_deref(), name)).trim_end().to_owned()
    });
    reports.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_examples_of_the_specification_match_their_tools() {
    let found = ["2.1", "appendix-a", "gaix-1", "edge/GAIA-5.4-1"].map(problems_below).join("\n");
    assert_snapshot!(found, @"
    web-search
    hello-world
    metadata-gaia
    crlf-tools-py
    every-annotation
    ");
}

#[test]
fn a_declared_tool_needs_a_decorated_function() {
    // GAIA-5.1-2
    assert_snapshot!(problems_below("invalid/GAIA-5.1-2"), @"
    function-missing
      SKILL.md:11:11 error missing-tool-function: `tools.py` has no function `count_words` (add `@tool` and `def count_words(…)` to `tools.py`)
    function-not-decorated
      tools.py:6:5 error missing-tool-function: `count_words` is declared as a tool but not decorated with `@tool` (write `@tool` on the line above `def`)
    function-only-in-a-string
      SKILL.md:11:11 error missing-tool-function: `tools.py` has no function `count_words` (add `@tool` and `def count_words(…)` to `tools.py`)
    method-not-function
      SKILL.md:11:11 error missing-tool-function: `tools.py` has no function `count_words` (add `@tool` and `def count_words(…)` to `tools.py`)
    no-tools-py
      SKILL.md:11:11 error missing-tools-file: tools are declared, but there is no `tools.py` (add `tools.py` with a function for each tool, decorated with `@tool`)
    syntax-error
      tools.py:7:57 error invalid-python: expected `:`, found newline (fix the syntax at this position)
    ");
}

#[test]
fn parameters_match_the_signature() {
    // GAIA-5.4-1
    assert_snapshot!(problems_below("invalid/GAIA-5.4-1"), @"
    optional-without-default
      SKILL.md:15:7 error parameter-mismatch: `unique` is optional, but the function has no default for it (write `unique=None` in the function, or `required: true`)
    parameter-missing
      SKILL.md:15:7 error parameter-mismatch: `count_words` takes no parameter `unique` (add it to `def count_words(…)`, or remove it from `tools:`)
    parameter-renamed
      SKILL.md:14:7 error parameter-mismatch: `count_words` takes no parameter `text` (add it to `def count_words(…)`, or remove it from `tools:`)
      tools.py:7:17 error parameter-mismatch: `count_words` needs `content`, which the front matter does not declare (declare it under `parameters:`)
    parameter-type-differs
      SKILL.md:14:20 error parameter-mismatch: `text` is integer in `tools.py` and string in the front matter (make the two types the same)
    parameter-undeclared
      tools.py:7:28 error parameter-mismatch: `count_words` needs `language`, which the front matter does not declare (declare it under `parameters:`)
    parameter-without-annotation
      tools.py:7:17 warning missing-annotation: `text` has no annotation (write `text: str`, or another type)
    ");
}

#[test]
fn tools_have_docstrings_and_return_json() {
    // GAIA-5.4-2
    assert_snapshot!(problems_below("invalid/GAIA-5.4-2"), @"
    no-docstring
      tools.py:7:5 error missing-docstring: `count_words` has no docstring (describe in one line what it does, in triple quotes below `def`)
    returns-bytes
      tools.py:7:5 error unserializable-return: `count_words` returns `bytes`, which is not JSON (return a `dict`, a `list`, `str`, `int`, `float`, `bool` or `None`)
    returns-nothing-declared
      tools.py:7:5 warning missing-annotation: `count_words` has no return annotation (write `-> dict`, or another type)
    returns-set
      tools.py:7:5 error unserializable-return: `count_words` returns `set`, which is not JSON (return a `dict`, a `list`, `str`, `int`, `float`, `bool` or `None`)
    ");
}

#[test]
fn a_valid_tools_py_adds_no_problems() {
    let folders = [
        "R55",
        "GAIA-2.2-1",
        "GAIA-2.2-2",
        "GAIA-2.2-4",
        "GAIA-2.2-5",
        "GAIA-2.3-1",
        "GAIA-3-1",
        "GAIA-10.2-2",
    ];
    let report = folders.map(|folder| problems_below(&format!("invalid/{folder}"))).join("\n");
    let rules = [
        "invalid-python",
        "missing-tool-function",
        "missing-tools-file",
        "parameter-mismatch",
        "missing-docstring",
        "unserializable-return",
    ];
    for rule in rules {
        assert!(!report.contains(&format!(" {rule}: ")), "{report}");
    }
}
