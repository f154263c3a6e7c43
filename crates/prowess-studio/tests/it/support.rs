//! A studio on a free port, and a client that shows every byte.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use prowess_server::accounts::{NewUser, Role, User};
use prowess_server::clock::{ManualClock, Timestamp};
use prowess_server::database::Database;
use prowess_server::http::{ServeOptions, Shutdown};
use prowess_server::{Secret, Server, ServerOptions};
use prowess_studio::{CompanySettings, Studio, StudioLimits, StudioOptions};
use prowess_testkit::ScriptedProvider;
use serde_json::{Value, json};

/// A wait that takes longer than this fails the test.
const IN_VAIN: Duration = Duration::from_secs(30);

/// The password of every user.
pub(crate) const PASSWORD: &str = "correct horse battery";

/// A running studio. Dropping it stops it.
pub(crate) struct TestStudio {
    pub(crate) address: SocketAddr,
    pub(crate) server: Server,
    pub(crate) clock: ManualClock,
    data: PathBuf,
    /// Absent after a crash.
    runtime: Option<tokio::runtime::Runtime>,
    shutdown: Shutdown,
    serving: Option<tokio::task::JoinHandle<()>>,
    /// Removed when it is dropped.
    kept: Option<tempfile::TempDir>,
}

/// A user with a token.
#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    token: Option<String>,
    pub(crate) user_id: String,
}

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// A response whose body is still coming.
pub(crate) struct Streaming {
    pub(crate) head: Response,
    reader: BufReader<TcpStream>,
}

impl TestStudio {
    /// A studio without a model.
    pub(crate) fn start() -> Self {
        Self::with_config("")
    }

    /// A studio whose default model is a scripted one.
    pub(crate) fn with_model(provider: &ScriptedProvider) -> Self {
        Self::with_config(&config(provider))
    }

    pub(crate) fn with_config(config: &str) -> Self {
        let folder = prowess_testkit::temporary();
        let mut studio = Self::at(folder.path(), config, StudioLimits::USUAL);
        studio.kept = Some(folder);
        studio
    }

    pub(crate) fn with_limits(provider: &ScriptedProvider, limits: StudioLimits) -> Self {
        let folder = prowess_testkit::temporary();
        let mut studio = Self::at(folder.path(), &config(provider), limits);
        studio.kept = Some(folder);
        studio
    }

    /// A studio with its data in a folder.
    pub(crate) fn at(folder: &Path, config: &str, limits: StudioLimits) -> Self {
        let database = folder.join("data/studio.db").display().to_string();
        Self::node(folder, config, limits, &database, "test")
    }

    /// A studio whose users may log in with a company.
    pub(crate) fn with_company(issuer: &str) -> Self {
        let folder = prowess_testkit::temporary();
        let database = folder.path().join("data/studio.db").display().to_string();
        let company = CompanySettings {
            name: "Example".to_owned(),
            issuer: issuer.to_owned(),
            client_id: "studio".to_owned(),
            client_secret: None,
            public_url: "https://studio.example".to_owned(),
            mail_domains: Vec::new(),
        };
        let limits = StudioLimits::USUAL;
        let mut studio = Self::open(folder.path(), "", limits, &database, "test", Some(company));
        studio.kept = Some(folder);
        studio
    }

    /// One of several servers on a database.
    pub(crate) fn node(
        folder: &Path,
        config: &str,
        limits: StudioLimits,
        database: &str,
        node: &str,
    ) -> Self {
        Self::open(folder, config, limits, database, node, None)
    }

