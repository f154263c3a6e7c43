//! Several processes of the registry on one Postgres and one bucket, and what is left when one is killed.

#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use prowess_testkit::Scene;
use prowess_testkit::postgres::PrivatePostgres;
use prowess_testkit::s3::{BUCKET, PrivateS3};
use serde_json::{Value, json};

use crate::scene;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// A second, and what a busy machine needs for a request.
const SOON: Duration = Duration::from_millis(2500);
const PASSWORD: &str = "a long password";

/// A process of the registry. Dropping it kills it.
struct Node {
    child: Child,
    address: String,
    /// Kept open: the registry may print more lines.
    _lines: BufReader<ChildStdout>,
}

/// What a node answers.
struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The name and value of the first cookie that is set.
    fn cookie(&self) -> String {
        let line =
            self.head.lines().find(|line| line.to_ascii_lowercase().starts_with("set-cookie:"));
        let line = line.unwrap_or_else(|| panic!("no cookie: {}", self.head));
        let value = line.split_once(':').map_or("", |(_, value)| value);
        value.split(';').next().unwrap_or_default().trim().to_owned()
    }
}

impl Node {
    /// Starts a node in a folder of the scene, and waits until it is healthy.
    fn start(scene: &Scene, data: &str, options: &[&str]) -> Self {
        let arguments = ["registry", "serve", "--data", data, "--listen", "127.0.0.1:0"];
        let mut child = scene
            .command(&[&arguments[..], options].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
        lines.read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("listening on http://").map(str::to_owned);
        let address = address.unwrap_or_else(|| panic!("{line:?}"));
        let node = Self { child, address, _lines: lines };
        until("it is healthy", || node.try_send("GET", "/health", "", "").is_some());
        node
    }

    fn try_send(&self, method: &str, path: &str, headers: &str, body: &str) -> Option<Reply> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Reply { status, head: head.to_owned(), body: body.to_owned() })
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Reply {
        self.try_send(method, path, headers, body).expect("an answer")
    }

    fn status(&self, path: &str) -> u16 {
        self.send("GET", path, "", "").status
    }

    /// Sends JSON with a token.
    fn call(&self, method: &str, path: &str, token: &str, body: &Value) -> Reply {
        let headers =
            format!("authorization: Bearer {token}\r\ncontent-type: application/json\r\n");
        self.send(method, path, &headers, &body.to_string())
    }

    /// How many skills a search finds.
    fn found(&self, words: &str) -> usize {
        let found = self.send("GET", &format!("/api/v1/search?q={words}"), "", "").json();
        found["results"].as_array().map_or(0, Vec::len)
    }

    /// Ends it without a warning, as a power failure does.
    fn kill(mut self) {
        self.child.kill().expect("SIGKILL");
        self.child.wait().expect("it has ended");
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn until(what: &str, condition: impl Fn() -> bool) {
    within(what, PATIENCE, condition);
}

fn within(what: &str, time: Duration, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < time, "{what}: not within {time:?}");
        std::thread::yield_now();
    }
}

fn manifest(name: &str, version: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Tells the {name} of tomorrow\nmetadata:\n  version: \"{version}\"\n---\n\n# {name}\n\nTell it.\n"
    )
}

/// The settings of a node whose packages are in a bucket. Another node takes over its jobs after a second.
fn settings(endpoint: &str) -> String {
    format!(
        "storage = \"s3://{BUCKET}/nodes\"\njob_seconds = 1\n\n[s3]\nendpoint = \"{endpoint}\"\n\
         access_key_id = \"test\"\nsecret_access_key = \"test\"\n"
    )
}

/// A command of a client.
fn client(scene: &Scene, node: &Node, token: &str, arguments: &str) -> Command {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let mut command = scene.command(&words);
    command.env("PROWESS_REGISTRY", format!("http://{}", node.address));
    command.env("PROWESS_TOKEN", token).stdin(Stdio::null());
    command
}

/// Runs a command of a client, and returns whether it succeeded with everything that it printed.
fn run(scene: &Scene, node: &Node, token: &str, arguments: &str) -> (bool, String) {
    let output = client(scene, node, token, arguments).output().expect("it starts");
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}

