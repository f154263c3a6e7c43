//! Unmodified clients of other projects, from npm, against our server. `cargo xtask test` installs them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scene::{Scene, manifest, package_of, skill};

/// The folder into which npm has installed the clients.
const CLIENTS: &str = "PROWESS_SKILL_CLIENTS";

#[expect(clippy::print_stderr, reason = "a test that was skipped must say so")]
fn clients() -> Option<PathBuf> {
    let found = std::env::var_os(CLIENTS).map(PathBuf::from);
    if found.is_none() {
        eprintln!("SKIPPED: `{CLIENTS}` does not name the clients (`cargo xtask test` sets it)");
    }
    found
}

/// Runs a client in a folder that is also its home, and returns what it prints.
async fn run(program: PathBuf, folder: &Path, arguments: &[&str], api: &str) -> String {
    let mut client = Command::new(program);
    client.args(arguments).current_dir(folder);
    // Nothing of the user's own settings, and nothing to anybody but our server.
    client.env("HOME", folder).env("SKILLS_API_URL", api).env("NO_COLOR", "1").env("CI", "1");
    client.env("XDG_CONFIG_HOME", folder.join("config")).env_remove("XDG_STATE_HOME");
    client.env("DISABLE_TELEMETRY", "1").env("CLAWHUB_DISABLE_TELEMETRY", "1");
    let shown = format!("{client:?}");
    let output = tokio::task::spawn_blocking(move || client.output()).await.expect("it is run");
    let output = output.expect("the client starts");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{shown}: {text}");
    text
}

async fn filled() -> (Scene, String) {
    let scene = Scene::start().await;
    let token = scene.user("acme").await;
    let text = manifest("weather", "1.0.0", "");
    let package = package_of(&[("SKILL.md", &text), ("notes.md", "# Notes\n")]);
    scene.publish_ok(&token, "acme", &package).await;
    scene
        .until("it is found", || async {
            scene.get("/api/v1/search?q=weather").await.json()["total"] == 1
        })
        .await;
    (scene, token)
}

#[tokio::test(flavor = "multi_thread")]
async fn clawhub_searches_inspects_installs_updates_signs_in_and_publishes() {
    let Some(clients) = clients() else { return };
    let (scene, token) = filled().await;
    let folder = tempfile::tempdir().expect("a folder");
    let (program, site) =
        (clients.join("node_modules/.bin/clawhub"), format!("http://{}", scene.address));
    let clawhub = |arguments: &[&str]| {
        let folder = folder.path().to_owned();
        let workdir = folder.to_str().expect("a text").to_owned();
        let mut all = vec!["--site", &site, "--workdir", &workdir, "--no-input"];
        all.extend_from_slice(arguments);
        let all: Vec<String> = all.into_iter().map(str::to_owned).collect();
        let (program, site) = (program.clone(), site.clone());
        async move {
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            run(program, &folder, &all, &site).await
        }
    };

    let found = clawhub(&["search", "weather"]).await;
    assert!(found.contains("weather") && found.contains("@acme"), "{found}");
    let inspected = clawhub(&["inspect", "@acme/weather", "--files"]).await;
    assert!(inspected.contains("1.0.0") && inspected.contains("notes.md"), "{inspected}");
    clawhub(&["install", "weather"]).await;
    let installed = folder.path().join("skills/weather");
    assert_eq!(
        std::fs::read_to_string(installed.join("SKILL.md")).expect("the skill"),
        manifest("weather", "1.0.0", "")
    );
    assert_eq!(std::fs::read_to_string(installed.join("notes.md")).expect("a file"), "# Notes\n");

    scene.publish_ok(&token, "acme", &skill("weather", "1.1.0")).await;
    clawhub(&["update", "weather"]).await;
    assert_eq!(
        std::fs::read_to_string(installed.join("SKILL.md")).expect("the skill"),
        manifest("weather", "1.1.0", "")
    );
    let listed = clawhub(&["list"]).await;
    assert!(listed.contains("weather") && listed.contains("1.1.0"), "{listed}");

    clawhub(&["login", "--token", &token]).await;
    let me = clawhub(&["whoami"]).await;
    assert!(me.contains("acme"), "{me}");

    // It publishes what it has in a folder, and recognises what is published already.
    let source = folder.path().join("tides");
    std::fs::create_dir_all(source.join("notes")).expect("a folder");
    let text = manifest("tides", "1.0.0", "");
    std::fs::write(source.join("SKILL.md"), &text).expect("a file");
    std::fs::write(source.join("notes/a.md"), "# Notes\n").expect("a file");
    let publish = ["skill", "publish", "tides", "--slug", "tides", "--version", "1.0.0"];
    let published = clawhub(&publish).await;
    assert!(published.contains("Published tides@1.0.0"), "{published}");
    let served = scene.get("/acme/tides/1.0.0/notes/a.md").await;
    assert_eq!((served.status, served.text().as_str()), (200, "# Notes\n"));
    assert_eq!(scene.get("/acme/tides/1.0.0/SKILL.md").await.text(), text);
    let again = clawhub(&["skill", "publish", "tides", "--slug", "tides"]).await;
    assert!(again.contains("already published"), "{again}");
    clawhub(&["update", "--all"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn skills_finds_lists_installs_and_updates() {
    let Some(clients) = clients() else { return };
    let (scene, token) = filled().await;
    let folder = tempfile::tempdir().expect("a folder");
    let (program, site) =
        (clients.join("node_modules/.bin/skills"), format!("http://{}", scene.address));
    let skills =
        |arguments: Vec<&'static str>| run_skills(&program, folder.path(), arguments, &site);

    let found = skills(vec!["find", "weather"]).await;
    assert!(found.contains("acme@weather"), "{found}");
    let listed = skills(vec!["add", "SITE", "--list"]).await;
    assert!(listed.contains("weather") && listed.contains("Files: 2"), "{listed}");
    skills(vec!["add", "SITE", "--skill", "weather", "--yes", "--agent", "claude-code"]).await;
    let installed = folder.path().join(".claude/skills/weather");
    assert_eq!(
        std::fs::read_to_string(installed.join("SKILL.md")).expect("the skill"),
        manifest("weather", "1.0.0", "")
    );
    assert_eq!(std::fs::read_to_string(installed.join("notes.md")).expect("a file"), "# Notes\n");
    let listed = skills(vec!["list"]).await;
    assert!(listed.contains("weather"), "{listed}");

    // This version of the client updates what comes from `.well-known` by adding it again, and says so.
    let text = manifest("weather", "1.1.0", "");
    scene.publish_ok(&token, "acme", &package_of(&[("SKILL.md", &text)])).await;
    let updated = skills(vec!["update", "weather", "--yes"]).await;
    assert!(updated.contains("skills add"), "{updated}");
    skills(vec!["add", "SITE", "--skill", "weather", "--yes", "--agent", "claude-code"]).await;
    assert_eq!(std::fs::read_to_string(installed.join("SKILL.md")).expect("the skill"), text);
}

/// `SITE` stands for the address of the server.
async fn run_skills(program: &Path, folder: &Path, arguments: Vec<&str>, site: &str) -> String {
    let arguments: Vec<&str> =
        arguments.into_iter().map(|it| if it == "SITE" { site } else { it }).collect();
    run(program.to_owned(), folder, &arguments, site).await
}