    fn open(
        folder: &Path,
        config: &str,
        limits: StudioLimits,
        database: &str,
        node: &str,
        company: Option<CompanySettings>,
    ) -> Self {
        let data = folder.join("data");
        std::fs::create_dir_all(folder.join("config")).expect("a folder");
        std::fs::create_dir_all(&data).expect("a folder");
        std::fs::write(folder.join("config/config.toml"), config).expect("a file");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let url = database.parse().expect("an address");
        let database = Database::open(&url).expect("a database");
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        let millis = i64::try_from(now.as_millis()).expect("a time");
        let clock = ManualClock::new(Timestamp::from_millis(millis));
        let options = ServerOptions {
            clock: Arc::new(clock.clone()),
            ..ServerOptions::new("prowess-studio", database)
        };
        let server = Server::new(options).expect("a server");
        let studio = Studio::open(
            server.clone(),
            StudioOptions {
                data: data.clone(),
                config: folder.join("config"),
                environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
                node: node.to_owned(),
                embedders: Vec::new(),
                objects: None,
                company,
                limits,
            },
        )
        .expect("a studio");
        let listener =
            runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).expect("a port is free");
        let address = listener.local_addr().expect("an address");
        let shutdown = Shutdown::new();
        let stop = shutdown.clone();
        let serving = runtime.spawn(async move {
            let options = ServeOptions { grace: Duration::from_secs(1), ..ServeOptions::default() };
            studio.serve(listener, options, stop).await.expect("it serves");
        });
        let (runtime, serving) = (Some(runtime), Some(serving));
        Self { address, server, clock, data, runtime, shutdown, serving, kept: None }
    }

    /// Ends it at once, as a power failure would: nothing that it does is finished.
    pub(crate) fn crash(mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// A path below the folder of data.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.data.join(path)
    }

    /// A client without a token.
    pub(crate) fn nobody(&self) -> Client {
        Client { address: self.address, token: None, user_id: String::new() }
    }

    /// A user.
    pub(crate) fn user(&self, name: &str) -> Client {
        self.add(name, Role::User)
    }

    /// An administrator.
    pub(crate) fn admin(&self, name: &str) -> Client {
        self.add(name, Role::Admin)
    }

    fn add(&self, name: &str, role: Role) -> Client {
        let new = NewUser { username: name.parse().expect("a name"), role, password: None };
        let user = self.server.accounts().add_user_blocking(new).expect("a user");
        self.client_of(&user)
    }

    /// A user with a password.
    pub(crate) fn user_with_password(&self, name: &str) -> User {
        let new = NewUser {
            username: name.parse().expect("a name"),
            role: Role::User,
            password: Some(Secret::new(PASSWORD)),
        };
        self.server.accounts().add_user_blocking(new).expect("a user")
    }

    fn client_of(&self, user: &User) -> Client {
        let runtime = self.runtime.as_ref().expect("it runs");
        let tokens = runtime.block_on(self.server.sessions().start(user)).expect("tokens");
        Client {
            address: self.address,
            token: Some(tokens.access_token.expose().to_owned()),
            user_id: user.id.clone(),
        }
    }
}

impl Drop for TestStudio {
    fn drop(&mut self) {
        self.shutdown.request();
        if let (Some(serving), Some(runtime)) = (self.serving.take(), &self.runtime) {
            let ended = runtime.block_on(async { tokio::time::timeout(IN_VAIN, serving).await });
            assert!(ended.is_ok() || std::thread::panicking(), "the studio does not stop");
        }
    }
}

/// Settings with a scripted provider as the default model.
pub(crate) fn config(provider: &ScriptedProvider) -> String {
    format!(
        "model = \"test/small\"\n[providers.test]\nkind = \"openai\"\nbase_url = \"{}/v1\"\n",
        provider.url()
    )
}

