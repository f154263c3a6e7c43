//! Shows what happens during a run, as it happens: for people with a sign of life, for programs as lines of JSON.

use std::ops::RangeInclusive;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use prowess_core::{Decoder, Event, Source, Stream, Thought, wire};

use crate::log;
use crate::terminal::printer::{Channel, Printer, inline, visible_lines};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// What the tool prints or the model says, while it does
    Text,
    /// One JSON object at the end
    Json,
    /// A JSON object per line for everything that happens
    Events,
}

/// Shows events in the wanted format, as they come.
pub(crate) struct Show<'p> {
    format: Format,
    printer: &'p mut Printer,
    writer: wire::EventWriter,
    decoders: [Decoder; 2],
    spinner: Option<Spinner>,
    /// Whether tokens are shown, and whether the last one ended a line.
    says_tokens: bool,
    in_line: bool,
    sources: Vec<Source>,
}

impl<'p> Show<'p> {
    /// Whether nothing that is shown arrives any more.
    pub(crate) fn is_unread(&self) -> bool {
        self.printer.is_closed()
    }

    pub(crate) fn new(format: Format, printer: &'p mut Printer) -> Self {
        Self {
            format,
            printer,
            writer: log::run_id()
                .map_or_else(wire::EventWriter::default, wire::EventWriter::of_run),
            decoders: [Decoder::default(), Decoder::default()],
            spinner: None,
            says_tokens: format == Format::Text,
            in_line: false,
            sources: Vec::new(),
        }
    }

    /// Somebody else does something with the answer.
    pub(crate) fn keep_tokens(&mut self) {
        self.says_tokens = false;
    }

    /// A sign of life until something is said.
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
            Format::Text | Format::Json => self.talk(event),
        }
    }

    fn talk(&mut self, event: &Event) {
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
            // The other kinds are steps of a prompt, which a person sees by what they come to.
            Event::Thought(Thought { kind: "skill", message: Some(message), .. }) => {
                self.finish();
                self.printer.note(message);
            }
            Event::Token { content } if self.says_tokens => {
                self.output(Stream::Stdout, content.as_bytes());
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
            | Event::Workflow(_) => {}
        }
    }

    /// What follows begins in a line of its own.
    fn break_line(&mut self) {
        if std::mem::take(&mut self.in_line) {
            self.printer.piece(Channel::Out, b"\n");
        }
    }

    /// Where the answer comes from. The numbers are those that the model was given.
    fn footnotes(&mut self) {
        let (seen, others): (Vec<Source>, Vec<Source>) =
            std::mem::take(&mut self.sources).into_iter().partition(|source| source.injected);
        for (at, source) in seen.iter().enumerate() {
            self.printer.say(&format!("[{}] {}", at + 1, place_of(source)));
        }
        for source in &others {
            self.printer.say(&format!("    {} (not shown to the model)", place_of(source)));
        }
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        // The spinner would stand in the middle of the output.
        self.finish();
        let (channel, decoder) = match stream {
            Stream::Stdout => (Channel::Out, &mut self.decoders[0]),
            Stream::Stderr => (Channel::Err, &mut self.decoders[1]),
        };
        if self.printer.is_terminal(channel) {
            let text = decoder.push(bytes).text;
            self.printer.piece(channel, visible_lines(&text).as_bytes());
        } else {
            self.printer.piece(channel, bytes);
        }
    }

    /// Takes the sign of life away.
    pub(crate) fn finish(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish();
        }
    }
}

/// `page 3`, or `pages 3–4` where it goes on.
pub(crate) fn pages(pages: &RangeInclusive<u32>) -> String {
    let (first, last) = pages.clone().into_inner();
    if first == last { format!("page {first}") } else { format!("pages {first}–{last}") }
}

/// A passage, by what a person finds it with.
fn place_of(source: &Source) -> String {
    let page = source.pages.as_ref().map_or_else(String::new, |it| format!(", {}", pages(it)));
    let (start, end) = (source.range.start, source.range.end);
    format!("{}{page}, bytes {start}–{end}", inline(&source.doc_id))
}

/// A sign of life on the terminal, until the tool gives one itself.
struct Spinner {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Spinner {
    /// A tool that answers earlier needs no sign.
    const PATIENCE: Duration = Duration::from_millis(300);
    const TICK: Duration = Duration::from_millis(100);

    fn new(tool: String) -> Self {
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            if stopped.recv_timeout(Self::PATIENCE) != Err(RecvTimeoutError::Timeout) {
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
        // It only draws; there is nothing to learn from how it ended.
        let _ = self.thread.join();
    }
}
