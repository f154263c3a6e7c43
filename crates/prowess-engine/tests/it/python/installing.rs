//! Installing packages of strangers: nothing of them runs outside a sandbox, and only the index is reached.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use prowess_core::{Event, RunOutcome};
use prowess_testkit::tls::TlsServer;
use serde_json::{Value, json};

use super::scene::Scene;

/// Makes a wheel that runs code whenever a Python starts with it, and replaces what it can of its environment; and source
/// that runs code when it is built. Both leave a marker, and what they could read of the home.
const MAKE: &str = r##"
import io, sys, tarfile, zipfile
folder, marker, key, installer = sys.argv[1:]
payload = f"open({marker!r}, 'a').write(open({key!r}).read())"
info = "words_of_wisdom-1.2.0.dist-info"
data = "words_of_wisdom-1.2.0.data"
files = {
    "wisdom.py": "def say(): return 'less is more'\n",
    "aaa_evil.pth": f"import os; {payload}\n",
    "sitecustomize.py": payload + "\n",
    "usercustomize.py": payload + "\n",
    f"{data}/scripts/python": f"#!/usr/bin/python3\n{payload}\n",
    f"{data}/scripts/python3": f"#!/usr/bin/python3\n{payload}\n",
    f"{data}/data/requirements.txt": "forged==1.0\n",
    f"{info}/METADATA": "Metadata-Version: 2.1\nName: words-of-wisdom\nVersion: 1.2.0\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}
if installer == "uv":
    # uv itself refuses scripts of these names.
    del files[f"{data}/scripts/python"], files[f"{data}/scripts/python3"]
files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
with zipfile.ZipFile(f"{folder}/words_of_wisdom-1.2.0-py3-none-any.whl", "w") as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
with tarfile.open(f"{folder}/runs_at_install-1.0.tar.gz", "w:gz") as source:
    for name, text in {
        "setup.py": f"{payload}\nfrom setuptools import setup\nsetup(name='runs-at-install', version='1.0')\n",
        "PKG-INFO": "Metadata-Version: 2.1\nName: runs-at-install\nVersion: 1.0\n",
    }.items():
        entry = tarfile.TarInfo(f"runs_at_install-1.0/{name}")
        entry.size = len(text)
        source.addfile(entry, io.BytesIO(text.encode()))
"##;

const WHEEL: &str = "words_of_wisdom-1.2.0-py3-none-any.whl";
const SOURCE: &str = "runs_at_install-1.0.tar.gz";
const SAY: &str = "import wisdom\nreturn wisdom.say()";

/// The installers that are there: pip always, uv where `cargo xtask test` has put it.
#[expect(clippy::print_stderr, reason = "a test that does less says so")]
fn installers() -> Vec<Option<PathBuf>> {
    let uv = std::env::var_os("PROWESS_UV").map(PathBuf::from);
    if uv.is_none() {
        eprintln!("SKIPPED for uv: PROWESS_UV is not set, `cargo xtask test` sets it");
    }
    std::iter::once(None).chain(uv.map(Some)).collect()
}

fn needing(package: &str) -> Scene {
    Scene::with(&format!("requirements:\n  dependencies: [\"{package}\"]\n"), SAY)
}

/// An OpenClaw skill with a handler that needs a package.
fn claw(package: &str) -> Scene {
    let text = format!(
        "---\nname: probe\nclaw_version: 1.0.0\ndescription: Finds books\nnetwork: false\npip_requires: [{package}]\nactions:\n  - name: go\n    description: Goes\n    handler: handlers/go.py\n    parameters:\n      text: {{type: string, required: false}}\n---\n\n# Probe\n"
    );
    let code = "import wisdom\n\ndef go(text=None):\n    return wisdom.say()\n";
    Scene::files(&[("SKILL.md", &text), ("handlers/go.py", code)])
}

/// Packages in a folder of the scene, an installer on its PATH, and a secret in its home.
fn prepared(mut scene: Scene, uv: Option<&PathBuf>) -> Scene {
    let folder = scene.root.join("wheels");
    fs::create_dir(&folder).expect("it can be made");
    scene.write("home/key", "the key of the user");
    let made = Command::new("/usr/bin/python3")
        .args(["-I", "-c", MAKE])
        .args([&folder, &marker(&scene), &scene.root.join("home/key")])
        .arg(if uv.is_some() { "uv" } else { "pip" })
        .status();
    assert!(made.expect("Python is there").success());
    if let Some(uv) = uv {
        let bin = scene.root.join("bin");
        fs::create_dir(&bin).expect("it can be made");
        symlink(uv, bin.join("uv")).expect("it can be linked");
        scene.path = format!("{}:{}", bin.display(), scene.path);
    }
    scene.variables.push(("PATH".to_owned(), scene.path.clone()));
    set(&mut scene, "PIP_CONFIG_FILE", "/dev/null");
    set(&mut scene, "UV_NO_CONFIG", "1");
    scene
}

fn set(scene: &mut Scene, name: &str, value: &str) {
    scene.variables.push((name.to_owned(), value.to_owned()));
}

fn offline(mut scene: Scene) -> Scene {
    let folder = scene.root.join("wheels").display().to_string();
    set(&mut scene, "PIP_NO_INDEX", "1");
    set(&mut scene, "PIP_FIND_LINKS", &folder);
    scene
}

/// What code of a package leaves where it runs outside.
fn marker(scene: &Scene) -> PathBuf {
    scene.root.join("marker")
}

fn environment(scene: &Scene) -> PathBuf {
    let [name] = scene.environments().try_into().expect("there is one environment");
    scene.root.join("home/.local/share/prowess/venvs").join(name)
}

fn site(scene: &Scene) -> PathBuf {
    let lib = environment(scene).join("lib");
    let mut entries = fs::read_dir(lib).expect("it is an environment").flatten();
    entries.next().expect("it has a Python").path().join("site-packages")
}

#[test]
fn code_of_a_wheel_never_runs_outside() {
    for uv in installers() {
        for (scene, result) in
            [(needing("words-of-wisdom"), "GAIA"), (claw("words-of-wisdom"), "OpenClaw")]
        {
            let scene = offline(prepared(scene, uv.as_ref()));
            for run in ["first", "second"] {
                let (envelope, _) = scene.call("go", &Value::Null).expect("it starts");
                let marker = marker(&scene);
                assert!(
                    !marker.exists(),
                    "{result} {run} {uv:?}: {:?}",
                    fs::read_to_string(marker)
                );
                assert_eq!(envelope.outcome, RunOutcome::Success, "{result} {uv:?}: {envelope:#?}");
            }
            let site = site(&scene);
            assert!(site.join("__pycache__").is_dir(), "it is compiled");
            let pinned = fs::read_to_string(environment(&scene).join("requirements.txt"));
            assert_eq!(pinned.expect("it is written"), "words-of-wisdom==1.2.0\n");
            // The wheel is as bad as it should be: a Python that starts with it outside runs its code.
            let script = "import site, sys; site.addsitedir(sys.argv[1])";
            let control =
                Command::new("/usr/bin/python3").args(["-I", "-c", script]).arg(site).status();
            assert!(control.expect("Python is there").success());
            let seen = fs::read_to_string(marker(&scene)).expect("the code has run");
            assert_eq!(seen, "the key of the user");
        }
    }
}

#[test]
fn code_of_source_never_runs_at_all() {
    for uv in installers() {
        for scene in [needing("runs-at-install"), claw("runs-at-install")] {
            let mut scene = offline(prepared(scene, uv.as_ref()));
            set(&mut scene, "PIP_NO_BINARY", ":all:");
            set(&mut scene, "UV_NO_BINARY", "1");
            let (envelope, _) = scene.call("go", &Value::Null).expect("it was allowed");
            assert_eq!(envelope.outcome, RunOutcome::Refused, "{envelope:#?}");
            assert!(!marker(&scene).exists(), "{uv:?}");
            assert_eq!(scene.environments(), Vec::<String>::new());
        }
    }
}

/// A package index in memory on the loopback.
struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(files: &Path, links_to: Option<u16>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let port = listener.local_addr().expect("it has an address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, files) = (Arc::clone(&requests), files.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let mut request = [0; 8192];
                let count = stream.read(&mut request).unwrap_or(0);
                let request = String::from_utf8_lossy(&request[..count]).into_owned();
                let host =
                    links_to.map_or(String::new(), |port| format!("http://127.0.0.1:{port}"));
                let reply = reply(&request, &files, &host);
                seen.lock().expect("nobody panics with it").push(request);
                let _ = stream.write_all(&reply);
            }
        });
        Self { port, requests }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("nobody panics with it").clone()
    }
}

