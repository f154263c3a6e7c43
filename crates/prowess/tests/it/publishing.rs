//! Publishing with the real program to a registry of its own process, and what is left when that is killed.

#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use prowess_testkit::Scene;
use serde_json::Value;

use crate::scene;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A registry of its own process. Dropping it kills it.
struct Hosting {
    child: Child,
    address: String,
    /// Kept open: the registry may print more lines.
    _lines: BufReader<ChildStdout>,
}

impl Hosting {
    /// Starts the registry in the folder `registry` of a scene, and waits until it is healthy.
    fn start(scene: &Scene) -> Self {
        let arguments = ["registry", "serve", "--data", "registry", "--listen", "127.0.0.1:0"];
        let mut child = scene
            .command(&arguments)
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
        let hosting = Self { child, address, _lines: lines };
        let end = Instant::now() + PATIENCE;
        while hosting.try_get("/health") != Some(200) {
            assert!(Instant::now() < end, "it does not get healthy");
            std::thread::yield_now();
        }
        hosting
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn try_get(&self, path: &str) -> Option<u16> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        answer.split(' ').nth(1)?.parse().ok()
    }

    /// The status of a path.
    fn status(&self, path: &str) -> u16 {
        self.try_get(path).expect("an answer")
    }

    /// Ends it without a warning, as a power failure does.
    fn kill(mut self) {
        self.child.kill().expect("SIGKILL");
        self.child.wait().expect("it has ended");
    }
}

impl Drop for Hosting {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder with a home and a registry with some users.
fn community(users: &[&str]) -> (Scene, Hosting) {
    let scene = scene().home("home");
    let hosting = Hosting::start(&scene);
    for user in users {
        let added = scene.run(&format!("registry user add {user} --data registry"));
        assert!(added.starts_with("exit 0"), "{added}");
    }
    (scene, hosting)
}

/// The registry and a user's token, as a client is told them.
struct Client<'a> {
    scene: &'a Scene,
    url: String,
    token: String,
}

impl<'a> Client<'a> {
    fn new(scene: &'a Scene, hosting: &Hosting, user: &str) -> Self {
        // The token is the last line on standard output.
        let text = scene.stdout(&format!("registry token new --user {user} --data registry"));
        let token = text.lines().last().unwrap_or_default().to_owned();
        assert!(token.starts_with("prw_"), "{text}");
        Self { scene, url: hosting.url(), token }
    }

    fn command(&self, arguments: &str) -> Command {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        let mut command = self.scene.command(&words);
        command.env("PROWESS_REGISTRY", &self.url).env("PROWESS_TOKEN", &self.token);
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command, and returns its exit code with everything that it printed.
    fn run(&self, arguments: &str) -> (i32, String) {
        let output = self.command(arguments).output().expect("it starts");
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        (output.status.code().unwrap_or(-1), text)
    }

    /// What a command that succeeds prints.
    fn fine(&self, arguments: &str) -> String {
        let (code, text) = self.run(arguments);
        assert_eq!(code, 0, "`prowess {arguments}`: {text}");
        text
    }

    /// What a command that fails with this code prints.
    fn fails(&self, arguments: &str, expected: i32) -> String {
        let (code, text) = self.run(arguments);
        assert_eq!(code, expected, "`prowess {arguments}`: {text}");
        text
    }

    /// Repeats a search until it finds something: the index follows the database.
    fn found(&self, words: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let text = self.fine(&format!("search {words}"));
            if text.contains("acme/") {
                return text;
            }
            assert!(Instant::now() < end, "`{words}` is not found: {text}");
        }
    }
}

fn weather(version: &str) -> String {
    format!(
        "---\nname: weather\ndescription: Tells the weather of tomorrow\nmetadata:\n  version: \"{version}\"\n---\n\n# Weather\n\nTell it.\n"
    )
}

