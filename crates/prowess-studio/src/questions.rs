//! Questions of tools that wait for a person's answer in the browser.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use prowess_core::BoxFuture;
use prowess_engine::{ApprovalReply, ApprovalRequest, AsyncApprover};
use prowess_format::text::{visible, visible_line};
use prowess_policy::Remember;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::runs::LiveRun;
use crate::timestamp;

/// How long a question waits.
const PATIENCE: Duration = Duration::from_hours(1);
/// Maximum number of questions of one user that wait.
const MAX_PER_USER: usize = 100;

/// The questions of all users.
#[derive(Clone, Default)]
pub(crate) struct Questions {
    waiting: Arc<Mutex<HashMap<String, Question>>>,
}

struct Question {
    owner: String,
    shown: Value,
    reply: oneshot::Sender<ApprovalReply>,
}

/// Asks one user about the tools of one run.
pub(crate) struct UserApprover {
    pub(crate) questions: Questions,
    pub(crate) owner: String,
    /// Set when the run has an id.
    pub(crate) live: Arc<OnceLock<Arc<LiveRun>>>,
}

impl Questions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Question>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The questions to a user, the oldest first.
    pub(crate) fn of(&self, owner: &str) -> Vec<Value> {
        let waiting = self.lock();
        let mut shown: Vec<Value> =
            waiting.values().filter(|it| it.owner == owner).map(|it| it.shown.clone()).collect();
        shown.sort_by(|one, other| one["asked_at"].as_str().cmp(&other["asked_at"].as_str()));
        shown
    }

    /// Answers a question; returns whether it waited.
    pub(crate) fn answer(&self, owner: &str, id: &str, reply: ApprovalReply) -> bool {
        let mut waiting = self.lock();
        if waiting.get(id).is_none_or(|question| question.owner != owner) {
            return false;
        }
        waiting.remove(id).is_some_and(|question| question.reply.send(reply).is_ok())
    }
}

/// A yes, once or remembered.
pub(crate) fn yes(always: bool) -> ApprovalReply {
    ApprovalReply::Yes(if always { Remember::Tool } else { Remember::Once })
}

impl AsyncApprover for UserApprover {
    fn ask<'a>(&'a mut self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApprovalReply> {
        Box::pin(async move {
            let id = request.id.to_string();
            let now = std::time::SystemTime::now();
            let run_id = self.live.get().map(|live| live.id.to_string());
            let lines: Vec<String> =
                request.lines.iter().map(|line| visible(&line.text).into_owned()).collect();
            let texts = |texts: &[String]| -> Vec<String> {
                texts.iter().map(|text| visible_line(text).into_owned()).collect()
            };
            let shown = json!({
                "id": id, "run_id": run_id,
                "skill": visible_line(&request.skill), "tool": visible_line(&request.tool),
                "command": texts(&request.command), "reasons": texts(&request.reasons),
                "permissions": lines, "can_remember": request.can_be_remembered,
                "asked_at": timestamp::of(now), "expires_at": timestamp::of(now + PATIENCE),
            });
            let (reply, answered) = oneshot::channel();
            {
                let mut waiting = self.questions.lock();
                if waiting.values().filter(|it| it.owner == self.owner).count() >= MAX_PER_USER {
                    return ApprovalReply::Nobody;
                }
                let owner = self.owner.clone();
                waiting.insert(id.clone(), Question { owner, shown: shown.clone(), reply });
            }
            // Removed also when the run is cancelled while it waits.
            let _asked = Asked { questions: self.questions.clone(), id };
            if let Some(live) = self.live.get() {
                live.custom("approval", &shown);
            }
            match tokio::time::timeout(PATIENCE, answered).await {
                Ok(Ok(reply)) => reply,
                Ok(Err(_)) | Err(_) => ApprovalReply::Nobody,
            }
        })
    }
}

struct Asked {
    questions: Questions,
    id: String,
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.questions.lock().remove(&self.id);
    }
}
