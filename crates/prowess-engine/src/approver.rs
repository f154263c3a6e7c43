//! Who is asked, when a decision is a question.

use prowess_core::{BoxFuture, RunId};
use prowess_policy::{Line, Remember, RunFolders};

use crate::differences::FileDifference;

/// A question with everything that has to be shown before it can be answered (GIB §6.3). It is plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// The run that waits for the answer.
    pub id: RunId,
    /// When the question expires, in seconds since 1970; never when absent.
    pub expires_at: Option<u64>,
    /// The skill's name.
    pub skill: String,
    /// The tool's name.
    pub tool: String,
    /// What the skill says about itself.
    pub description: String,
    /// The folders of the skill and of the project.
    pub places: Option<RunFolders>,
    /// Program and arguments, exactly as they will be started.
    pub command: Vec<String>,
    /// The commands of a shell that the answer is about, where there are several: those in the text of a skill.
    pub injected: Vec<String>,
    /// Values that the program may take for options (NEG-12): parameter and value.
    pub option_like: Vec<(String, String)>,
    /// What the tool may and may not do and why it asks, in plain words.
    pub lines: Vec<Line>,
    /// The files that have changed since the last approval.
    pub differences: Vec<FileDifference>,
    /// Why somebody is asked, one clause each.
    pub reasons: Vec<String>,
    /// Whether to warn of a download that nobody vouches for.
    pub has_banner: bool,
    /// Whether the answer can be remembered; otherwise it counts once.
    pub can_be_remembered: bool,
    /// Whether a yes in advance would have answered it.
    pub allows_in_advance: bool,
}

impl ApprovalRequest {
    /// Skill and tool.
    pub fn name(&self) -> String {
        format!("{}/{}", self.skill, self.tool)
    }
}

/// What came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalReply {
    /// Yes, for so long.
    Yes(Remember),
    /// No.
    No,
    /// There is nobody to ask.
    Nobody,
}

/// Somebody who is asked and waited for: a person at a terminal.
pub trait Approver: Send {
    /// Asks, and waits for the answer.
    fn ask(&mut self, request: &ApprovalRequest) -> ApprovalReply;
}

impl<A: Approver + ?Sized> Approver for &mut A {
    fn ask(&mut self, request: &ApprovalRequest) -> ApprovalReply {
        (**self).ask(request)
    }
}

/// Somebody who is asked and answers later, while other work goes on: over HTTP, through a host agent.
pub trait AsyncApprover: Send {
    /// Asks. The future is dropped when the run is cancelled.
    fn ask<'a>(&'a mut self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply>;
}

/// Lets a workflow ask an [`Approver`]. The thread waits for the answer, which suits a program with one user.
#[derive(Debug)]
pub struct BlockingApprover<A>(pub A);

impl<A: Approver> AsyncApprover for BlockingApprover<A> {
    fn ask<'a>(&'a mut self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply> {
        let reply = self.0.ask(request);
        Box::pin(std::future::ready(reply))
    }
}

/// Nobody: every question is refused.
#[derive(Clone, Copy, Debug)]
pub struct NoApprover;

impl Approver for NoApprover {
    fn ask(&mut self, _request: &ApprovalRequest) -> ApprovalReply {
        ApprovalReply::Nobody
    }
}
