//! Colour when a person is watching, plain text otherwise, and tables that line up.

use std::env;
use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::time::Duration;

#[derive(Clone, Copy)]
pub(crate) enum Style {
    Heading,
    Good,
    Bad,
    Dim,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Heading => "1;36",
            Style::Good => "32",
            Style::Bad => "1;31",
            Style::Dim => "2",
        }
    }
}

pub(crate) fn paint_stdout(style: Style, text: &str) -> String {
    paint(style, text, io::stdout().is_terminal())
}

pub(crate) fn paint_stderr(style: Style, text: &str) -> String {
    paint(style, text, io::stderr().is_terminal())
}

fn paint(style: Style, text: &str, is_terminal: bool) -> String {
    let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if !is_terminal || no_color {
        return text.to_owned();
    }
    format!("\u{1b}[{}m{text}\u{1b}[0m", style.code())
}

/// A line that opens a step, with an empty line before it.
pub(crate) fn heading(text: &str) {
    eprintln!("\n{}", paint_stderr(Style::Heading, &format!("── {text}")));
}

/// A remark on what is happening.
pub(crate) fn say(text: &str) {
    eprintln!("   {text}");
}

/// `0.42 s`, `12.3 s`, `3 min 05 s`: as many digits as help.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 10.0 {
        return format!("{seconds:.2} s");
    }
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = duration.as_secs();
    format!("{} min {:02} s", whole / 60, whole % 60)
}

#[derive(Clone, Copy)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows padded so that the columns line up; the first row is the header.
pub(crate) fn table(alignment: &[Align], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> =
        (0..alignment.len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for ((cell, align), width) in row.iter().zip(alignment).zip(&widths) {
            line.push(' ');
            let _ = match align {
                Align::Left => write!(line, "{cell:<width$} "),
                Align::Right => write!(line, "{cell:>width$} "),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests;
