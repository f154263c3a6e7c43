//! The only place that prints. stdout carries data that a pipe may want; stderr carries talk.
//!
//! Text from a skill is untrusted: control, bidirectional and zero-width characters never reach a terminal as they are.

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use prowess_format::diagnostic::Severity;
use prowess_format::text::{is_deceptive, visible, visible_line};
use serde_json::Value;

use crate::cli::Talk;
use crate::error::{Error, ErrorKind};
use crate::terminal::wrap::wrap;

/// Writes to both streams and remembers what went wrong there.
pub(crate) struct Printer {
    quiet: bool,
    verbose: bool,
    stdout: Stream,
    stderr: Stream,
    state: State,
    /// What has happened, whether it can be told or not.
    stands: Option<&'static str>,
    /// The warnings so far, where somebody wants them together.
    warned: Option<Vec<String>>,
}

/// What is on the other side of a stream.
#[derive(Clone, Copy)]
struct Stream {
    is_terminal: bool,
    colour: bool,
    /// The columns of a terminal.
    width: Option<usize>,
}

/// What a terminal has that does not say it.
const USUAL_WIDTH: usize = 80;

impl Stream {
    fn new(
        stream: &impl anstream::stream::RawStream,
        size: Option<(terminal_size::Width, terminal_size::Height)>,
    ) -> Self {
        // Terminals only, unless the user forces it; NO_COLOR and a dumb terminal turn it off.
        let choice = anstream::AutoStream::choice(stream);
        let is_terminal = stream.is_terminal();
        let width = size.map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0));
        Self {
            is_terminal,
            colour: choice != anstream::ColorChoice::Never,
            width: is_terminal.then_some(width),
        }
    }
}

/// How far in a line of talk goes on.
const TALK_INDENT: usize = 2;

/// One of the two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Whether stdout still takes something.
enum State {
    Open,
    /// The reader has left.
    Closed,
    Failed(io::Error),
}

impl Printer {
    /// A printer for this process's streams.
    pub(crate) fn new(talk: &Talk) -> Self {
        Self {
            quiet: talk.quiet,
            verbose: talk.verbose,
            stdout: Stream::new(&io::stdout(), terminal_size::terminal_size_of(io::stdout())),
            stderr: Stream::new(&io::stderr(), terminal_size::terminal_size_of(io::stderr())),
            state: State::Open,
            stands: None,
            warned: None,
        }
    }

    /// From here on warnings are also kept, for programs that get them with the result.
    pub(crate) fn keep_warnings(&mut self) {
        self.warned = Some(Vec::new());
    }

    /// The warnings that were kept.
    pub(crate) fn kept_warnings(&mut self) -> Vec<String> {
        self.warned.take().unwrap_or_default()
    }

    /// Remembers what has happened, for the case that the result can't be written.
    pub(crate) fn stands(&mut self, what: &'static str) {
        self.stands = Some(what);
    }

    /// Whether the user wants only the result.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether the user wants to hear more.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Whether results may be coloured.
    pub(crate) fn colour(&self) -> bool {
        self.stdout.colour
    }

    /// Whether somebody watches stderr, so that a progress bar makes sense.
    pub(crate) fn is_watched(&self) -> bool {
        self.stderr.is_terminal && !self.quiet
    }

    /// A result, byte for byte into a pipe or a file; made visible on a terminal.
    pub(crate) fn data(&mut self, text: &str) {
        if self.stdout.is_terminal {
            let text = visible_lines(text).into_owned();
            self.out(text.as_bytes());
        } else {
            self.out(text.as_bytes());
        }
    }

    /// A piece of what a tool prints: byte for byte into a pipe or a file, and at once. Text for a terminal has been made
    /// visible before, see [`Printer::is_terminal`].
    pub(crate) fn piece(&mut self, channel: Channel, bytes: &[u8]) {
        match channel {
            Channel::Out => {
                self.out(bytes);
                if matches!(self.state, State::Open)
                    && let Err(error) = io::stdout().lock().flush()
                {
                    self.stop(error);
                }
            }
            // Nobody can be told that stderr is gone.
            Channel::Err => drop(io::stderr().lock().write_all(bytes)),
        }
    }

