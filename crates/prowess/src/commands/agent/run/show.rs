//! Prints the events of an agent: the words of the model as they arrive, and its calls, one line each.

use prowess_core::{AgentEvent, CallStatus, Event, wire};
use prowess_format::text::shorten;
use serde_json::Value;

use crate::log;
use crate::render::run_events::Format;
use crate::terminal::printer::{Channel, Printer, inline, visible_lines};

/// The longest line about a call, in characters.
const MAX_LINE: usize = 160;

/// Prints events in the chosen format as they arrive.
pub(super) struct AgentPrinter<'p> {
    format: Format,
    writer: wire::EventWriter,
    printer: &'p mut Printer,
    /// Whether the last token did not end its line.
    in_line: bool,
}

impl<'p> AgentPrinter<'p> {
    pub(super) fn new(format: Format, printer: &'p mut Printer) -> Self {
        let writer =
            log::run_id().map_or_else(wire::EventWriter::default, wire::EventWriter::of_run);
        Self { format, writer, printer, in_line: false }
    }

    /// Whether the output can't be written to any more.
    pub(super) fn is_closed(&self) -> bool {
        self.printer.is_closed()
    }

    /// The printer, at the beginning of a line.
    pub(super) fn for_question(&mut self) -> &mut Printer {
        self.break_line();
        self.printer
    }

    pub(super) fn event(&mut self, event: &Event) {
        if self.format == Format::Events {
            for line in self.writer.write(event) {
                self.printer.json_line(&line);
            }
            return;
        }
        match event {
            Event::Token { content } if self.format == Format::Text => self.token(content),
            Event::Warning { message } => {
                self.break_line();
                self.printer.warning(&inline(message));
            }
            Event::Agent(event) => self.agent(event),
            // What people see ends with the last line of the answer.
            Event::Done(_) => self.end_line(),
            Event::Token { .. }
            | Event::Thought(_)
            | Event::Citation { .. }
            | Event::Started { .. }
            | Event::Output { .. }
            | Event::Error { .. }
            | Event::Workflow(_) => {}
        }
    }

    fn token(&mut self, content: &str) {
        let bytes = if self.printer.is_terminal(Channel::Out) {
            visible_lines(content).into_owned().into_bytes()
        } else {
            content.as_bytes().to_vec()
        };
        self.printer.piece(Channel::Out, &bytes);
        self.in_line = !content.ends_with('\n');
    }

    fn agent(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Start { model, transcript, .. } => {
                // Said at once, in case the process is killed later.
                let place = transcript.as_deref().unwrap_or("none");
                self.step(&format!("{model}; transcript {place}"));
            }
            AgentEvent::ToolCall { name, arguments, .. } => {
                let arguments = match arguments {
                    Value::Object(fields) if fields.is_empty() => String::new(),
                    Value::String(broken) => format!(" {broken}"),
                    other => format!(" {other}"),
                };
                self.step(&format!("{name}{arguments} …"));
            }
            AgentEvent::ToolResult { status, content, .. } => {
                let first = content.lines().find(|line| !line.trim().is_empty());
                let first = first.map_or(String::new(), |line| format!(": {line}"));
                match status {
                    CallStatus::Success => self.step("  done"),
                    // What follows is for the model; people have just seen why.
                    CallStatus::Refused | CallStatus::Cancelled => {
                        self.step(&format!("  {}", status.as_str()));
                    }
                    CallStatus::Failed | CallStatus::Invalid => {
                        self.step(&format!("  {}{first}", status.as_str()));
                    }
                }
            }
            AgentEvent::Inside { event, .. } => {
                if let Event::Warning { message } = &**event {
                    self.break_line();
                    self.printer.warning(&inline(message));
                }
            }
            AgentEvent::Turn { .. } | AgentEvent::Usage { .. } => {}
        }
    }

    /// Prints a step, on a terminal or with `--verbose`.
    fn step(&mut self, message: &str) {
        if self.printer.is_verbose() || self.printer.is_watched() {
            self.break_line();
            self.printer.say(&shorten(&inline(message), MAX_LINE));
        }
    }

    /// Ends the current line, if both streams are the same terminal.
    fn break_line(&mut self) {
        if self.printer.is_terminal(Channel::Out) && self.printer.is_terminal(Channel::Err) {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.in_line) {
            self.printer.piece(Channel::Out, b"\n");
        }
    }
}