// GAIA-6.1-1, GAIA-10.1-1, GAIA-10.4-2, SKL-L3-7.
#[test]
fn every_verb_of_a_client_succeeds_against_a_registry() {
    let (scene, hosting) = community(&["acme"]);
    let scene = scene
        .file("weather/SKILL.md", weather("1.0.0"))
        .file("newer/weather/SKILL.md", weather("1.1.0"))
        .file("archive/skills/ann/tides/SKILL.md", crate::skill("tides"));
    let acme = Client::new(&scene, &hosting, "acme");
    assert_eq!(acme.fine("whoami").lines().next(), Some("acme"));
    acme.fine("check weather");
    let shown = acme.fine("publish weather --dry-run");
    assert!(shown.contains("nothing was uploaded"), "{shown}");
    acme.fails("info acme/weather", 3);
    let published = acme.fine("publish weather --yes");
    assert!(published.contains("published `acme/weather` 1.0.0 (experimental)"), "{published}");

    assert!(acme.found("weather").contains("acme/weather 1.0.0"));
    let info = acme.fine("info acme/weather");
    assert!(info.contains("1.0.0, experimental"), "{info}");
    for path in ["", "/1.0.0", "/download", "/1.0.0/download"] {
        for name in ["weather", "acme/weather"] {
            assert_eq!(
                hosting.status(&format!("/api/v1/skills/{name}{path}")),
                200,
                "{name}{path}"
            );
        }
    }
    acme.fine("install acme/weather@1.0.0 --allow-experimental --yes");
    assert!(acme.fine("list").contains("weather"));
    acme.fine("verify");
    acme.fine("remove weather --yes");
    acme.fine("install acme/weather --allow-experimental --yes");
    acme.fine("publish newer/weather --yes");
    acme.fine("update weather --allow-experimental --yes");
    assert!(acme.fine("list").contains("1.1.0"));
    acme.fine("update --all --allow-experimental --yes");
    acme.fine("info weather");
    acme.fine("verify weather");
    acme.fine("remove weather --yes");
    acme.fine("migrate archive/skills --batch --output migrated");
}

// SKL-L3-7: the digest of the index is that of the installed bytes.
#[test]
fn a_package_that_was_changed_in_the_storage_is_not_installed() {
    let (scene, hosting) = community(&["acme"]);
    let scene = scene.file("weather/SKILL.md", weather("1.0.0"));
    let acme = Client::new(&scene, &hosting, "acme");
    acme.fine("publish weather --yes");
    let packages = scene.path().join("registry/packages");
    let files = prowess_testkit::files_below(&packages, &|_| true);
    assert_eq!(files.len(), 1, "{files:?}");
    let mut bytes = std::fs::read(&files[0]).expect("a package");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&files[0], bytes).expect("it is written");
    let (code, text) = acme.run("install acme/weather --allow-experimental --yes");
    assert_ne!(code, 0, "{text}");
    assert!(!acme.fine("list").contains("weather"));
    let (code, text) = acme.run("registry doctor --data registry");
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("`acme/weather` 1.0.0") && text.contains("damaged"), "{text}");
}