fn fine(scene: &Scene, node: &Node, token: &str, arguments: &str) {
    let (is_fine, text) = run(scene, node, token, arguments);
    assert!(is_fine, "`prowess {arguments}`: {text}");
}

/// A token of a user, made on the command line of a node.
fn token(scene: &Scene, data: &str, database: &str, user: &str) -> String {
    let arguments = format!("registry token new --user {user} --data {data} --database {database}");
    let text = scene.stdout(&arguments);
    let token = text.lines().last().unwrap_or_default().to_owned();
    assert!(token.starts_with("prw_"), "{text}");
    token
}

fn add_user(scene: &Scene, database: &str, user: &str, options: &[&str]) {
    let arguments = ["registry", "user", "add", user, "--data", "one", "--database", database];
    let added =
        scene.run_with(&[&arguments[..], &["--password-stdin"], options].concat(), PASSWORD);
    assert!(added.contains("added the"), "{added}");
}

/// What the doctor finds wrong, and how many versions it has seen.
fn diagnosis(scene: &Scene, data: &str, database: &str) -> (Value, Value) {
    let text =
        scene.stdout(&format!("registry doctor --format json --data {data} --database {database}"));
    let found: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (found["versions"].clone(), found["problems"].clone())
}

const DOWNLOAD: &str = "/api/v1/skills/acme/weather/1.0.0/download";