    /// Whether a person looks at it.
    pub(crate) fn is_terminal(&self, channel: Channel) -> bool {
        match channel {
            Channel::Out => self.stdout.is_terminal,
            Channel::Err => self.stderr.is_terminal,
        }
    }

    /// How long a line may be; a pipe takes any.
    pub(crate) fn width(&self, channel: Channel) -> Option<usize> {
        match channel {
            Channel::Out => self.stdout.width,
            Channel::Err => self.stderr.width,
        }
    }

    /// A JSON value on a line of its own, for programs that read while something happens.
    pub(crate) fn json_line(&mut self, value: &Value) {
        let mut text = escaped_json(&value.to_string());
        text.push('\n');
        self.piece(Channel::Out, text.as_bytes());
    }

    /// A result that was made for reading and is safe already.
    pub(crate) fn report(&mut self, text: &str) {
        self.out(text.as_bytes());
    }

    /// A JSON result, two blanks a level. Deceptive characters are escaped, which JSON allows anywhere in its strings.
    pub(crate) fn json(&mut self, value: &Value) {
        let text = json_text(value);
        self.out(text.as_bytes());
    }

    /// Something worth knowing, unless `--quiet`.
    pub(crate) fn note(&mut self, message: &str) {
        if !self.quiet {
            self.talk("note", AnsiColor::Cyan, message);
        }
    }

    /// Something worth a second look, unless `--quiet`.
    pub(crate) fn warning(&mut self, message: &str) {
        if let Some(warned) = &mut self.warned {
            warned.push(message.to_owned());
        }
        if !self.quiet {
            self.talk("warning", AnsiColor::Yellow, message);
        }
    }

    /// Something that a conversion leaves behind, unless `--quiet`.
    pub(crate) fn loss(&mut self, field: &str, detail: &str) {
        if !self.quiet {
            self.talk(&format!("loss[{}]", inline(field)), AnsiColor::Yellow, detail);
        }
    }

    /// A plain line of talk, unless `--quiet`.
    pub(crate) fn say(&mut self, message: &str) {
        if !self.quiet {
            err(&format!("{}\n", wrap(&inline(message), TALK_INDENT, self.stderr.width)));
        }
    }

    /// What may help, unless `--quiet`.
    pub(crate) fn hint(&mut self, message: &str) {
        if !self.quiet {
            self.talk("hint", AnsiColor::Cyan, message);
        }
    }

    /// A failure with its hints; shown even under `--quiet`.
    pub(crate) fn error(&mut self, error: &Error) {
        self.talk("error", AnsiColor::Red, &error.message);
        for hint in &error.hints {
            self.talk("hint", AnsiColor::Cyan, hint);
        }
    }

    /// Findings of a verb whose result is something else: they go to stderr.
    pub(crate) fn talk_report(&mut self, render: impl FnOnce(bool) -> String) {
        err(&render(self.stderr.colour));
    }

    fn talk(&mut self, word: &str, colour: AnsiColor, message: &str) {
        let style = if self.stderr.colour { colour.on_default().bold() } else { Style::new() };
        let mut text = String::new();
        let lines = message.lines().chain(message.is_empty().then_some(""));
        for (number, line) in lines.enumerate() {
            let line = inline(line);
            let line = match number {
                0 => format!("{style}{word}{style:#}: {line}"),
                // What another program said over several lines. It stands further in, where it can't be taken for ours.
                _ => format!("{:TALK_INDENT$}{}", "", line.trim_start_matches(' ')),
            };
            text.push_str(&wrap(&line, TALK_INDENT, self.stderr.width));
            text.push('\n');
        }
        err(&text);
    }