// GAIX-24, GAIA-10.4-3.
#[test]
fn what_must_not_be_published_is_refused_with_a_next_step() {
    let (scene, hosting) = community(&["acme", "other"]);
    let scene = scene
        .file("weather/SKILL.md", weather("1.0.0"))
        .file("zero/weather/SKILL.md", weather("0.0.0"))
        .file("none/tides/SKILL.md", crate::skill("tides"))
        .file("broken/SKILL.md", "---\nname: [\n---\n");
    let acme = Client::new(&scene, &hosting, "acme");
    let zero = acme.fails("publish zero/weather --yes", 1);
    assert!(zero.contains("hint: publish `0.1.0` or later"), "{zero}");
    let none = acme.fails("publish none/tides --yes", 1);
    assert!(none.contains("hint: add `version: 1.0.0`"), "{none}");
    acme.fails("publish broken --yes", 1);
    acme.fails("publish nowhere --yes", 3);
    let unasked = acme.fails("publish weather", 4);
    assert!(unasked.contains("hint: run it with `--yes`"), "{unasked}");
    let nobody = Client { token: String::new(), url: hosting.url(), scene: &scene };
    let stranger = Client { token: "prw_wrong".to_owned(), url: hosting.url(), scene: &scene };
    for client in [&nobody, &stranger] {
        let refused = client.fails("publish weather --yes", 4);
        assert!(refused.contains("run `prowess login`"), "{refused}");
    }
    assert!(!scene.path().join("registry/packages").exists());

    acme.fine("publish weather --yes");
    let again = acme.fails("publish weather --yes", 1);
    assert!(again.contains("1.0.0 is published already"), "{again}");
    let other = Client::new(&scene, &hosting, "other");
    let foreign = other.fails("publish weather --yes --namespace acme", 4);
    assert!(foreign.contains("can't publish to the namespace `acme`"), "{foreign}");
    other.fails("yank acme/weather@1.0.0", 4);
    acme.fails("yank acme/weather@9.9.9", 3);
    acme.fails("yank acme/weather", 2);
}

#[test]
fn yanked_versions_are_not_chosen_and_revoked_ones_are_gone() {
    let (scene, hosting) = community(&["acme"]);
    let scene = scene.file("weather/SKILL.md", weather("1.0.0"));
    let added = scene.run("registry user add chief --admin --data registry");
    assert!(added.contains("the administrator `chief`"), "{added}");
    let acme = Client::new(&scene, &hosting, "acme");
    acme.fine("publish weather --yes");
    acme.fine("yank acme/weather@1.0.0 --reason broken");
    let yanked = acme.fails("info acme/weather", 3);
    assert!(yanked.contains("all of its versions were yanked"), "{yanked}");
    acme.fails("install acme/weather --allow-experimental --yes", 1);
    acme.fine("yank acme/weather@1.0.0 --undo");
    acme.fine("info acme/weather");
    acme.fine("deprecate acme/weather --message gone");
    acme.fine("deprecate acme/weather --undo");

    let chief = Client::new(&scene, &hosting, "chief");
    let path = "/api/v1/skills/acme/weather/1.0.0";
    let body = r#"{"reason": "malware"}"#;
    let mut request = String::new();
    let _ = write!(
        request,
        "POST {path}/revoke HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        chief.token,
        body.len()
    );
    let mut stream = TcpStream::connect(&hosting.address).expect("it listens");
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.1 204"), "{answer}");
    assert_eq!(hosting.status(&format!("{path}/download")), 410);
    let (code, text) = acme.run("install acme/weather --allow-experimental --yes");
    assert_ne!(code, 0, "{text}");
    assert!(!acme.fine("list").contains("weather"));
}

#[test]
fn a_saved_token_is_one_that_works() {
    let (scene, hosting) = community(&["acme"]);
    let acme = Client::new(&scene, &hosting, "acme");
    let with_input = |input: &str| {
        let arguments = ["login", "--token-stdin"];
        let mut command = scene.command(&arguments);
        command.env("PROWESS_REGISTRY", hosting.url()).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it is sent");
        child.wait_with_output().expect("it ends").status.code()
    };
    let nobody = Client { token: String::new(), url: hosting.url(), scene: &scene };
    assert_eq!(with_input("prw_wrong\n"), Some(4));
    nobody.fails("whoami", 4);
    assert_eq!(with_input(&format!("{}\n", acme.token)), Some(0));
    assert_eq!(nobody.fine("whoami").lines().next(), Some("acme"));
    nobody.fine("logout");
    nobody.fails("whoami", 4);
}

#[test]
fn commands_for_a_registry_do_not_make_one_by_mistake() {
    let scene = scene().home("home");
    for command in ["doctor", "reindex", "token new --user acme", "backup copy"] {
        let told = scene.run(&format!("registry {command} --data nowhere"));
        assert!(told.starts_with("exit 3") && told.contains("no registry in `nowhere`"), "{told}");
    }
    assert!(!scene.path().join("nowhere").exists());
    scene.run("registry user add acme --data registry");
    let told = scene.run("registry token new --user acme --scope publsh --data registry");
    assert!(told.starts_with("exit 2") && told.contains("`publsh` is not one of"), "{told}");
    let told = scene.run("registry user add admin --admin --data registry");
    assert!(told.contains("without a namespace"), "{told}");
}