#[test]
fn three_nodes_are_one_registry_also_when_one_is_killed() {
    let Some(storage) = PrivateS3::start() else { return };
    let Some(postgres) = PrivatePostgres::start() else { return };
    let database = postgres.url();
    let mut scene = scene().home("home").file("weather/SKILL.md", manifest("weather", "1.0.0"));
    for data in ["one", "two", "three"] {
        scene = scene.file(&format!("{data}/registry.toml"), settings(&storage.endpoint()));
    }
    for number in 0..5 {
        let path = format!("clock-{number}/SKILL.md");
        scene = scene.file(&path, manifest(&format!("clock-{number}"), "1.0.0"));
    }
    for number in 1..7 {
        let path = format!("v{number}/weather/SKILL.md");
        scene = scene.file(&path, manifest("weather", &format!("1.{number}.0")));
    }
    let first = Node::start(&scene, "one", &["--database", &database]);
    let second = Node::start(&scene, "two", &["--database", &database]);
    let third = Node::start(&scene, "three", &["--database", &database]);
    add_user(&scene, &database, "acme", &[]);
    add_user(&scene, &database, "root", &["--admin"]);
    let acme = token(&scene, "two", &database, "acme");
    let root = token(&scene, "three", &database, "root");

    // What is published at one is found and served by all.
    fine(&scene, &first, &acme, "publish weather --yes");
    for node in [&first, &second, &third] {
        assert_eq!(node.status("/ready"), 200);
        assert_eq!(node.status(DOWNLOAD), 200);
        until("it is found", || node.found("weather") == 1);
    }
    // New names are counted over all nodes (attack registry-D2).
    for (number, node) in [&second, &third, &first, &second].into_iter().enumerate() {
        fine(&scene, node, &acme, &format!("publish clock-{number} --yes"));
    }
    let (is_fine, text) = run(&scene, &third, &acme, "publish clock-4 --yes");
    assert!(!is_fine && text.contains("new names"), "{text}");

    // Wrong passwords, too (attack registry-D4).
    let guess = json!({ "username": "root", "password": "a wrong password" });
    let nodes = [&first, &second, &third].into_iter().cycle().take(15);
    let statuses: Vec<u16> =
        nodes.map(|node| node.call("POST", "/api/v1/log-in", "none", &guess).status).collect();
    let refused = statuses.iter().position(|status| *status == 429).expect("a limit");
    assert!(refused <= 10 && statuses[refused..].iter().all(|it| *it == 429), "{statuses:?}");

    // A session of the pages that began at one node is known to the others, and ends at all.
    let session = sign_in(&first);
    for node in [&second, &third] {
        assert_eq!(node.send("GET", "/account", &session, "").status, 200);
    }

    // One is killed in the middle of publications.
    let publications: Vec<Child> = (1..7)
        .map(|number| {
            let arguments = format!("publish v{number}/weather --yes");
            let mut command = client(&scene, &third, &acme, &arguments);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().expect("it starts")
        })
        .collect();
    until("a publication", || {
        let text = first.send("GET", "/api/v1/index/acme/weather", "", "").body;
        text.lines().count() > 2
    });
    third.kill();
    let done: Vec<bool> = publications
        .into_iter()
        .map(|mut child| child.wait().expect("it ends").success())
        .collect();
    for (number, is_done) in (1..7).zip(done) {
        let path = format!("/api/v1/skills/acme/weather/1.{number}.0/download");
        if is_done {
            assert_eq!(second.status(&path), 200, "1.{number}.0 was acknowledged");
        }
        let (is_fine, text) =
            run(&scene, &second, &acme, &format!("publish v{number}/weather --yes"));
        assert!(is_fine || text.contains("is published already"), "{text}");
        // What the killed node had begun is finished by another.
        until("it can be had", || first.status(&path) == 200);
    }
    assert_eq!(diagnosis(&scene, "one", &database), (json!(11), json!([])));

    // The session and the tokens go on without the node.
    assert_eq!(second.send("GET", "/account", &session, "").status, 200);
    assert_eq!(second.call("GET", "/api/v1/whoami", &acme, &json!({})).status, 200);

    // A revocation at one counts at the other.
    let revoke = DOWNLOAD.replace("download", "revoke");
    let revoked = first.call("POST", &revoke, &root, &json!({ "reason": "malware" }));
    assert_eq!(revoked.status, 204, "{}", revoked.body);
    within("it is revoked", SOON, || second.status(DOWNLOAD) == 410);
    // So does that of a token.
    let log_in = json!({ "username": "acme", "password": PASSWORD });
    let made = first.call("POST", "/api/v1/log-in", "none", &log_in).json();
    let made = made["token"].as_str().expect("a token").to_owned();
    let whoami =
        |node: &Node, token: &str| node.call("GET", "/api/v1/whoami", token, &json!({})).status;
    assert_eq!(whoami(&second, &made), 200);
    let listed = first.send("GET", "/api/v1/tokens", &session, "").json();
    let listed = listed["tokens"].as_array().expect("tokens");
    let csrf = csrf(&first.send("GET", "/account", &session, "").body);
    let headers = format!("{session}x-csrf-token: {csrf}\r\norigin: http://{}\r\n", first.address);
    for token in listed.iter().filter(|token| token["name"] == "prowess login") {
        let path = format!("/api/v1/tokens/{}", token["id"].as_str().expect("an id"));
        let revoked = first.send("DELETE", &path, &headers, "");
        assert_eq!(revoked.status, 204, "{}", revoked.body);
    }
    within("the token is refused", SOON, || whoami(&second, &made) == 401);

    // The killed node comes back and catches up.
    let third = Node::start(&scene, "three", &["--database", &database]);
    until("it has caught up", || third.found("clock") == 4);
    assert_eq!(third.status(DOWNLOAD), 410);
    assert_eq!(third.status("/api/v1/skills/acme/weather/1.6.0/download"), 200);
    assert_eq!(third.send("GET", "/account", &session, "").status, 200);
}

/// The token of the first form of a page.
fn csrf(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"csrf\" value=\"").expect("a form");
    rest.split('"').next().unwrap_or_default().to_owned()
}

/// Signs in on the page of a node, and returns the header with the cookie of the session.
fn sign_in(node: &Node) -> String {
    let form = node.send("GET", "/sign-in", "", "");
    let csrf = csrf(&form.body);
    let body = format!(
        "csrf={csrf}&username=acme&password={}&next=%2Faccount",
        PASSWORD.replace(' ', "+")
    );
    let headers = format!(
        "cookie: {}\r\norigin: http://{}\r\ncontent-type: application/x-www-form-urlencoded\r\n",
        form.cookie(),
        node.address
    );
    let signed_in = node.send("POST", "/sign-in", &headers, &body);
    assert_eq!(signed_in.status, 303, "{}", signed_in.body);
    format!("cookie: {}\r\n", signed_in.cookie())
}

/// A request to the storage at which the node is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Before the archive is stored.
    Upload,
    /// After it was stored, and before the version is added.
    Uploaded,
    /// After the version was added with its job.
    Added,
    /// While the job reads the archive for the scan.
    Scan,
}