/// What an index answers: the list of a package's files, or a file.
fn reply(request: &str, files: &Path, host: &str) -> Vec<u8> {
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, kind, body) = if path.starts_with("/files/") {
        let name = path.rsplit('/').next().unwrap_or_default();
        match fs::read(files.join(name)) {
            Ok(bytes) => ("200 OK", "application/octet-stream", bytes),
            Err(_) => ("404 Not Found", "text/plain", Vec::new()),
        }
    } else if let Some(file) = path
        .contains("words-of-wisdom")
        .then_some(WHEEL)
        .or(path.contains("runs-at-install").then_some(SOURCE))
    {
        let text = format!(
            "<!DOCTYPE html><html><body><a href=\"{host}/files/{file}\">{file}</a></body></html>"
        );
        ("200 OK", "text/html", text.into_bytes())
    } else {
        ("404 Not Found", "text/plain", Vec::new())
    };
    let body = if request.starts_with("HEAD ") { Vec::new() } else { body };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat()
}

#[test]
fn an_index_on_the_loopback_is_reached_and_its_source_is_not_built() {
    for uv in installers() {
        let mut scene = prepared(needing("words-of-wisdom"), uv.as_ref());
        let server = Server::start(&scene.root.join("wheels"), None);
        set(&mut scene, "PIP_INDEX_URL", &format!("http://127.0.0.1:{}/simple", server.port));
        assert_eq!(scene.returned(), json!("less is more"), "{uv:?}");
        assert!(server.requests().iter().any(|it| it.contains(WHEEL)), "{:?}", server.requests());
        let mut source = prepared(needing("runs-at-install"), uv.as_ref());
        set(&mut source, "PIP_INDEX_URL", &format!("http://127.0.0.1:{}/simple", server.port));
        source.error();
        assert!(!marker(&source).exists() && !marker(&scene).exists(), "{uv:?}");
    }
}