#[test]
fn a_backup_of_a_running_registry_is_restored_with_its_packages() {
    let (scene, hosting) = community(&["acme"]);
    let scene = scene.file("weather/SKILL.md", weather("1.0.0"));
    let acme = Client::new(&scene, &hosting, "acme");
    acme.fine("publish weather --yes");
    let told = acme.fine("registry backup monday --data registry");
    assert!(told.contains("wrote the database and 1 package to `monday`"), "{told}");
    acme.fails("registry backup monday --data registry", 4);
    acme.fails("registry restore nothing --data restored", 3);
    hosting.kill();
    std::fs::remove_dir_all(scene.path().join("registry")).expect("it is lost");

    let told = acme.fine("registry restore monday --data registry");
    assert!(told.contains("restored the database and 1 package"), "{told}");
    acme.fails("registry restore monday --data registry", 4);
    let told = acme.fine("registry doctor --data registry");
    assert!(told.contains("1 version is in order"), "{told}");
    let hosting = Hosting::start(&scene);
    // The token is the same.
    let acme = Client { url: hosting.url(), token: acme.token.clone(), scene: &scene };
    assert_eq!(acme.fine("whoami").lines().next(), Some("acme"));
    assert!(acme.found("weather").contains("acme/weather 1.0.0"));
    acme.fine("install acme/weather --allow-experimental --yes");
}

// A publication that was acknowledged is there after SIGKILL, and what was not is published again without a trace of it.
#[test]
fn killing_the_registry_loses_nothing_that_was_acknowledged() {
    const VERSIONS: usize = 12;
    let (mut scene, mut hosting) = community(&["acme"]);
    for number in 0..VERSIONS {
        let path = format!("v{number}/weather/SKILL.md");
        scene = scene.file(&path, weather(&format!("1.{number}.0")));
    }
    let mut acme = Client::new(&scene, &hosting, "acme");
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        let all = (0..VERSIONS).filter(|number| number % 3 == round);
        let publications: Vec<(usize, Child)> = all
            .map(|number| {
                let mut command = acme.command(&format!("publish v{number}/weather --yes"));
                command.stdout(Stdio::null()).stderr(Stdio::null());
                (number, command.spawn().expect("it starts"))
            })
            .collect();
        let mut publications = publications.into_iter();
        // The first one is awaited; the others are somewhere in the middle then.
        let (first, mut child) = publications.next().expect("a publication");
        let is_done = child.wait().expect("it ends").success();
        hosting.kill();
        if is_done {
            acknowledged.push(first);
        }
        for (number, mut child) in publications {
            if child.wait().expect("it ends").success() {
                acknowledged.push(number);
            }
        }
        hosting = Hosting::start(&scene);
        acme.url = hosting.url();
    }
    assert!(!acknowledged.is_empty());
    for number in &acknowledged {
        let path = format!("/api/v1/skills/acme/weather/1.{number}.0/download");
        assert_eq!(hosting.status(&path), 200, "{acknowledged:?}");
    }
    // Whatever was not acknowledged is there as a whole or not at all.
    for number in 0..VERSIONS {
        let (code, text) = acme.run(&format!("publish v{number}/weather --yes"));
        assert!(code == 0 || text.contains("is published already"), "{code}: {text}");
    }
    let told = acme.fine("registry doctor --data registry --format json");
    let found: Value =
        serde_json::from_str(&told).unwrap_or_else(|error| panic!("{error}: {told}"));
    assert_eq!(found["versions"], VERSIONS, "{found}");
    assert_eq!(found["problems"], serde_json::json!([]), "{found}");
}