/// A relay between a node and the storage that stops at a step and says so.
struct Relay {
    address: String,
    step: Arc<Mutex<Option<Step>>>,
    reached: Receiver<()>,
}

impl Relay {
    fn start(storage: &PrivateS3) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (sender, reached) = channel();
        let step = Arc::new(Mutex::new(None));
        let (halt, target) = (Arc::clone(&step), storage.address().to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (halt, target, sender) = (Arc::clone(&halt), target.clone(), sender.clone());
                std::thread::spawn(move || relay(stream.ok()?, &target, &halt, &sender));
            }
        });
        Self { address, step, reached }
    }
}

/// Passes one request on, unless it is the one to stop at: then its connection stays open and silent.
fn relay(
    mut stream: TcpStream,
    target: &str,
    halt: &Mutex<Option<Step>>,
    reached: &Sender<()>,
) -> Option<()> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        request.push(byte[0]);
    }
    let head = String::from_utf8(request).ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    let is_package = head.split(' ').nth(1).is_some_and(|path| path.contains("/packages/"));
    let method = head.split(' ').next()?.to_owned();
    let step = *halt.lock().expect("the step");
    let waits_before = match step {
        Some(Step::Upload) => method == "PUT",
        Some(Step::Added) => method == "HEAD",
        Some(Step::Scan) => method == "GET",
        Some(Step::Uploaded) | None => false,
    };
    if is_package && waits_before {
        return wait(reached);
    }
    let mut onward = TcpStream::connect(target).ok()?;
    let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    onward.write_all(head.as_bytes()).ok()?;
    onward.write_all(&body).ok()?;
    let mut answer = Vec::new();
    onward.read_to_end(&mut answer).ok()?;
    if is_package && step == Some(Step::Uploaded) && method == "PUT" {
        return wait(reached);
    }
    stream.write_all(&answer).ok()
}

/// Says that the step is reached, and holds the connection until the process ends.
fn wait(reached: &Sender<()>) -> Option<()> {
    reached.send(()).ok()?;
    loop {
        std::thread::park();
    }
}

