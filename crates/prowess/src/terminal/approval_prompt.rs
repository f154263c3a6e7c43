//! The approval prompt: shows in full what a tool would do, and asks before it runs (GIB §6.3).

use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _};

use anstyle::{AnsiColor, Style};
use prowess_engine::{ApprovalReply, ApprovalRequest, Approver, CancellationToken, FileDifference};
use prowess_format::command;
use prowess_format::text::shorten;
use prowess_policy::{LineKind, Remember};

use crate::terminal::printer::{Channel, Printer, inline};
use crate::terminal::wrap::wrap;

/// An answer that is none is asked for again, so often.
const MAX_ATTEMPTS: usize = 3;
/// The most lines that are read for one question.
const MAX_LINES: usize = 20;
/// The most lines of a description.
const MAX_ABOUT_LINES: usize = 2;

/// Asks the user on the terminal; without a terminal the reply is [`ApprovalReply::Nobody`].
pub(crate) struct TerminalApprover<'p> {
    pub(crate) printer: &'p mut Printer,
}

impl Approver for TerminalApprover<'_> {
    fn ask(&mut self, asked: &ApprovalRequest) -> ApprovalReply {
        self.ask_until(asked, None)
    }
}

impl TerminalApprover<'_> {
    /// Asks, and takes it for a no if the work is cancelled before the answer.
    pub(crate) fn ask_until(
        &mut self,
        asked: &ApprovalRequest,
        cancel: Option<&CancellationToken>,
    ) -> ApprovalReply {
        if !io::stdin().is_terminal() || !self.printer.is_terminal(Channel::Err) {
            return ApprovalReply::Nobody;
        }
        let choices = Choices {
            can_remember: asked.can_be_remembered,
            has_diff: !asked.differences.is_empty(),
        };
        let width = self.printer.width(Channel::Err);
        self.printer.talk_report(|colour| page(asked, colour, width));
        forget_typed_ahead();
        let mut attempts = 0;
        for _ in 0..MAX_LINES {
            let prompt = wrap(&choices.prompt(), 2, width);
            self.printer.piece(Channel::Err, prompt.as_bytes());
            let mut line = String::new();
            if !cancel.is_none_or(input_arrives) {
                self.printer.piece(Channel::Err, b"\n");
                return ApprovalReply::No;
            }
            // End of input counts as no.
            if !matches!(io::stdin().lock().read_line(&mut line), Ok(count) if count > 0) {
                return ApprovalReply::No;
            }
            match choices.read(&line) {
                Some(Answer::Reply(reply)) => return reply,
                Some(Answer::ShowDiff) => {
                    self.printer.talk_report(|colour| difference(&asked.differences, colour));
                    continue;
                }
                None => {}
            }
            attempts += 1;
            if attempts == MAX_ATTEMPTS {
                break;
            }
            let known = choices.known();
            self.printer.piece(Channel::Err, format!("Please answer {known}.\n").as_bytes());
        }
        ApprovalReply::No
    }
}

/// Waits for input; false if the work was cancelled first. A read alone would go on after a signal.
#[cfg(target_os = "linux")]
fn input_arrives(cancel: &CancellationToken) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let step = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    let stdin = io::stdin();
    while !cancel.is_cancelled() {
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&step)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // Whatever is wrong with it, the read finds out.
            Ok(_) | Err(_) => return true,
        }
    }
    false
}

#[cfg(not(target_os = "linux"))]
fn input_arrives(cancel: &CancellationToken) -> bool {
    !cancel.is_cancelled()
}

/// Discards input that was typed before the question was shown, because it can't be an answer to it.
pub(crate) fn forget_typed_ahead() {
    #[cfg(target_os = "linux")]
    {
        // If this fails, the question is asked all the same.
        let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
    }
}

