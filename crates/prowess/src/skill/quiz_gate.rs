//! The quiz gates of a skill that a verb shows without loading it.

use std::ops::Range;

use prowess_format::declared_quizzes;
use prowess_format::diagnostic::Diagnostic;
use prowess_format::document::{Document, FrontMatter};
use prowess_format::skill::Quiz;

/// The quizzes that a document declares, whatever dialect it is read as. Front matter that can't be read, or only without its
/// quiz, may have a gate; a gate without questions, which nobody can pass, takes its place.
pub(crate) fn declared(document: &Document<'_>) -> Vec<Quiz> {
    let mut quizzes = declared_quizzes(document);
    if is_lost(document) {
        quizzes.push(Quiz { gate: true, ..Quiz::default() });
    }
    quizzes
}

/// Whether the front matter seems to have a quiz, and it was not read.
fn is_lost(document: &Document<'_>) -> bool {
    match document.front_matter {
        FrontMatter::Absent | FrontMatter::Read => false,
        FrontMatter::Repaired => {
            let yaml = document.yaml.slice(document.text);
            document.root.get("quiz").is_none() && yaml.lines().any(|line| line.starts_with("quiz"))
        }
        FrontMatter::Broken => {
            document.text.lines().any(|line| line.trim_start().starts_with("quiz"))
        }
    }
}

/// The parts of a document with a gate whose lines are not quoted: they may have answers, or what is withheld.
pub(crate) struct Unquoted {
    quizzes: Range<usize>,
    body: usize,
}

impl Unquoted {
    /// The parts of a document; `None` if it has no gate.
    pub(crate) fn of(document: &Document<'_>) -> Option<Self> {
        if !document.text.contains("quiz") {
            return None;
        }
        let quizzes = declared(document);
        quizzes.iter().find(|quiz| quiz.gate)?;
        let spans = || quizzes.iter().map(|quiz| quiz.span.range());
        let start = spans().map(|span| span.start).min().unwrap_or_default();
        let end = spans().map(|span| span.end).max().unwrap_or_default();
        let body = document.body.range().start;
        // Nobody knows where the quiz of unreadable front matter ends.
        let is_readable = !is_lost(document);
        let start = if is_readable { start } else { 0 };
        // The first line may begin before the quiz.
        let start = document.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        Some(Self { quizzes: start..if is_readable { end } else { body }, body })
    }

    /// Whether a finding is about one of these parts, or about another file of the skill.
    pub(crate) fn has(&self, diagnostic: &Diagnostic) -> bool {
        let span = diagnostic.span.range();
        let is_in_quiz = span.start < self.quizzes.end && span.end >= self.quizzes.start;
        diagnostic.file.is_some() || is_in_quiz || span.end > self.body
    }
}
