//! Runs the commands of a Markdown page, in order, through a real shell in a temporary home.
//!
//! - A fence `sh` holds commands, one per line. Each has to succeed.
//! - A fence `console` holds commands after `$ `, each followed by what it prints; without that, only success counts. In it,
//!   a line `…` stands for any lines, and `…` within a line for any text.
//!
//! A comment directly above a fence, which no reader sees, says what is different about it:
//!
//! - `<!-- not run: REASON -->` leaves it out. The test counts these.
//! - `<!-- exits with N -->` says how each of its commands ends, unless it ends well.
//! - `<!-- answers: TEXT -->` runs it on a terminal where each question is answered with that text.
//! - `<!-- file: PATH -->` writes its content to a file: what the page asks its reader to have.

use std::fmt::Write as _;
use std::path::Path;

use prowess_testkit::Scene;

/// What a page made of the commands in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Commands that were run.
    pub(crate) run: usize,
    /// Reasons of fences that were not run.
    pub(crate) not_run: Vec<String>,
}

/// How a fence is treated.
#[derive(Debug, Default)]
struct Directive {
    not_run: Option<String>,
    exit: i32,
    answers: Option<String>,
    file: Option<String>,
}

/// A command of a page.
#[derive(Debug)]
struct Example {
    line: usize,
    command: String,
    expected: Vec<String>,
    exit: i32,
    answers: Option<String>,
}

/// A part of a page that the test acts on.
enum Part {
    File { path: String, content: String },
    Run(Example),
    NotRun(String),
}

/// A scene for a page: `work`, in which its reader stands, a home, and a shell with `prowess` on `PATH`.
pub(crate) fn page_scene(variables: &[(&str, &str)]) -> Scene {
    let scene = Scene::new("/bin/sh").home("home").copy("examples", "work/examples").inside("work");
    let bin = scene.path().join("bin");
    std::fs::create_dir_all(&bin).expect("a folder can be made");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_prowess"), bin.join("prowess")).expect("a link");
    let path = std::env::var("PATH").unwrap_or_default();
    let scene = scene.variable("PATH", &format!("{}:{path}", bin.display()));
    let scene = scene.variable("GIT_CONFIG_GLOBAL", "/dev/null").variable("NO_COLOR", "1");
    variables.iter().fold(scene, |scene, (name, value)| scene.variable(name, value))
}

/// Runs commands that prepare a scene. A page does not show them.
pub(crate) fn prepare(scene: &Scene, script: &str) {
    let output = scene.output(&["-ec", script], "");
    assert!(output.status.success(), "the scene can't be prepared: {script}\n{output:?}");
}

