//! The only place that prints. Results go to stdout, where a pipe may read them; messages go to stderr.
//!
//! Text from a skill is untrusted: control, bidirectional and zero-width characters never reach a terminal as they are.

use std::borrow::Cow;
use std::io::{self, Write as _};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use prowess_format::diagnostic::Severity;
use prowess_format::text::{is_deceptive, visible, visible_line};
use serde_json::Value;

use crate::cli::OutputOptions;
use crate::error::{Error, ErrorKind};
use crate::terminal::wrap::wrap;

/// Writes to stdout and stderr, and remembers the first write error.
pub(crate) struct Printer {
    quiet: bool,
    verbose: bool,
    stdout: Stream,
    stderr: Stream,
    state: State,
    /// A hint about what was done, for the case that the result can't be written.
    done: Option<&'static str>,
    /// The warnings so far, if they are collected.
    warnings: Option<Vec<String>>,
}

/// What a stream is connected to.
#[derive(Clone, Copy)]
struct Stream {
    is_terminal: bool,
    colour: bool,
    /// The columns of a terminal.
    width: Option<usize>,
}

/// The width of a terminal that does not report one.
const USUAL_WIDTH: usize = 80;

impl Stream {
    fn new(
        stream: &impl anstream::stream::RawStream,
        size: Option<(terminal_size::Width, terminal_size::Height)>,
    ) -> Self {
        // Colour is for terminals, unless the user forces it; NO_COLOR and a dumb terminal turn it off.
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

/// The indent of the continuation lines of a message.
const MESSAGE_INDENT: usize = 2;

/// One of the two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Whether stdout can still be written to.
enum State {
    Open,
    /// The reader has closed the pipe.
    Closed,
    Failed(io::Error),
}

impl Printer {
    /// A printer for this process's streams.
    pub(crate) fn new(options: &OutputOptions) -> Self {
        Self {
            quiet: options.quiet,
            verbose: options.verbose,
            stdout: Stream::new(&io::stdout(), terminal_size::terminal_size_of(io::stdout())),
            stderr: Stream::new(&io::stderr(), terminal_size::terminal_size_of(io::stderr())),
            state: State::Open,
            done: None,
            warnings: None,
        }
    }

    /// A printer for questions that are asked while this one is in use. What it reports is not collected.
    pub(crate) fn twin(&self) -> Self {
        Self {
            quiet: self.quiet,
            verbose: self.verbose,
            stdout: self.stdout,
            stderr: self.stderr,
            state: State::Open,
            done: None,
            warnings: None,
        }
    }

    /// Starts collecting warnings, for programs that get them with the result. They are still printed.
    pub(crate) fn keep_warnings(&mut self) {
        self.warnings = Some(Vec::new());
    }

    /// Takes the warnings that were collected.
    pub(crate) fn kept_warnings(&mut self) -> Vec<String> {
        self.warnings.take().unwrap_or_default()
    }

    /// Remembers what was done, for the case that the result can't be written.
    pub(crate) fn stands(&mut self, what: &'static str) {
        self.done = Some(what);
    }

    /// Whether `--quiet` is given.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether `--verbose` is given.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Whether results may be coloured.
    pub(crate) fn colour(&self) -> bool {
        self.stdout.colour
    }

    /// Whether stderr is a terminal without `--quiet`, so that progress is shown.
    pub(crate) fn is_watched(&self) -> bool {
        self.stderr.is_terminal && !self.quiet
    }

    /// Prints a result: unchanged to a pipe or a file, with deceptive characters escaped on a terminal.
    pub(crate) fn data(&mut self, text: &str) {
        if self.stdout.is_terminal {
            let text = visible_lines(text).into_owned();
            self.out(text.as_bytes());
        } else {
            self.out(text.as_bytes());
        }
    }

    /// Writes bytes unchanged and flushes them. The caller escapes text for a terminal, see [`Printer::is_terminal`].
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
            // There is nowhere to report a failure of stderr.
            Channel::Err => drop(io::stderr().lock().write_all(bytes)),
        }
    }

    /// Whether the stream is a terminal.
    pub(crate) fn is_terminal(&self, channel: Channel) -> bool {
        match channel {
            Channel::Out => self.stdout.is_terminal,
            Channel::Err => self.stderr.is_terminal,
        }
    }

    /// The columns of a terminal; `None` for a pipe or a file.
    pub(crate) fn width(&self, channel: Channel) -> Option<usize> {
        match channel {
            Channel::Out => self.stdout.width,
            Channel::Err => self.stderr.width,
        }
    }

    /// Prints a JSON value on a line of its own and flushes it.
    pub(crate) fn json_line(&mut self, value: &Value) {
        let mut text = escaped_json(&value.to_string());
        text.push('\n');
        self.piece(Channel::Out, text.as_bytes());
    }

    /// Prints a result in which deceptive characters are escaped already.
    pub(crate) fn report(&mut self, text: &str) {
        self.out(text.as_bytes());
    }

    /// Prints a JSON result, indented by two spaces. Deceptive characters are escaped, which JSON allows anywhere in strings.
    pub(crate) fn json(&mut self, value: &Value) {
        let text = json_text(value);
        self.out(text.as_bytes());
    }