// Attack registry-D15: whatever the step, a version is there as a whole or not at all, and can be published then.
#[test]
fn a_node_that_is_killed_at_any_step_of_publishing_leaves_nothing_half_done() {
    let Some(storage) = PrivateS3::start() else { return };
    let Some(postgres) = PrivatePostgres::start() else { return };
    let database = postgres.url();
    let relay = Relay::start(&storage);
    let mut scene = scene()
        .home("home")
        .file("one/registry.toml", settings(&format!("http://{}", relay.address)))
        .file("two/registry.toml", settings(&storage.endpoint()));
    let steps = [Step::Upload, Step::Uploaded, Step::Added, Step::Scan];
    for number in 0..=steps.len() {
        let path = format!("v{number}/weather/SKILL.md");
        scene = scene.file(&path, manifest("weather", &format!("1.{number}.0")));
    }
    let survivor = Node::start(&scene, "two", &["--database", &database]);
    add_user(&scene, &database, "acme", &[]);
    let acme = token(&scene, "two", &database, "acme");
    let download = |number: usize| format!("/api/v1/skills/acme/weather/1.{number}.0/download");

    for (number, step) in steps.into_iter().enumerate() {
        let node = Node::start(&scene, "one", &["--database", &database]);
        *relay.step.lock().expect("the step") = Some(step);
        let arguments = format!("publish v{number}/weather --yes");
        let mut publication = client(&scene, &node, &acme, &arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        relay.reached.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{step:?} is not reached"));
        assert_eq!(survivor.status(&download(number)), 404, "{step:?}: nothing is visible yet");
        node.kill();
        *relay.step.lock().expect("the step") = None;
        let _ = publication.kill();
        let _ = publication.wait();

        let is_added = matches!(step, Step::Added | Step::Scan);
        if is_added {
            // The other node continues by itself.
            until("it is continued", || survivor.status(&download(number)) == 200);
        } else {
            assert_eq!(survivor.status(&download(number)), 404, "{step:?}");
        }
        let (is_fine, text) = run(&scene, &survivor, &acme, &arguments);
        assert_eq!(is_fine, !is_added, "{step:?}: {text}");
        assert!(is_fine || text.contains("is published already"), "{step:?}: {text}");
        assert_eq!(survivor.status(&download(number)), 200, "{step:?}");
        assert_eq!(diagnosis(&scene, "two", &database), (json!(number + 1), json!([])), "{step:?}");
    }

    // After the last step: the publisher never learns that it is published.
    let last = steps.len();
    let node = Node::start(&scene, "one", &["--database", &database]);
    let arguments = format!("publish v{last}/weather --yes");
    let mut publication = client(&scene, &node, &acme, &arguments);
    let mut publication = publication.stdout(Stdio::null()).spawn().expect("it starts");
    until("it is visible", || survivor.status(&download(last)) == 200);
    node.kill();
    let _ = publication.wait();
    let (is_fine, text) = run(&scene, &survivor, &acme, &arguments);
    assert!(!is_fine && text.contains("is published already"), "{text}");
    let index = survivor.send("GET", "/api/v1/index/acme/weather", "", "").body;
    assert_eq!(index.lines().count(), last + 2, "{index}");
    assert_eq!(diagnosis(&scene, "two", &database), (json!(last + 1), json!([])));
}

#[test]
fn a_client_installs_from_a_mirror_also_when_the_other_registry_is_gone() {
    let scene = scene()
        .home("home")
        .file("weather/SKILL.md", manifest("weather", "1.0.0"))
        .file("mirror/registry.toml", "upstream_seconds = 0\n")
        .file("later/.keep", "");
    let upstream = Node::start(&scene, "upstream", &[]);
    let added = scene.run("registry user add acme --data upstream");
    assert!(added.starts_with("exit 0"), "{added}");
    let text = scene.stdout("registry token new --user acme --data upstream");
    let acme = text.lines().last().unwrap_or_default().to_owned();
    fine(&scene, &upstream, &acme, "publish weather --yes");
    let address = format!("http://{}", upstream.address);
    let mirror = Node::start(&scene, "mirror", &["--upstream", &address]);
    let install = "install acme/weather --allow-experimental --yes";
    fine(&scene, &mirror, "", install);
    upstream.kill();
    // Another user, who has nothing of it yet.
    let mut later = client(&scene, &mirror, "", install);
    let output = later.env("HOME", scene.path().join("later")).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = scene.run("registry doctor --data mirror");
    assert!(told.starts_with("exit 0"), "{told}");
}

#[test]
fn the_usual_variables_say_how_a_bucket_is_reached() {
    let Some(storage) = PrivateS3::start() else { return };
    let scene = scene()
        .home("home")
        .file("weather/SKILL.md", manifest("weather", "1.0.0"))
        .variable("AWS_ENDPOINT_URL", &storage.endpoint())
        .variable("AWS_REGION", "eu-central-1")
        .variable("AWS_ACCESS_KEY_ID", "test")
        .variable("AWS_SECRET_ACCESS_KEY", "test");
    let address = format!("s3://{BUCKET}/from/variables");
    let node = Node::start(&scene, "data", &["--storage", &address]);
    let added = scene.run("registry user add acme --data data");
    assert!(added.starts_with("exit 0"), "{added}");
    let text = scene.stdout("registry token new --user acme --data data");
    let acme = text.lines().last().unwrap_or_default().to_owned();
    fine(&scene, &node, &acme, "publish weather --yes");
    assert_eq!(node.status(DOWNLOAD), 200);
    assert!(!scene.path().join("data/packages").exists());
    let told = scene.run(&format!("registry doctor --data data --storage {address}"));
    assert!(told.starts_with("exit 0") && told.contains("1 version is in order"), "{told}");
    // Somewhere else, and nowhere.
    let told = scene.run(&format!("registry doctor --data data --storage s3://{BUCKET}/elsewhere"));
    assert!(told.starts_with("exit 1") && told.contains("`acme/weather` 1.0.0"), "{told}");
    let told = scene.run("registry doctor --data data --storage s3://no-such-bucket");
    assert!(told.starts_with("exit 1") && !told.contains("acme/weather"), "{told}");
    for (address, why) in [("https://skills", "not the address of a bucket"), ("s3://a b", "s3://")]
    {
        let arguments = ["registry", "serve", "--data", "data", "--storage", address];
        let output = scene.output(&arguments, "");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(why), "{text}");
    }
}