    fn out(&mut self, bytes: &[u8]) {
        if matches!(self.state, State::Open)
            && let Err(error) = io::stdout().lock().write_all(bytes)
        {
            self.stop(error);
        }
    }

    /// Whether nothing that is printed arrives any more: the reader has gone, or the disk is full.
    pub(crate) fn is_closed(&self) -> bool {
        !matches!(self.state, State::Open)
    }

    /// A reader that has seen enough, as in `prowess … | head`, is no failure.
    fn stop(&mut self, error: io::Error) {
        self.state = if error.kind() == io::ErrorKind::BrokenPipe {
            State::Closed
        } else {
            State::Failed(error)
        };
    }

    /// Ends the process's output: everything is out, or an error says why not.
    pub(crate) fn finish(mut self, code: u8) -> ExitCode {
        if matches!(self.state, State::Open)
            && let Err(error) = io::stdout().lock().flush()
        {
            self.stop(error);
        }
        let State::Failed(failure) = &self.state else { return ExitCode::from(code) };
        let reason = prowess_core::system_reason(failure);
        let error = Error::failed(format!("cannot write to standard output: {reason}"))
            .hint("make room, or send the output to another place");
        let error = self.stands.iter().fold(error, |error, what| error.hint(*what));
        self.error(&error);
        // What was ended because of that was not ended for want of a reader.
        let code = if i32::from(code) == 128 + crate::run::tool_run::SIGPIPE { 0 } else { code };
        ExitCode::from(ErrorKind::Failed.exit_code().max(code))
    }
}

/// Prints what the argument parser has to say: help and version to stdout, mistakes to stderr.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let printed = error.print().and_then(|()| io::stdout().lock().flush());
    if let Some(hint) = crate::cli::other_word(error) {
        err(&format!("hint: {hint}\n"));
    }
    // A reader that has seen enough is no failure, a full disk is one.
    if let Err(failure) = printed
        && failure.kind() != io::ErrorKind::BrokenPipe
    {
        let reason = prowess_core::system_reason(&failure);
        err(&format!("error: cannot write what should be shown: {reason}\n"));
        return ExitCode::from(ErrorKind::Failed.exit_code());
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(ErrorKind::Usage.exit_code()))
}

/// A line on stderr of somebody who has no printer: a thread that waits for signals, a lock that is waited for.
pub(crate) fn aside(message: &str) {
    err(&format!("{}\n", inline(message)));
}

fn err(text: &str) {
    // Nobody can be told that stderr is gone.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The colour of a severity.
pub(crate) fn severity_style(severity: Severity) -> Style {
    match severity {
        Severity::Error => AnsiColor::Red.on_default().bold(),
        Severity::Warning => AnsiColor::Yellow.on_default().bold(),
        Severity::Info => AnsiColor::Cyan.on_default().bold(),
    }
}

/// Text for the middle of a line: deceptive characters and line breaks as escapes.
pub(crate) fn inline(text: &str) -> Cow<'_, str> {
    visible_line(text)
}

/// Text of several lines: deceptive characters as escapes, and so is a carriage return that would overwrite its line.
pub(crate) fn visible_lines(text: &str) -> Cow<'_, str> {
    let text = visible(text);
    if !text.contains('\r') {
        return text;
    }
    text.replace("\r\n", "\n").replace('\r', "\\r").into()
}

/// Pretty JSON with a line break at its end, deceptive characters as `\u` escapes.
pub(crate) fn json_text(value: &Value) -> String {
    let mut text = escaped_json(&format!("{value:#}"));
    text.push('\n');
    text
}

/// JSON with deceptive characters as `\u` escapes, which it allows anywhere in its strings.
fn escaped_json(text: &str) -> String {
    let deceptive = |character: char| character != '\n' && is_deceptive(character);
    if !text.chars().any(deceptive) {
        return text.to_owned();
    }
    let mut escaped = String::with_capacity(text.len() + 64);
    for character in text.chars() {
        if deceptive(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                use std::fmt::Write as _;
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