impl Client {
    /// The same address with another token.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    /// The same user at another server.
    pub(crate) fn at(&self, studio: &TestStudio) -> Self {
        Self { address: studio.address, ..self.clone() }
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], None)
    }

    pub(crate) fn delete(&self, path: &str) -> Response {
        self.send("DELETE", path, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Response {
        self.send("POST", path, &[], Some(body))
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Response {
        self.send("PUT", path, &[], Some(body))
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> Response {
        self.send("PATCH", path, &[], Some(body))
    }

    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Response {
        let body = body.map(|body| ("application/json", body.to_string().into_bytes()));
        let body = body.as_ref().map(|(kind, bytes)| (*kind, bytes.as_slice()));
        self.stream(method, path, headers, body).read()
    }

    /// Sends a request, and reads the head of the response.
    pub(crate) fn stream(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<(&str, &[u8])>,
    ) -> Streaming {
        let mut stream = TcpStream::connect(self.address).expect("the studio listens");
        stream.set_read_timeout(Some(IN_VAIN)).expect("a timeout");
        let is_whole = path == "/"
            || ["/api", "/health", "/metrics", "/assets"].iter().any(|it| path.starts_with(it));
        let path = if is_whole { path.to_owned() } else { format!("/api/v1{path}") };
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        if let Some(token) = &self.token {
            let _ = write!(head, "authorization: Bearer {token}\r\n");
        }
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if let Some((kind, bytes)) = body {
            let _ = write!(head, "content-type: {kind}\r\ncontent-length: {}\r\n", bytes.len());
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).expect("the head is sent");
        if let Some((_, bytes)) = body {
            // The server may refuse a large body before it has read all of it.
            let _ = stream.write_all(bytes);
        }
        Streaming::of(stream)
    }

    /// Posts JSON and follows the events.
    pub(crate) fn events(&self, path: &str, body: &Value) -> Streaming {
        let bytes = body.to_string().into_bytes();
        self.stream("POST", path, &[], Some(("application/json", &bytes)))
    }

    /// Creates a skill.
    pub(crate) fn create_skill(&self, name: &str, content: &str) -> Value {
        let response = self.post("/skills", &json!({ "name": name, "content": content }));
        assert_eq!(response.status, 201, "{response:?}");
        response.json()
    }
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("UTF-8")
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(it, _)| it == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// The field and the message of an error, after a look at its shape.
    pub(crate) fn problem(&self) -> (u16, String, String) {
        let body = self.json();
        let members: Vec<&String> =
            body["detail"].as_object().unwrap_or_else(|| panic!("{body}")).keys().collect();
        assert_eq!(members, ["field", "message"], "{body}");
        let word = |key: &str| body["detail"][key].as_str().expect("text").to_owned();
        (self.status, word("field"), word("message"))
    }
}

impl Streaming {
    fn of(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).expect("a status line");
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.unwrap_or_else(|| panic!("not a status line: {line:?}"));
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a header");
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Self { head: Response { status, headers, body: Vec::new() }, reader }
    }

    /// The next bytes of the body; empty at its end.
    pub(crate) fn chunk(&mut self) -> Vec<u8> {
        if self.head.header("transfer-encoding") != "chunked" {
            let mut bytes = Vec::new();
            self.reader.read_to_end(&mut bytes).expect("a body");
            return bytes;
        }
        let mut line = String::new();
        if self.reader.read_line(&mut line).expect("the size of a chunk") == 0 {
            return Vec::new();
        }
        let size = usize::from_str_radix(line.trim(), 16).unwrap_or_else(|_| panic!("{line:?}"));
        let mut bytes = vec![0; size + 2];
        self.reader.read_exact(&mut bytes).expect("a chunk");
        bytes.truncate(size);
        bytes
    }

    /// The whole response.
    pub(crate) fn read(mut self) -> Response {
        loop {
            let bytes = self.chunk();
            if bytes.is_empty() {
                return self.head;
            }
            self.head.body.extend(bytes);
        }
    }

    /// Reads until the body so far contains a text.
    pub(crate) fn until(&mut self, text: &str) -> String {
        loop {
            let so_far = String::from_utf8_lossy(&self.head.body).into_owned();
            if so_far.contains(text) {
                return so_far;
            }
            let bytes = self.chunk();
            assert!(!bytes.is_empty(), "the stream ended without {text:?}: {so_far}");
            self.head.body.extend(bytes);
        }
    }

    pub(crate) fn run_id(&self) -> String {
        self.head.header("x-run-id").to_owned()
    }
}

/// The events of a stream: names with data.
pub(crate) fn parse_events(text: &str) -> Vec<(String, Value)> {
    text.split("\n\n")
        .filter(|frame| frame.contains("event: "))
        .map(|frame| {
            let field = |name: &str| {
                frame.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default()
            };
            let data = serde_json::from_str(field("data: ")).expect("JSON");
            (field("event: ").to_owned(), data)
        })
        .collect()
}

/// The text that the tokens of a stream make.
pub(crate) fn text_of(events: &[(String, Value)]) -> String {
    let tokens = events.iter().filter(|(name, _)| name == "token");
    tokens.filter_map(|(_, data)| data["content"].as_str()).collect()
}

/// Waits until something is there.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = std::time::Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < IN_VAIN, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

/// The first example of the specification.
pub(crate) const ARTICLE_SUMMARY: &str = "---\nname: article-summary\ndescription: Compress long articles into structured key points.\ninputs:\n  - name: article\n    label: Article Content\n    type: textarea\n    required: true\n    description: The full text of the article to summarize\n  - name: style\n    label: Summary Style\n    type: text\n    required: false\n    default: concise and professional\nmodel:\n  temperature: 0.3\n  max_tokens: 1000\n---\n\nPlease summarize the following article in a {{style}} tone:\n\n{{article}}\n";
