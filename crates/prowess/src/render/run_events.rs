//! Prints the events of a run as they arrive: as text with a spinner for people, as lines of JSON for programs.

use std::ops::RangeInclusive;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use prowess_core::{CitedSource, Event, StandardStream, Thought, Utf8Decoder, wire};

use crate::log;
use crate::terminal::printer::{Channel, Printer, inline, visible_lines};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// The output of the tool or the answer of the model, as it arrives
    Text,
    /// One JSON object at the end
    Json,
    /// One JSON object per line for every event
    Events,
}

/// Prints events in the chosen format as they arrive.
pub(crate) struct EventPrinter<'p> {
    format: Format,
    printer: &'p mut Printer,
    writer: wire::EventWriter,
    decoders: [Utf8Decoder; 2],
    spinner: Option<Spinner>,
    /// Whether tokens are shown.
    shows_tokens: bool,
    /// Whether the last token did not end its line.
    in_line: bool,
    sources: Vec<CitedSource>,
}

impl<'p> EventPrinter<'p> {
    /// Whether the output can't be written to any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.printer.is_closed()
    }

    /// Where it prints, for questions between events.
    pub(crate) fn printer(&mut self) -> &mut Printer {
        self.printer
    }

    pub(crate) fn new(format: Format, printer: &'p mut Printer) -> Self {
        Self {
            format,
            printer,
            writer: log::run_id()
                .map_or_else(wire::EventWriter::default, wire::EventWriter::of_run),
            decoders: [Utf8Decoder::default(), Utf8Decoder::default()],
            spinner: None,
            shows_tokens: format == Format::Text,
            in_line: false,
            sources: Vec::new(),
        }
    }

    /// Does not print the answer, which goes elsewhere.
    pub(crate) fn hide_tokens(&mut self) {
        self.shows_tokens = false;
    }

    /// Shows a spinner until there is output.
    pub(crate) fn wait_for(&mut self, what: &str) {
        if self.format != Format::Events && self.printer.is_watched() {
            self.spinner = Some(Spinner::new(what.to_owned()));
        }
    }

    pub(crate) fn event(&mut self, event: &Event) {
        match self.format {
            Format::Events => {
                for line in self.writer.write(event) {
                    self.printer.json_line(&line);
                }
            }
            Format::Text | Format::Json => self.event_for_people(event),
        }
    }

    fn event_for_people(&mut self, event: &Event) {
        match event {
            Event::Warning { message } => {
                self.break_line();
                self.printer.warning(message);
            }
            Event::Started { tool, .. } if self.printer.is_watched() => {
                self.spinner = Some(Spinner::new(tool.clone()));
            }
            Event::Output { stream, bytes } if self.format == Format::Text => {
                self.output(*stream, bytes);
            }
            // The other kinds are steps of a prompt, of which people see the results.
            Event::Thought(Thought { kind: "skill", message: Some(message), .. }) => {
                self.finish();
                self.printer.note(message);
            }
            Event::Token { content } if self.shows_tokens => {
                self.output(StandardStream::Stdout, content.as_bytes());
                self.in_line = !content.ends_with('\n');
            }
            Event::Citation { sources } => self.sources.clone_from(sources),
            Event::Done(envelope) => {
                self.finish();
                self.break_line();
                if envelope.is_success() && self.format == Format::Text {
                    self.footnotes();
                }
            }
            Event::Thought(_)
            | Event::Token { .. }
            | Event::Started { .. }
            | Event::Output { .. }
            | Event::Error { .. }
            | Event::Workflow(_)
            | Event::Agent(_) => {}
        }
    }

    /// Ends the current line, if there is one.
    fn break_line(&mut self) {
        if std::mem::take(&mut self.in_line) {
            self.printer.piece(Channel::Out, b"\n");
        }
    }

    /// Prints the sources of the answer, with the numbers that the model was given.
    fn footnotes(&mut self) {
        let (seen, others): (Vec<CitedSource>, Vec<CitedSource>) =
            std::mem::take(&mut self.sources).into_iter().partition(|source| source.injected);
        for (at, source) in seen.iter().enumerate() {
            self.printer.say(&format!("[{}] {}", at + 1, place_of(source)));
        }
        for source in &others {
            self.printer.say(&format!("    {} (not shown to the model)", place_of(source)));
        }
    }

    fn output(&mut self, stream: StandardStream, bytes: &[u8]) {
        // The spinner would be in the middle of the output.
        self.finish();
        let (channel, decoder) = match stream {
            StandardStream::Stdout => (Channel::Out, &mut self.decoders[0]),
            StandardStream::Stderr => (Channel::Err, &mut self.decoders[1]),
        };
        if self.printer.is_terminal(channel) {
            let text = decoder.push(bytes).text;
            self.printer.piece(channel, visible_lines(&text).as_bytes());
        } else {
            self.printer.piece(channel, bytes);
        }
    }

    /// Clears the spinner.
    pub(crate) fn finish(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish();
        }
    }
}

/// `page 3` or `pages 3–4`.
pub(crate) fn pages(pages: &RangeInclusive<u32>) -> String {
    let (first, last) = pages.clone().into_inner();
    if first == last { format!("page {first}") } else { format!("pages {first}–{last}") }
}

/// The place of a passage: document, pages, bytes.
fn place_of(source: &CitedSource) -> String {
    let page = source.pages.as_ref().map_or_else(String::new, |it| format!(", {}", pages(it)));
    let (start, end) = (source.range.start, source.range.end);
    format!("{}{page}, bytes {start}–{end}", inline(&source.doc_id))
}

/// A spinner on the terminal, until the tool prints something.
struct Spinner {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Spinner {
    /// The spinner is shown only after this time.
    const DELAY: Duration = Duration::from_millis(300);
    const TICK: Duration = Duration::from_millis(100);

    fn new(tool: String) -> Self {
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            if stopped.recv_timeout(Self::DELAY) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
                bar.set_style(style);
            }
            bar.set_message(inline(&tool).into_owned());
            while stopped.recv_timeout(Self::TICK) == Err(RecvTimeoutError::Timeout) {
                bar.tick();
            }
            bar.finish_and_clear();
        });
        Self { stop, thread }
    }

    fn finish(self) {
        drop(self.stop);
        // A panic of the thread that draws is of no interest.
        let _ = self.thread.join();
    }
}
