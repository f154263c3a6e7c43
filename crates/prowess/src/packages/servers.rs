//! MCP servers as a source of skills: asks on the terminal before one is started or contacted.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use prowess_core::{Problem, ProblemKind};
use prowess_engine::{
    ApprovalReply, ApprovalRequest, ApprovalStore as _, Approver, CancellationToken, Consent,
    FileApprovals, Talk, UserGrants,
};
use prowess_library::ServerConversation;
use prowess_policy::Remember;
use prowess_sources::{ServerTalk, SkillServers};
use serde_json::Value;

use crate::run::tool_run;
use crate::session;
use crate::terminal::approval_prompt::TerminalApprover;
use crate::terminal::printer::Printer;

/// Talks to servers for one command.
pub(crate) struct TerminalServers(Mutex<State>);

struct State {
    printer: Printer,
    is_agreed: bool,
    /// Servers that the user has agreed to for this command: it asks once, and connects for the list and for the files.
    agreed: BTreeMap<String, ApprovalReply>,
}

impl TerminalServers {
    pub(crate) fn new(printer: &Printer) -> Self {
        let printer = printer.twin();
        Self(Mutex::new(State { printer, is_agreed: false, agreed: BTreeMap::new() }))
    }

    pub(crate) fn agree(&self, is_agreed: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_agreed = is_agreed;
    }
}

impl SkillServers for TerminalServers {
    fn talk(&self, server: &str, talk: ServerTalk) -> Result<(), Problem> {
        let failed = |message: String| Problem::new("no-world", ProblemKind::Failed, message);
        let library = session::library().map_err(|error| failed(error.message))?;
        let world = library.world();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { printer, is_agreed, agreed } = &mut *state;
        let approvals = FileApprovals::of(&world.state).load();
        let approvals = approvals.map_err(|error| failed(error.to_string()))?;
        let cancel = CancellationToken::default();
        tool_run::listen_for_signals(&cancel);
        let conversation = ServerConversation {
            world,
            grants: UserGrants::none().with_earlier(&approvals),
            consent: if *is_agreed { Consent::InAdvance } else { Consent::None },
            time: None,
            cancel: &cancel,
        };
        let mut approver = Once { printer, server, agreed };
        let talk = Talk::new(move |session| talk(session).map(|()| Value::Null));
        library.talk_to_server(server, conversation, &mut approver, talk).map(|_| ())
    }
}

/// Asks once per server.
struct Once<'o> {
    printer: &'o mut Printer,
    server: &'o str,
    agreed: &'o mut BTreeMap<String, ApprovalReply>,
}

impl Approver for Once<'_> {
    fn ask(&mut self, request: &ApprovalRequest) -> ApprovalReply {
        if let Some(reply) = self.agreed.get(self.server) {
            return *reply;
        }
        let reply = TerminalApprover { printer: self.printer }.ask(request);
        if matches!(reply, ApprovalReply::Yes(_)) {
            // A lasting answer is stored; this one is for what else this command asks of the server.
            self.agreed.insert(self.server.to_owned(), ApprovalReply::Yes(Remember::Once));
        }
        reply
    }
}