/// Runs all commands of a page, and reports all that do not give what it says.
pub(crate) fn run_page(name: &str, text: &str, scene: &Scene) -> Tally {
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    for part in parts(name, text) {
        match part {
            Part::NotRun(reason) => tally.not_run.push(reason),
            Part::File { path, content } => write(scene, &path, &content),
            Part::Run(example) => {
                tally.run += 1;
                if let Err(problem) = run(scene, &example) {
                    let Example { line, command, .. } = &example;
                    failures.push(format!("{name}:{line}: {command}\n{problem}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} commands fail:\n\n{}", failures.len(), failures.join("\n"));
    tally
}

fn write(scene: &Scene, path: &str, content: &str) {
    let path = match path.strip_prefix("~/") {
        Some(below) => scene.path().join("home").join(below),
        None => scene.path().join("work").join(path),
    };
    let folder = path.parent().expect("a file has a folder");
    std::fs::create_dir_all(folder).expect("a folder can be made");
    std::fs::write(&path, content).expect("a file can be written");
}

fn parts(name: &str, text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut directive = Directive::default();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let marks = line.bytes().take_while(|byte| *byte == b'`').count();
        if marks < 3 {
            if let Some(read) = read_directive(line, directive) {
                directive = read;
                continue;
            }
            directive = Directive::default();
            continue;
        }
        let fence = "`".repeat(marks);
        let language = &line[marks..];
        let inside: Vec<(usize, &str)> =
            lines.by_ref().take_while(|(_, line)| *line != fence).collect();
        let place = format!("{name}:{}", at + 1);
        fence_parts(&place, language, &inside, std::mem::take(&mut directive), &mut parts);
    }
    parts
}

/// A comment with a directive, added to those above it; `None` for any other line.
fn read_directive(line: &str, mut directive: Directive) -> Option<Directive> {
    let text = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    if let Some(reason) = text.strip_prefix("not run: ") {
        assert!(reason.split_whitespace().count() > 1, "`{line}` needs a reason");
        directive.not_run = Some(reason.to_owned());
    } else if let Some(code) = text.strip_prefix("exits with ") {
        directive.exit = code.parse().unwrap_or_else(|_| panic!("`{line}` needs a number"));
    } else if let Some(answer) = text.strip_prefix("answers: ") {
        directive.answers = Some(answer.to_owned());
    } else if let Some(path) = text.strip_prefix("file: ") {
        directive.file = Some(path.to_owned());
    } else {
        return None;
    }
    Some(directive)
}

fn fence_parts(
    place: &str,
    language: &str,
    inside: &[(usize, &str)],
    directive: Directive,
    parts: &mut Vec<Part>,
) {
    if let Some(path) = directive.file {
        let content = inside.iter().fold(String::new(), |text, (_, line)| text + line + "\n");
        parts.push(Part::File { path, content });
        return;
    }
    let is_command = |line: &str| line.starts_with("$ ") || line.starts_with("prowess ");
    let is_shell = matches!(language, "sh" | "console");
    if let Some(reason) = directive.not_run {
        assert!(is_shell, "{place}: only commands need a reason for not being run");
        parts.push(Part::NotRun(reason));
        return;
    }
    if !is_shell {
        let hidden = inside.iter().find(|(_, line)| is_command(line));
        assert!(hidden.is_none() || !language.is_empty(), "{place}: label it `console` or `sh`");
        return;
    }
    let example = |line: usize, command: &str| Example {
        line: line + 1,
        command: command.to_owned(),
        expected: Vec::new(),
        exit: directive.exit,
        answers: directive.answers.clone(),
    };
    let mut current: Option<Example> = None;
    for (at, line) in inside {
        let continued =
            current.as_mut().filter(|example| example.command.ends_with('\\') && !line.is_empty());
        if let Some(example) = continued {
            let _ = write!(example.command, "\n{line}");
            continue;
        }
        let is_note = line.trim().is_empty() || line.starts_with('#');
        let command =
            if language == "sh" { (!is_note).then_some(*line) } else { line.strip_prefix("$ ") };
        match (command, current.as_mut()) {
            (Some(command), _) => {
                parts.extend(current.replace(example(*at, command)).map(Part::Run));
            }
            (None, Some(example)) if language == "console" => {
                example.expected.push((*line).to_owned());
            }
            (None, None) if language == "console" => {
                panic!("{place}: `{line}` belongs to no command")
            }
            _ => {}
        }
    }
    parts.extend(current.map(Part::Run));
}

/// Programs that pages use and that not every machine has.
const OPTIONAL: &[&str] = &["jq"];

/// An optional program that a command needs and this machine lacks.
fn missing_program(command: &str) -> Option<&'static str> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_here =
        |name: &str| std::env::split_paths(&folders).any(|folder| folder.join(name).is_file());
    let is_named = |name: &str| command.split_whitespace().any(|word| word == name);
    OPTIONAL.iter().copied().find(|name| is_named(name) && !is_here(name))
}

/// Runs a command where the one before it left the shell: its folder and its variables are kept.
#[expect(clippy::print_stderr, reason = "a command that is skipped says so")]
fn run(scene: &Scene, example: &Example) -> Result<(), String> {
    if let Some(program) = missing_program(&example.command) {
        eprintln!("SKIPPED `{}`: `{program}` is not installed", example.command);
        return Ok(());
    }
    let state = scene.path().join("state");
    std::fs::create_dir_all(&state).expect("a folder can be made");
    let script = format!(
        "test ! -e '{state}/variables' || . '{state}/variables'\n\
         test ! -e '{state}/folder' || cd \"$(cat '{state}/folder')\"\n\
         {command}\n\
         code=$?\nexport -p > '{state}/variables'\npwd > '{state}/folder'\nexit $code\n",
        state = state.display(),
        command = example.command,
    );
    let (code, printed) = match &example.answers {
        None => {
            let output = scene.output(&["-c", &script], "");
            let texts =
                [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
            (output.status.code(), texts.concat())
        }
        Some(answer) => {
            let typed = format!("{answer}\n").repeat(8);
            let screen = scene.run_on_terminal(&["-c", &script], &typed);
            let (code, text) = screen.split_once("\n--- terminal\n").unwrap_or((&screen, ""));
            (code.strip_prefix("exit ").and_then(|code| code.parse().ok()), text.to_owned())
        }
    };
    let printed = for_readers(&printed, scene.path());
    let expected = example.expected.join("\n");
    if code != Some(example.exit) && !(expected.starts_with("error") && code != Some(0)) {
        let wanted = example.exit;
        return Err(format!(
            "  expected exit code {wanted}, got {code:?}; it printed:\n{}",
            indented(&printed)
        ));
    }
    differing(&example.expected, &printed).map_or(Ok(()), |line| {
        Err(format!(
            "  expected:\n{}\n  but this line is missing, or has others before it: {line}\n  got:\n{}",
            indented(&expected),
            indented(&printed)
        ))
    })
}

/// The output with the paths that a page shows instead of those of the test.
fn for_readers(printed: &str, scene: &Path) -> String {
    let place = scene.display().to_string();
    printed
        .replace(&format!("{place}/home"), "/home/ada")
        .replace(&format!("{place}/work/"), "")
        .replace(&place, "[SCENE]")
}

fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |text, line| text + "    " + line + "\n")
}

/// The first expected line that was not printed; `None` if all were, in order and with nothing else but what `…` stands for.
fn differing(expected: &[String], printed: &str) -> Option<String> {
    if expected.is_empty() {
        return None;
    }
    let mut rest: Vec<&str> = printed.lines().collect();
    rest.reverse();
    let mut may_skip = false;
    for line in expected {
        if line == "…" {
            may_skip = true;
            continue;
        }
        loop {
            let Some(next) = rest.pop() else { return Some(line.clone()) };
            if is_like(line.trim_end(), next.trim_end()) {
                break;
            }
            if !may_skip {
                return Some(line.clone());
            }
        }
        may_skip = false;
    }
    let more = rest.iter().rev().find(|line| !line.trim().is_empty());
    more.filter(|_| !may_skip).map(|line| format!("(nothing more, but it printed `{line}`)"))
}

/// Whether a line is as expected, where `…` is any text.
fn is_like(expected: &str, printed: &str) -> bool {
    let mut pieces = expected.split('…');
    let Some(mut rest) = printed.strip_prefix(pieces.next().unwrap_or_default()) else {
        return false;
    };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, between)) = pieces.split_last() else { return rest.is_empty() };
    for piece in between {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn an_ellipsis_stands_for_anything_and_nothing_else_does() {
    let expect = |lines: &[&str], printed: &str| {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        differing(&lines, printed).is_none()
    };
    assert!(expect(&["a", "b"], "a\nb\n") && expect(&[], "anything"));
    assert!(expect(&["a", "…"], "a\nb\nc") && expect(&["…", "c"], "a\nb\nc"));
    assert!(expect(&["score … of …"], "score 2.1 of 3"));
    assert!(!expect(&["a"], "a\nb") && !expect(&["b"], "a\nb") && !expect(&["a", "c"], "a\nb\nc"));
    assert!(!expect(&["…", "d"], "a\nb\nc") && !expect(&["score … of 4"], "score 2.1 of 3"));
}