/// The text above the question, made safe for a terminal.
pub(crate) fn page(asked: &ApprovalRequest, colour: bool, width: Option<usize>) -> String {
    let style = |wanted: Style| if colour { wanted } else { Style::new() };
    let (bold, red) = (style(Style::new().bold()), style(AnsiColor::Red.on_default().bold()));
    let mut page = String::from("\n");
    if asked.has_banner {
        let _ = writeln!(
            page,
            "{red}WARNING{red:#}: this skill was downloaded and has no trusted signature.\n\
             Run it only if you trust where it came from.\n"
        );
    }
    let line = |page: &mut String, text: &str, indent: usize| {
        let _ = writeln!(page, "{}", wrap(text, indent, width));
    };
    let name = asked.name();
    line(&mut page, &format!("{bold}{}{bold:#} wants to run", inline(&name)), 2);
    // Both folders are shown because the grants below refer to them: a skill of the same name may exist elsewhere, and
    // `./` differs from project to project.
    let at = asked.places.as_ref().map_or(String::new(), |places| format!(" in {}", places.skill));
    line(&mut page, &format!("  skill    {}{}", inline(&asked.skill), inline(&at)), 11);
    // It is the author's text and can be long; what the tool may do has to stay on the screen.
    let room = width.unwrap_or(80).saturating_sub(12).max(20) * MAX_ABOUT_LINES;
    let about = shorten(&asked.description, room);
    line(&mut page, &format!("  about    {}", inline(&about)), 11);
    if asked.injected.is_empty() {
        let command = command::join(&asked.command);
        line(&mut page, &format!("  command  {bold}{}{bold:#}", inline(&command)), 11);
    }
    // Commands in the text of the skill are shells' own text, so they are shown as they are.
    for (index, command) in asked.injected.iter().enumerate() {
        let label = if index == 0 { "commands" } else { "        " };
        line(&mut page, &format!("  {label} {bold}{}{bold:#}", inline(command)), 11);
    }
    if let Some(places) = &asked.places {
        line(&mut page, &format!("  works in {}", inline(&places.project)), 11);
    }
    for (parameter, value) in &asked.option_like {
        let text = format!("`{parameter}` is `{value}`, which the program may take for an option");
        line(&mut page, &format!("  {red}beware{red:#}   {}", inline(&text)), 11);
    }
    page.push('\n');
    let mut closed = closed(asked);
    for explained in &asked.lines {
        let (mark, text) = match explained.kind {
            // The folders are shown above. A grant that needs consent is shown once, as what the tool may do: the question is
            // about all of them.
            LineKind::Verdict | LineKind::Place | LineKind::Consent | LineKind::FurtherLimit => {
                continue;
            }
            LineKind::Closed => match closed.take() {
                Some(text) => ("-", text),
                None => continue,
            },
            LineKind::May => ("+", explained.short_text().to_owned()),
            LineKind::MayNot => ("-", explained.short_text().to_owned()),
            LineKind::Asks | LineKind::Refused => ("?", explained.short_text().to_owned()),
            LineKind::Trust | LineKind::Note | LineKind::Limit => {
                (" ", explained.short_text().to_owned())
            }
        };
        line(&mut page, &format!("  {mark} {}", inline(&text)), 4);
    }
    page.push('\n');
    page
}

/// Everything that is closed as a whole, in one line.
fn closed(asked: &ApprovalRequest) -> Option<String> {
    let lines = asked.lines.iter().filter(|line| line.kind == LineKind::Closed);
    let all: Vec<&str> =
        lines.map(|line| line.text.strip_prefix("may not ").unwrap_or(&line.text)).collect();
    (!all.is_empty()).then(|| format!("may not {}", all.join("; ")))
}

/// The files that have changed, with their differences where these are text.
fn difference(differences: &[FileDifference], colour: bool) -> String {
    let style = |wanted: Style| if colour { wanted } else { Style::new() };
    let (bold, red, green) = (
        style(Style::new().bold()),
        style(AnsiColor::Red.on_default()),
        style(AnsiColor::Green.on_default()),
    );
    let mut page = String::from("\n");
    for file in differences {
        let Some(text) = &file.text else {
            let size = |size: Option<u64>| size.map(|bytes| format!("{bytes} bytes"));
            let sizes = match (size(file.size_before), size(file.size_now)) {
                (Some(before), Some(now)) => format!("{before}, now {now}"),
                (Some(only), None) | (None, Some(only)) => only,
                (None, None) => "size unknown".to_owned(),
            };
            let change = file.change.to_string();
            let why = "no copy of the approved text, or it is binary or large";
            let _ = writeln!(page, "{bold}{}{bold:#} ({sizes}; {why})", inline(&change));
            continue;
        };
        for line in text.lines() {
            let style = match line.as_bytes() {
                [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => bold,
                [b'+', ..] => green,
                [b'-', ..] => red,
                _ => Style::new(),
            };
            let _ = writeln!(page, "{style}{}{style:#}", inline(line));
        }
    }
    page.push('\n');
    page
}

/// What can be answered.
#[derive(Clone, Copy)]
struct Choices {
    can_remember: bool,
    has_diff: bool,
}

/// What an answer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Reply(ApprovalReply),
    ShowDiff,
}

impl Choices {
    fn prompt(self) -> String {
        let diff = if self.has_diff { " / [d]iff" } else { "" };
        if self.can_remember {
            format!("Run it? [y]es, from now on / [a]ll its tools / [o]nce{diff} / [N]o: ")
        } else {
            format!("Run it this time? [y]es{diff} / [N]o: ")
        }
    }

    fn known(self) -> &'static str {
        match (self.can_remember, self.has_diff) {
            (true, true) => "y, a, o, d or n",
            (true, false) => "y, a, o or n",
            (false, true) => "y, d or n",
            (false, false) => "y or n",
        }
    }

    /// Parses an answer; `None` if it is not a known one. Only a clear yes is a yes.
    fn read(self, line: &str) -> Option<Answer> {
        let reply = match (line.trim().to_lowercase().as_str(), self.can_remember) {
            ("d" | "diff", _) if self.has_diff => return Some(Answer::ShowDiff),
            ("y" | "yes", true) => ApprovalReply::Yes(Remember::Tool),
            ("a" | "all", true) => ApprovalReply::Yes(Remember::Skill),
            ("o" | "once", true) | ("y" | "yes", false) => ApprovalReply::Yes(Remember::Once),
            ("" | "n" | "no", _) => ApprovalReply::No,
            _ => return None,
        };
        Some(Answer::Reply(reply))
    }
}

#[cfg(test)]
mod tests;
