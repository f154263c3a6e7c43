//! A provider of models that says what a test tells it to, over real HTTP on the loopback address.
//!
//! ```no_run
//! use prowess_testkit::{Answer, ScriptedProvider};
//!
//! let provider = ScriptedProvider::start(Answer::text(["Hel", "lo"]).usage(12, 2));
//! // … hand `provider.url()` to whoever asks a model …
//! assert_eq!(provider.request(0).json()["messages"][0]["role"], "user");
//! ```
//!
//! The same [`Answer`] is written in the dialect of the request: `/v1/messages` is Anthropic's, everything else `OpenAI`'s.
//! Nothing here waits for a time: a [gate](Answer::gate) is opened by the test, and what happened is told by
//! [`ScriptedProvider::request`] and [`ScriptedProvider::ending`], which wait until it has.

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

/// A test that waits longer than this for something waits in vain. No test passes because of it.
const IN_VAIN: Duration = Duration::from_secs(30);

/// What the provider says to one request.
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

    /// JSON, such as an error or a list of models.
    pub fn json(status: u16, value: &Value) -> Self {
        Self::bytes(status, "application/json", value.to_string())
    }

    /// Anything with any content type.
    pub fn bytes(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: Body::Bytes(body.into()),
            split: None,
            crlf: false,
        }
    }

    /// One more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends at most this many bytes at a time, wherever that cuts.
    #[must_use]
    pub fn split_every(mut self, bytes: usize) -> Self {
        assert!(bytes > 0, "a piece has at least one byte");
        self.split = Some(bytes);
        self
    }

    /// Ends lines of an answer with CRLF, which event streams may do.
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
        // Frames are joined first, so that a piece may end in one and begin in another.
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

/// What the provider says to all requests: fixed pages by their path, then replies one after the other.
pub struct Script {
    pages: Vec<(String, Reply)>,
    replies: VecDeque<Reply>,
    chooser: Option<Chooser>,
}

impl Script {
    /// Replies for the requests that no page is for, in order. Whoever asks once more is told that the script is over.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self { pages: Vec::new(), replies: replies.into_iter().collect(), chooser: None }
    }

    /// Makes a reply of each request that no page is for, as often as somebody asks.
    pub fn by(chooser: impl FnMut(&Recorded) -> Reply + Send + 'static) -> Self {
        Self { pages: Vec::new(), replies: VecDeque::new(), chooser: Some(Box::new(chooser)) }
    }

    /// The same reply to every request for a path, such as `/v1/models`.
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
            // A status that nobody tries again.
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
    /// All of it was sent.
    Sent,
    /// The client closed the connection before that.
    ClientLeft,
}

/// A running provider. Dropping it ends it and every connection.
pub struct ScriptedProvider {
    url: String,
    stage: Arc<Stage>,
}

/// What the threads share.
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

    /// Where it listens: `http://127.0.0.1:PORT`. `OpenAI`'s own base URL has `/v1` behind it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A request by its number, once it has come.
    pub fn request(&self, number: usize) -> Recorded {
        self.stage
            .wait_for(&format!("request {number}"), |state| state.requests.get(number).cloned())
    }

    /// Everything that was asked so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.stage.lock().requests.clone()
    }

    /// How the reply to a request ended, once it has.
    pub fn ending(&self, number: usize) -> Ending {
        self.stage.wait_for(&format!("the end of request {number}"), |state| {
            state.endings.get(number).copied().flatten()
        })
    }

    /// Opens a gate that an answer waits at.
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
        // Wakes the thread that accepts, which then sees that it is over.
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

    /// One connection, one request: the reply says that it closes.
    fn serve(self: &Arc<Self>, connection: &TcpStream) {
        // Without this small pieces would be collected, and a test of pieces would test something else.
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

    /// A client says nothing more after its request, so whatever can be read is its leaving.
    fn watch(self: &Arc<Self>, connection: &TcpStream, number: usize) {
        use std::io::Read as _;
        let mut connection = connection.try_clone().expect("a descriptor can be copied");
        let stage = Arc::clone(self);
        std::thread::spawn(move || {
            let _ = connection.read(&mut [0]);
            stage.end(number, Ending::ClientLeft);
        });
    }

    /// The first ending of a request is the one that counts.
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
                    // A client may leave as soon as it has the last bytes, so this is noted before they go out.
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