#[test]
fn no_other_host_is_reached_unless_the_user_names_it() {
    for uv in installers() {
        let mut scene = prepared(needing("words-of-wisdom"), uv.as_ref());
        let other = Server::start(&scene.root.join("wheels"), None);
        let server = Server::start(&scene.root.join("wheels"), Some(other.port));
        set(&mut scene, "PIP_INDEX_URL", &format!("http://127.0.0.1:{}/simple", server.port));
        set(&mut scene, "PIP_RETRIES", "0");
        set(&mut scene, "UV_HTTP_RETRIES", "0");
        let envelope = scene.go();
        assert_eq!(envelope.outcome, RunOutcome::Refused, "{envelope:#?}");
        assert_eq!(other.requests(), Vec::<String>::new(), "{uv:?}");
        let named = format!("127.0.0.1:{}", other.port);
        let error = envelope.error.expect("it is told");
        assert!(
            error.contains(&format!("the index refers to `{named}`, which was refused")),
            "{error}"
        );
        let hint = format!("set PROWESS_PACKAGE_HOSTS={named}");
        assert!(
            envelope.remedies.iter().any(|it| it.to_string().ends_with(&hint)),
            "{:?}",
            envelope.remedies
        );
        assert_eq!(scene.environments(), Vec::<String>::new());
        set(&mut scene, "PROWESS_PACKAGE_HOSTS", &named);
        assert_eq!(scene.returned(), json!("less is more"), "{uv:?}");
        assert!(!other.requests().is_empty());
    }
}

