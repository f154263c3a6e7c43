//! Prints the events of a workflow: its steps and the answer as it arrives for people, lines of JSON for programs.

use prowess_core::WorkflowEvent;
use prowess_core::{Event, wire};
use prowess_engine::workflow::{WorkflowOutcome, text_of};
use serde_json::{Value, json};

use crate::error::Error;
use crate::render::problem_text::hints;
use crate::render::run_events::Format;
use crate::terminal::printer::{Channel, Printer, visible_lines};

/// Prints events in the chosen format as they arrive.
pub(super) struct WorkflowPrinter<'p> {
    format: Format,
    /// The node whose answer is the result.
    speaker: Option<String>,
    /// What was printed of its answer so far.
    printed: String,
    writer: wire::EventWriter,
    printer: &'p mut Printer,
}

impl<'p> WorkflowPrinter<'p> {
    pub(super) fn new(format: Format, speaker: Option<&str>, printer: &'p mut Printer) -> Self {
        let speaker = speaker.map(str::to_owned);
        let writer = wire::EventWriter::default();
        Self { format, speaker, printed: String::new(), writer, printer }
    }

    pub(super) fn printer(&mut self) -> &mut Printer {
        self.printer
    }

    /// Whether the output can't be written to any more.
    pub(super) fn is_closed(&self) -> bool {
        self.printer.is_closed()
    }

    pub(super) fn event(&mut self, event: &Event) {
        if self.format == Format::Events {
            for line in self.writer.write(event) {
                self.printer.json_line(&line);
            }
            return;
        }
        let Event::Workflow(event) = event else { return };
        match event {
            WorkflowEvent::Inside { node, event } => self.inside(node, event),
            WorkflowEvent::NodeStart { node, kind } => match *kind {
                // These take no time.
                "start" | "end" | "condition" => {}
                _ => self.step(&format!("{node} …")),
            },
            WorkflowEvent::NodeComplete { node, output: Value::Bool(answer), .. } => {
                self.step(&format!("{node}: {answer}"));
            }
            WorkflowEvent::NodeComplete { node, restored: true, .. } => {
                self.step(&format!("{node} was done before"));
            }
            WorkflowEvent::NodeComplete { node, .. } => self.step(&format!("{node} is done")),
            WorkflowEvent::NodeSkipped { node } => self.step(&format!("{node} is skipped")),
            WorkflowEvent::NodeError { node, error, .. } => {
                self.step(&format!("{node} failed: {error}"));
            }
            // The name is printed first, in case the process is killed later.
            WorkflowEvent::Start { run, .. } => self.step(&format!("this run is `{run}`")),
            // The end is reported by `ended`.
            WorkflowEvent::Complete { .. } | WorkflowEvent::Error { .. } => {}
        }
    }

    fn inside(&mut self, node: &str, event: &Event) {
        match event {
            Event::Warning { message } => {
                self.break_line();
                self.printer.warning(&format!("{node}: {message}"));
            }
            Event::Token { content }
                if self.format == Format::Text && self.speaker.as_deref() == Some(node) =>
            {
                let bytes = if self.printer.is_terminal(Channel::Out) {
                    visible_lines(content).into_owned().into_bytes()
                } else {
                    content.clone().into_bytes()
                };
                self.printer.piece(Channel::Out, &bytes);
                self.printed.push_str(content);
            }
            // The output of a tool goes to the next node.
            Event::Token { .. }
            | Event::Thought(_)
            | Event::Citation { .. }
            | Event::Started { .. }
            | Event::Output { .. }
            | Event::Error { .. }
            | Event::Done(_)
            | Event::Workflow(_)
            | Event::Agent(_) => {}
        }
    }

    /// Prints a step, on a terminal or with `--verbose`.
    fn step(&mut self, message: &str) {
        if self.printer.is_verbose() || self.printer.is_watched() {
            self.break_line();
            self.printer.say(message);
        }
    }

    /// Ends the current line, if both streams are the same terminal.
    fn break_line(&mut self) {
        let same = self.printer.is_terminal(Channel::Out) && self.printer.is_terminal(Channel::Err);
        if same && !self.printed.is_empty() && !self.printed.ends_with('\n') {
            self.printer.piece(Channel::Out, b"\n");
            self.printed.push('\n');
        }
    }

    /// Prints the result or the error.
    pub(super) fn ended(mut self, run: &str, ended: &WorkflowOutcome) {
        match (self.format, &ended.result) {
            (Format::Events, _) => {}
            (Format::Json, result) => {
                let mut object = json!({
                    "success": result.is_ok(),
                    "run_id": run,
                    "exit_code": ended.exit_code,
                    "output": result.as_ref().ok(),
                    "outputs": ended.outputs,
                });
                if let Err(error) = result {
                    object["error"] = error.clone().into();
                    object["hints"] = hints(&ended.remedies).into();
                }
                self.printer.json(&object);
            }
            (Format::Text, Ok(output)) => {
                let text = text_of(output);
                let is_printed = self.printed.trim_end() == text.trim_end() && !text.is_empty();
                if !is_printed {
                    self.printer.data(&text);
                }
                let last = if is_printed { &self.printed } else { &text };
                if !last.is_empty() && !last.ends_with('\n') {
                    self.printer.data("\n");
                }
            }
            (Format::Text, Err(_)) => self.break_line(),
        }
        if let Err(error) = &ended.result {
            let error = Error::failed(error.clone());
            self.printer.error(&hints(&ended.remedies).iter().fold(error, Error::hint));
        }
    }
}
