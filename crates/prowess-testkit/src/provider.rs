//! A model provider with scripted answers, over real HTTP on the loopback address.
//!
//! ```no_run
//! use prowess_testkit::{Answer, ScriptedProvider};
//!
//! let provider = ScriptedProvider::start(Answer::text(["Hel", "lo"]).usage(12, 2));
//! // … pass `provider.url()` to a client …
//! assert_eq!(provider.request(0).json()["messages"][0]["role"], "user");
//! ```
//!
//! The same [`Answer`] is written in the dialect of the request: `/v1/messages` is Anthropic's, everything else
//! `OpenAI`'s. Nothing here sleeps: the test opens a [gate](Answer::gate), and [`ScriptedProvider::request`] and
//! [`ScriptedProvider::ending`] wait until the event has happened.

mod answer;
mod http;

use std::collections::{BTreeSet, VecDeque};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

pub use answer::Answer;
use answer::{Dialect, Step};
pub use http::Recorded;

/// A wait that takes longer than this fails the test. No test passes because of it.
const IN_VAIN: Duration = Duration::from_secs(30);

/// The reply to one request.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Body,
    split: Option<usize>,
    crlf: bool,
}

#[derive(Clone, Debug)]
enum Body {
    Answer(Answer),
    Bytes(Vec<u8>),
}

impl Reply {
    /// A streamed answer.
    pub fn answer(answer: Answer) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            body: Body::Answer(answer),
            split: None,
            crlf: false,
        }
    }

    /// A JSON reply, such as an error or a list of models.
    pub fn json(status: u16, value: &Value) -> Self {
        Self::bytes(status, "application/json", value.to_string())
    }

    /// A reply with any body and content type.
    pub fn bytes(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: Body::Bytes(body.into()),
            split: None,
            crlf: false,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends at most this many bytes at a time, whatever they contain.
    #[must_use]
    pub fn split_every(mut self, bytes: usize) -> Self {
        assert!(bytes > 0, "a piece has at least one byte");
        self.split = Some(bytes);
        self
    }

    /// Ends the lines of an answer with CRLF, which event streams may use.
    #[must_use]
    pub fn crlf(mut self) -> Self {
        self.crlf = true;
        self
    }

    fn steps(&self, request: &Recorded) -> Vec<Step> {
        let mut steps = match &self.body {
            Body::Bytes(bytes) => vec![Step::Bytes(bytes.clone())],
            Body::Answer(answer) => answer.steps(Dialect::of(request), request),
        };
        for step in &mut steps {
            if let (Step::Bytes(bytes), true) = (&mut *step, self.crlf) {
                let text = String::from_utf8_lossy(bytes).replace('\n', "\r\n");
                *bytes = text.into_bytes();
            }
        }
        let Some(most) = self.split else { return steps };
        // Frames are joined first, so that a piece may span two of them.
        let mut cut: Vec<Step> = Vec::new();
        for step in steps {
            match (cut.last_mut(), step) {
                (Some(Step::Bytes(before)), Step::Bytes(bytes)) => before.extend(bytes),
                (_, step) => cut.push(step),
            }
        }
        cut.into_iter()
            .flat_map(|step| match step {
                Step::Bytes(bytes) => {
                    bytes.chunks(most).map(|piece| Step::Bytes(piece.to_vec())).collect()
                }
                other => vec![other],
            })
            .collect()
    }
}

type Chooser = Box<dyn FnMut(&Recorded) -> Reply + Send>;

/// The replies to all requests: fixed pages by path, then replies in order.
pub struct Script {
    pages: Vec<(String, Reply)>,
    replies: VecDeque<Reply>,
    chooser: Option<Chooser>,
}

impl Script {
    /// Replies in order, for requests without a page. Further requests get an error.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { pages: Vec::new(), replies: replies.into_iter().collect(), chooser: None }
    }

    /// Creates a reply for each request without a page, any number of times.
    pub fn by(chooser: impl FnMut(&Recorded) -> Reply + Send + 'static) -> Self {
        Self { pages: Vec::new(), replies: VecDeque::new(), chooser: Some(Box::new(chooser)) }
    }

    /// A fixed reply to every request for a path, such as `/v1/models`.
    #[must_use]
    pub fn page(mut self, path: &str, reply: Reply) -> Self {
        self.pages.push((path.to_owned(), reply));
        self
    }

    fn reply(&mut self, request: &Recorded) -> Reply {
        if let Some((_, reply)) = self.pages.iter().find(|(path, _)| path == request.path()) {
            return reply.clone();
        }
        if let Some(chooser) = &mut self.chooser {
            return chooser(request);
        }
        self.replies.pop_front().unwrap_or_else(|| {
            let message = format!("the script has no reply for `{}`", request.path());
            // A status that clients don't retry.
            Reply::json(404, &serde_json::json!({ "error": { "message": message } }))
        })
    }
}

impl From<Reply> for Script {
    fn from(reply: Reply) -> Self {
        Self::new([reply])
    }
}

impl From<Answer> for Script {
    fn from(answer: Answer) -> Self {
        Self::new([Reply::answer(answer)])
    }
}

impl<R: Into<Reply>> From<Vec<R>> for Script {
    fn from(replies: Vec<R>) -> Self {
        Self::new(replies.into_iter().map(Into::into))
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::answer(answer)
    }
}