    /// Prints a note, unless `--quiet`.
    pub(crate) fn note(&mut self, message: &str) {
        if !self.quiet {
            self.message("note", AnsiColor::Cyan, message);
        }
    }

    /// Prints a warning, unless `--quiet`.
    pub(crate) fn warning(&mut self, message: &str) {
        if let Some(warnings) = &mut self.warnings {
            warnings.push(message.to_owned());
        }
        if !self.quiet {
            self.message("warning", AnsiColor::Yellow, message);
        }
    }

    /// Prints what a conversion loses, unless `--quiet`.
    pub(crate) fn loss(&mut self, field: &str, detail: &str) {
        if !self.quiet {
            self.message(&format!("loss[{}]", inline(field)), AnsiColor::Yellow, detail);
        }
    }

    /// Prints a plain line to stderr, unless `--quiet`.
    pub(crate) fn say(&mut self, message: &str) {
        if !self.quiet {
            err(&format!("{}\n", wrap(&inline(message), MESSAGE_INDENT, self.stderr.width)));
        }
    }

    /// Prints a hint, unless `--quiet`.
    pub(crate) fn hint(&mut self, message: &str) {
        if !self.quiet {
            self.message("hint", AnsiColor::Cyan, message);
        }
    }

    /// Prints an error with its hints, also with `--quiet`.
    pub(crate) fn error(&mut self, error: &Error) {
        self.message("error", AnsiColor::Red, &error.message);
        for hint in &error.hints {
            self.message("hint", AnsiColor::Cyan, hint);
        }
    }

    /// Prints a report to stderr, such as the findings of a verb that is not `check`. `render` is told whether to colour.
    pub(crate) fn talk_report(&mut self, render: impl FnOnce(bool) -> String) {
        err(&render(self.stderr.colour));
    }

    fn message(&mut self, word: &str, colour: AnsiColor, message: &str) {
        let style = if self.stderr.colour { colour.on_default().bold() } else { Style::new() };
        let mut text = String::new();
        let lines = message.lines().chain(message.is_empty().then_some(""));
        for (number, line) in lines.enumerate() {
            let line = inline(line);
            let line = match number {
                0 => format!("{style}{word}{style:#}: {line}"),
                // Output of another program. The indent keeps it apart from our own messages.
                _ => format!("{:MESSAGE_INDENT$}{}", "", line.trim_start_matches(' ')),
            };
            text.push_str(&wrap(&line, MESSAGE_INDENT, self.stderr.width));
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

    /// Whether stdout can't be written to any more: the reader has closed it, or the disk is full.
    pub(crate) fn is_closed(&self) -> bool {
        !matches!(self.state, State::Open)
    }

    /// Stops printing. A closed pipe, as in `prowess … | head`, is not an error.
    fn stop(&mut self, error: io::Error) {
        self.state = if error.kind() == io::ErrorKind::BrokenPipe {
            State::Closed
        } else {
            State::Failed(error)
        };
    }

    /// Flushes stdout and returns the exit code; a failed write is reported and becomes an error.
    pub(crate) fn finish(mut self, code: u8) -> ExitCode {
        if matches!(self.state, State::Open)
            && let Err(error) = io::stdout().lock().flush()
        {
            self.stop(error);
        }
        let State::Failed(failure) = &self.state else { return ExitCode::from(code) };
        let reason = prowess_core::system_reason(failure);
        let error = Error::failed(format!("cannot write to standard output: {reason}"))
            .hint("free disk space, or redirect the output elsewhere");
        let error = self.done.iter().fold(error, |error, what| error.hint(*what));
        self.error(&error);
        // A run that was ended because of this did not lose its reader, so SIGPIPE is not its code.
        let code = if i32::from(code) == 128 + crate::run::tool_run::SIGPIPE { 0 } else { code };
        ExitCode::from(ErrorKind::Failed.exit_code().max(code))
    }
}

/// Prints the message of the argument parser: help and version to stdout, mistakes to stderr.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let printed = error.print().and_then(|()| io::stdout().lock().flush());
    if let Some(hint) = crate::cli::unknown_verb_hint(error) {
        err(&format!("hint: {hint}\n"));
    }
    // A closed pipe is not an error, a full disk is.
    if let Err(failure) = printed
        && failure.kind() != io::ErrorKind::BrokenPipe
    {
        let reason = prowess_core::system_reason(&failure);
        err(&format!("error: cannot write the help: {reason}\n"));
        return ExitCode::from(ErrorKind::Failed.exit_code());
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(ErrorKind::Usage.exit_code()))
}

/// Prints a line to stderr from code without a printer, such as the thread that waits for signals.
pub(crate) fn aside(message: &str) {
    err(&format!("{}\n", inline(message)));
}

fn err(text: &str) {
    // There is nowhere to report a failure of stderr.
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

/// Escapes deceptive characters and line breaks, for text inside a line.
pub(crate) fn inline(text: &str) -> Cow<'_, str> {
    visible_line(text)
}

/// Escapes deceptive characters in text of several lines, and carriage returns that would overwrite a line.
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