#[test]
fn an_index_behind_tls_gets_the_password_that_the_installer_never_sees() {
    for uv in installers() {
        for login in ["", "me:s3cretPassword42@"] {
            let mut scene = prepared(needing("words-of-wisdom"), uv.as_ref());
            let files = scene.root.join("wheels");
            let server = TlsServer::start("localhost", "an index", move |request: &str| {
                reply(request, &files, "")
            });
            scene.write("home/ca.pem", server.root_pem());
            let certificate = scene.root.join("home/ca.pem").display().to_string();
            set(&mut scene, "PIP_CERT", &certificate);
            set(&mut scene, "SSL_CERT_FILE", &certificate);
            let url = format!("https://{login}localhost:{}/simple", server.port);
            set(&mut scene, "PIP_INDEX_URL", &url);
            assert_eq!(scene.returned(), json!("less is more"), "{uv:?} {login}");
            // `me:s3cretPassword42` as RFC 7617 has it.
            let sent = "basic bwu6cznjcmv0ugfzc3dvcmq0mg==";
            let all = server.requests().join("\n").to_lowercase();
            assert_eq!(all.contains(sent), !login.is_empty(), "{uv:?} {all}");
        }
    }
}

#[test]
fn an_index_that_is_not_there_says_what_to_do() {
    for uv in installers() {
        let mut scene = prepared(needing("words-of-wisdom"), uv.as_ref());
        set(&mut scene, "PIP_INDEX_URL", "http://127.0.0.1:1/simple");
        set(&mut scene, "PIP_RETRIES", "0");
        set(&mut scene, "UV_HTTP_RETRIES", "0");
        let envelope = scene.go();
        let error = envelope.error.expect("it is told");
        assert!(error.contains("can't connect to port 1 of `127.0.0.1`"), "{error}");
        let hint = "the package index can't be reached";
        assert!(
            envelope.remedies.iter().any(|it| it.to_string().starts_with(hint)),
            "{:?}",
            envelope.remedies
        );
        assert_eq!(scene.environments(), Vec::<String>::new());
    }
}

#[test]
fn an_installation_can_be_cancelled() {
    for uv in installers() {
        let mut scene = prepared(needing("words-of-wisdom"), uv.as_ref());
        // It takes connections and never answers.
        let silent = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let port = silent.local_addr().expect("it has an address").port();
        set(&mut scene, "PIP_INDEX_URL", &format!("http://127.0.0.1:{port}/simple"));
        let cancel = scene.cancel.clone();
        let waiting = std::thread::spawn(move || {
            // The installer is asking.
            let connection = silent.accept().expect("it asks");
            cancel.cancel();
            connection
        });
        let started = Instant::now();
        let watched = scene.watched("go", &Value::Null, &mut |_: &Event| {});
        let error = watched.expect("it was allowed").error.expect("it is told");
        assert!(error.contains("it was cancelled"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
        assert_eq!(scene.environments(), Vec::<String>::new());
        waiting.join().expect("it has cancelled");
    }
}

#[test]
fn a_python_that_lies_in_an_environment_is_never_started() {
    let mut scene = Scene::body("import sys\nreturn sys.executable");
    let marker = marker(&scene);
    let script = format!("#!/bin/sh\ntouch {}\nexec /usr/bin/python3 \"$@\"\n", marker.display());
    for name in ["project/.venv/bin/python3", "home/.local/share/prowess/venvs/x/bin/python3"] {
        scene.write(name, &script);
        let file = scene.root.join(name);
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    scene.write("project/.venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11\n");
    let folder = |name: &str| scene.root.join(name).display().to_string();
    let ours = folder("home/.local/share/prowess/venvs/x/bin");
    let path = format!("{ours}:{}:/nowhere", folder("project/.venv/bin"));
    scene.path = path;
    let system = Path::new("/usr/bin/python3").canonicalize().expect("it is there");
    assert_eq!(scene.returned(), json!(system));
    assert!(!marker.exists(), "a file of an environment was started");
}