/// How the reply to a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The whole reply was sent.
    Sent,
    /// The client closed the connection before the end.
    ClientLeft,
}

/// A running provider. Dropping it closes it and every connection.
pub struct ScriptedProvider {
    url: String,
    stage: Arc<Stage>,
}

/// The state that its threads share.
struct Stage {
    script: Mutex<Script>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    requests: Vec<Recorded>,
    endings: Vec<Option<Ending>>,
    open: BTreeSet<String>,
    over: bool,
    connections: Vec<TcpStream>,
}

impl ScriptedProvider {
    /// Starts a provider on a free port.
    pub fn start(script: impl Into<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let stage = Arc::new(Stage {
            script: Mutex::new(script.into()),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let shared = Arc::clone(&stage);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                if shared.lock().over {
                    return;
                }
                let Ok(connection) = connection else { return };
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || shared.serve(&connection));
            }
        });
        Self { url: format!("http://{address}"), stage }
    }

    /// The base URL, `http://127.0.0.1:PORT`. For `OpenAI`'s API, append `/v1`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits for a request by its number.
    pub fn request(&self, number: usize) -> Recorded {
        self.stage
            .wait_for(&format!("request {number}"), |state| state.requests.get(number).cloned())
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.stage.lock().requests.clone()
    }

    /// Waits until the reply to a request has ended.
    pub fn ending(&self, number: usize) -> Ending {
        self.stage.wait_for(&format!("the end of request {number}"), |state| {
            state.endings.get(number).copied().flatten()
        })
    }

    /// Opens a gate at which an answer waits.
    pub fn open(&self, gate: &str) {
        self.stage.change(|state| state.open.insert(gate.to_owned()));
    }
}

impl Drop for ScriptedProvider {
    fn drop(&mut self) {
        let connections = self.stage.change(|state| {
            state.over = true;
            std::mem::take(&mut state.connections)
        });
        for connection in connections {
            // It may be closed already.
            let _ = connection.shutdown(Shutdown::Both);
        }
        // Wakes the accepting thread, which then sees that it should stop.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

impl Stage {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.notify_all();
        result
    }

    fn wait_for<T>(&self, what: &str, look: impl Fn(&State) -> Option<T>) -> T {
        let (state, _) = self
            .changed
            .wait_timeout_while(self.lock(), IN_VAIN, |state| look(state).is_none())
            .unwrap_or_else(PoisonError::into_inner);
        look(&state).unwrap_or_else(|| panic!("{what} did not come"))
    }

    /// Serves one request per connection: the reply announces that it closes.
    fn serve(self: &Arc<Self>, connection: &TcpStream) {
        // Without this, small pieces would be merged, and tests of pieces would not test them.
        connection.set_nodelay(true).expect("a connection can be told to send at once");
        let Some(request) = http::read_request(connection) else { return };
        let reply = {
            let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
            script.reply(&request)
        };
        let number = self.change(|state| {
            state.requests.push(request.clone());
            state.endings.push(None);
            state.connections.extend(connection.try_clone());
            state.requests.len() - 1
        });
        self.watch(connection, number);
        if self.play(connection, &reply, &request, number).is_err() {
            self.end(number, Ending::ClientLeft);
        }
        let _ = connection.shutdown(Shutdown::Write);
    }

    /// Detects when the client disconnects: it sends nothing after its request, so a read returns only at the end.
    fn watch(self: &Arc<Self>, connection: &TcpStream, number: usize) {
        use std::io::Read as _;
        let mut connection = connection.try_clone().expect("a descriptor can be copied");
        let stage = Arc::clone(self);
        std::thread::spawn(move || {
            let _ = connection.read(&mut [0]);
            stage.end(number, Ending::ClientLeft);
        });
    }

    /// Records how a request ended; only the first call counts.
    fn end(&self, number: usize, ending: Ending) {
        self.change(|state| {
            state.endings[number].get_or_insert(ending);
        });
    }

    fn play(
        &self,
        connection: &TcpStream,
        reply: &Reply,
        request: &Recorded,
        number: usize,
    ) -> std::io::Result<()> {
        http::write_head(connection, reply.status, &reply.headers)?;
        let mut steps = reply.steps(request).into_iter().peekable();
        while let Some(step) = steps.next() {
            match step {
                Step::Bytes(bytes) => {
                    // Recorded before the last bytes are sent, because a client may disconnect as soon as it has them.
                    if steps.peek().is_none() {
                        self.end(number, Ending::Sent);
                    }
                    http::write_chunk(connection, &bytes)?;
                }
                Step::Gate(name) => {
                    let left = |state: &State| state.over || state.endings[number].is_some();
                    let state = self
                        .changed
                        .wait_while(self.lock(), |state| {
                            !state.open.contains(&name) && !left(state)
                        })
                        .unwrap_or_else(PoisonError::into_inner);
                    if left(&state) {
                        return Ok(());
                    }
                }
                Step::HangUp => {
                    self.end(number, Ending::Sent);
                    return connection.shutdown(Shutdown::Both);
                }
            }
        }
        self.end(number, Ending::Sent);
        http::write_end(connection)
    }
}

#[cfg(test)]
mod tests;
