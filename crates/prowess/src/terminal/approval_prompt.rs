//! The approval prompt: shows in full what a tool would do, and asks before it runs (GIB §6.3).

use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _};

use anstyle::{AnsiColor, Style};
use prowess_engine::{ApprovalReply, ApprovalRequest, Approver};
use prowess_format::command;
use prowess_policy::{LineKind, Remember};

use crate::terminal::printer::{Channel, Printer, inline};
use crate::terminal::wrap::wrap;

/// Asks the user on the terminal; without a terminal the reply is [`ApprovalReply::Nobody`].
pub(crate) struct TerminalApprover<'p> {
    pub(crate) printer: &'p mut Printer,
}

impl Approver for TerminalApprover<'_> {
    fn ask(&mut self, asked: &ApprovalRequest) -> ApprovalReply {
        if !io::stdin().is_terminal() || !self.printer.is_terminal(Channel::Err) {
            return ApprovalReply::Nobody;
        }
        let can_remember = asked.can_be_remembered;
        let width = self.printer.width(Channel::Err);
        self.printer.talk_report(|colour| page(asked, colour, width));
        forget_typed_ahead();
        for _ in 0..3 {
            let prompt = wrap(prompt(can_remember), 2, width);
            self.printer.piece(Channel::Err, prompt.as_bytes());
            let mut line = String::new();
            // End of input counts as no.
            if !matches!(io::stdin().lock().read_line(&mut line), Ok(count) if count > 0) {
                return ApprovalReply::No;
            }
            if let Some(reply) = reply(&line, can_remember) {
                return reply;
            }
            let known = if can_remember { "y, a, o or n" } else { "y or n" };
            self.printer.piece(Channel::Err, format!("Please answer {known}.\n").as_bytes());
        }
        ApprovalReply::No
    }
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
fn page(asked: &ApprovalRequest, colour: bool, width: Option<usize>) -> String {
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
    line(&mut page, &format!("  about    {}", inline(&asked.description)), 11);
    let command = command::join(&asked.command);
    line(&mut page, &format!("  command  {bold}{}{bold:#}", inline(&command)), 11);
    if let Some(places) = &asked.places {
        line(&mut page, &format!("  works in {}", inline(&places.project)), 11);
    }
    for (parameter, value) in &asked.option_like {
        let text = format!("`{parameter}` is `{value}`, which the program may take for an option");
        line(&mut page, &format!("  {red}beware{red:#}   {}", inline(&text)), 11);
    }
    page.push('\n');
    for explained in &asked.lines {
        let mark = match explained.kind {
            // The folders are shown above.
            LineKind::Verdict | LineKind::Place => continue,
            LineKind::May => "+",
            LineKind::MayNot => "-",
            LineKind::Asks | LineKind::Refused => "?",
            LineKind::Trust | LineKind::Note | LineKind::Limit => " ",
        };
        line(&mut page, &format!("  {mark} {}", inline(&explained.text)), 4);
    }
    page.push('\n');
    page
}

fn prompt(can_remember: bool) -> &'static str {
    if can_remember {
        "Run it? [y]es, from now on / [a]ll tools of this skill / [o]nce / [N]o: "
    } else {
        "Run it this time? [y]es / [N]o: "
    }
}

/// Parses an answer; `None` if it is not a known one. Only a clear yes is a yes.
fn reply(line: &str, can_remember: bool) -> Option<ApprovalReply> {
    match (line.trim().to_lowercase().as_str(), can_remember) {
        ("y" | "yes", true) => Some(ApprovalReply::Yes(Remember::Tool)),
        ("a" | "all", true) => Some(ApprovalReply::Yes(Remember::Skill)),
        ("o" | "once", true) | ("y" | "yes", false) => Some(ApprovalReply::Yes(Remember::Once)),
        ("" | "n" | "no", _) => Some(ApprovalReply::No),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
