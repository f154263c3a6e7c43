//! Who is asked, when a decision is a question.

use prowess_policy::{Line, Question, Remember};

/// A question with everything that has to be shown before it can be answered (GIB §6.3).
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What is asked, and why.
    pub question: &'a Question,
    /// The same in plain words: what it may and may not do, and why it asks.
    pub lines: &'a [Line],
    /// What the skill says about itself.
    pub description: &'a str,
    /// Program and arguments, exactly as they will be started.
    pub command: &'a [String],
    /// Values that the program may take for options (NEG-12): parameter and value.
    pub option_like: &'a [(String, String)],
}

/// What came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Yes, for so long.
    Yes(Remember),
    /// No.
    No,
    /// There is nobody to ask.
    Nobody,
}

/// Somebody who can be asked: on a terminal, over HTTP, through a host agent.
pub trait Approver {
    /// Asks, and waits for the answer.
    fn ask(&mut self, asked: &Asked<'_>) -> Reply;
}

/// Nobody: every question is refused.
#[derive(Clone, Copy, Debug)]
pub struct NoApprover;

impl Approver for NoApprover {
    fn ask(&mut self, _asked: &Asked<'_>) -> Reply {
        Reply::Nobody
    }
}
