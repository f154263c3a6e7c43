//! Skills that are read before they are installed: every reference that `install` takes, through the real binary.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use prowess_testkit::archives::{file, gz, tar};
use prowess_testkit::{Published, Recorded, Reply, Scene, Script, ScriptedProvider, TestRegistry};

use crate::packages::{
    STORE, home, home_with, installed, manifest, packed, release, sign, steady, trust,
};

/// A skill with a tool whose policy can be decided.
fn tooled(version: &str) -> String {
    format!(
        "---\nname: greet\nversion: {version}\ndescription: Greets people\nauthor: ada\nread_only: true\npermissions: [\"shell:execute:echo\"]\n---\n\n# Greet\n\n### hello\n\nSays hello.\n\n#### Command\n\n```bash\necho hello\n```\n"
    )
}

/// A version of that skill for a registry.
fn tooled_release(version: &str) -> Published {
    let author = home().file("greet/SKILL.md", tooled(version));
    Published::new("acme", "greet", version, packed(&author, "greet"))
}

/// Runs git in a folder of the scene.
fn git(scene: &Scene, folder: &str, words: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@host.example"])
        .args(["-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"])
        .args(words)
        .current_dir(scene.path().join(folder))
        .env("HOME", scene.path().join("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .status()
        .expect("git runs");
    assert!(status.success(), "{words:?}");
}

/// A scene whose temporary files lie in it, with a repository of two skills and a bare copy of it.
fn repository() -> Scene {
    let scene = with_temporary(home())
        .file("work/skills/greet/SKILL.md", tooled("1.0.0"))
        .file("work/skills/greet/notes.md", "Notes.\n")
        .file("work/skills/part/SKILL.md", manifest("part", "2.0.0", ""));
    git(&scene, "work", &["init", "--quiet"]);
    git(&scene, "work", &["add", "--all"]);
    git(&scene, "work", &["commit", "--quiet", "--message=x"]);
    git(&scene, "work", &["tag", "v1"]);
    git(&scene, ".", &["clone", "--quiet", "--bare", "work", "bare.git"]);
    scene
}

fn with_temporary(scene: Scene) -> Scene {
    std::fs::create_dir_all(scene.path().join("temporary")).expect("a folder");
    let temporary = scene.path().join("temporary").display().to_string();
    scene.variable("TMPDIR", &temporary)
}

/// Asserts that reading has installed nothing and that no temporary file is left.
#[track_caller]
fn nothing_stays(scene: &Scene, words: &str) {
    assert!(installed(scene).is_empty(), "{words} has installed something");
    let left: Vec<_> = std::fs::read_dir(scene.path().join("temporary"))
        .expect("the folder of temporary files")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert!(left.is_empty(), "{words} has left {left:?}");
}

/// Reads a reference to the skill `greet` with every verb, and gives what they print.
#[track_caller]
fn read(scene: &Scene, reference: &str) -> String {
    let mut pages = String::new();
    for verb in ["show", "check", "policy", "verify", "info"] {
        let words = format!("{verb} {reference}");
        let said = scene.run(&words);
        assert!(said.starts_with("exit 0"), "{words}: {said}");
        assert!(said.contains("greet"), "{words}: {said}");
        assert!(!said.contains("prowess-skill-"), "{words} shows a temporary folder: {said}");
        nothing_stays(scene, &words);
        let json =
            scene.output(&format!("{words} --format json").split(' ').collect::<Vec<&str>>(), "");
        assert!(json.status.success(), "{words}");
        serde_json::from_slice::<serde_json::Value>(&json.stdout)
            .unwrap_or_else(|error| panic!("{words} --format json: {error}"));
        match verb {
            "policy" => assert!(said.contains("it was downloaded"), "{words}: {said}"),
            "info" => assert!(said.contains("not installed"), "{words}: {said}"),
            _ => pages.push_str(&["$ ", verb, "\n", &steady(&said), "\n"].concat()),
        }
    }
    let words = format!("render {reference} --format json");
    assert!(!scene.run(&words).contains("does not exist"), "{words}");
    pages
}

#[test]
fn a_repository_is_read_before_it_is_installed() {
    let scene = repository();
    assert_snapshot!(read(&scene, "./bare.git#v1:skills/greet"));
    // As a path, as an address, by its branch, by name.
    let url = format!("file://{}/work", scene.path().display());
    for reference in [
        format!("{url}#main:skills/greet"),
        format!("git+{url}#:skills/greet"),
        format!("{url} --skill greet"),
        "./bare.git --skill greet".to_owned(),
        "bare.git --skill greet".to_owned(),
        "./work#v1:skills/greet".to_owned(),
    ] {
        read(&scene, &reference);
    }
    // A working folder is read as it is, and is no download.
    let shown = scene.run("show ./work --skill part");
    assert!(shown.starts_with("exit 0") && shown.contains("part@2.0.0"), "{shown}");
    assert!(!shown.contains("nothing was installed"), "{shown}");
    // Installing takes the same words.
    let said = scene.run("install ./bare.git --skill greet --allow-experimental --yes");
    assert!(said.contains("installed greet 1.0.0"), "{said}");
}

#[test]
fn a_source_with_several_skills_is_listed() {
    let scene = repository();
    for verb in ["show", "policy", "info", "render"] {
        for reference in ["./bare.git", "work"] {
            let said = scene.run(&format!("{verb} {reference}"));
            assert!(said.starts_with("exit 2"), "{verb} {reference}: {said}");
            assert!(said.contains("contains 2 skills: `greet`, `part`"), "{verb}: {said}");
            assert!(said.contains("--skill NAME"), "{verb}: {said}");
        }
    }
    assert_snapshot!(steady(&scene.run("check ./bare.git --format concise")), @"
    exit 0
    --- stdout
    [SCENE]/bare.git#[HEX]:skills/greet/SKILL.md:12:1: warning[missing-parameters-section] `hello` has no parameters section
    --- stderr
    note: read from [SCENE]/bare.git#[HEX]:skills/greet; nothing was installed
    note: read from [SCENE]/bare.git#[HEX]:skills/part; nothing was installed
    checked 2 files: 0 errors, 1 warning
    ");
    assert_snapshot!(steady(&scene.run("verify ./bare.git")), @"
    exit 0
    --- stdout
    greet 1.0.0: not signed
      from       [SCENE]/bare.git#[HEX]:skills/greet
    part 2.0.0: not signed
      from       [SCENE]/bare.git#[HEX]:skills/part
    ");
    assert_snapshot!(scene.run("show ./bare.git --skill nobody"), @"
    exit 3
    --- stderr
    error: `[SCENE]/bare.git` contains no skill `nobody`, only: `greet`, `part`
    ");
    nothing_stays(&scene, "show");
}

#[test]
fn what_is_wrong_with_a_repository_is_said_as_by_install() {
    let scene = repository();
    let url = format!("file://{}/work", scene.path().display());
    for (reference, code) in [
        (format!("{url}#v9"), 3),
        (format!("{url}#v1:skills/nowhere"), 3),
        (format!("{url}#v1:../greet"), 2),
        (format!("file://{}/nowhere", scene.path().display()), 3),
        ("ext::sh -c id".to_owned(), 2),
        ("https://127.0.0.1:1/x.tar.gz".to_owned(), 1),
        ("http://127.0.0.1:1".to_owned(), 1),
    ] {
        let install = scene.run_with(&["install", &reference], "");
        let why = install.lines().find(|line| line.starts_with("error")).expect("an error");
        for verb in ["show", "check", "policy", "info", "verify"] {
            let said = scene.run_with(&[verb, &reference], "");
            let is_local = reference.starts_with("ext::");
            assert!(is_local || said.starts_with(&format!("exit {code}")), "{reference}: {said}");
            assert!(is_local || said.contains(why), "{verb} {reference}: {said}\n{why}");
            assert!(!said.starts_with("exit 0"), "{verb} {reference}: {said}");
            nothing_stays(&scene, &reference);
        }
    }
}

#[test]
fn nothing_is_asked_while_offline() {
    let provider = ScriptedProvider::start(Script::new([]));
    let scene = with_temporary(home());
    let host = provider.url().trim_start_matches("http://").to_owned();
    for reference in [
        host,
        format!("{}/x.tar.gz", provider.url()),
        format!("{}/x.git", provider.url()),
        "acme/greet".to_owned(),
    ] {
        for verb in ["show", "check", "policy", "info", "verify", "render"] {
            let said = scene.run(&format!("{verb} {reference} --offline"));
            assert!(said.starts_with("exit 1"), "{verb} {reference}: {said}");
            assert!(said.contains("while offline"), "{verb} {reference}: {said}");
            assert!(said.contains("run without `--offline`"), "{verb} {reference}: {said}");
        }
    }
    assert!(provider.requests().is_empty());
}

/// A CGI server in front of git's own `http-backend`.
fn serve(work: &Path) -> ScriptedProvider {
    let work = work.to_owned();
    ScriptedProvider::start(Script::by(move |request| backend(&work, request)))
}

fn backend(root: &Path, request: &Recorded) -> Reply {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", &request.method)
        .env("CONTENT_TYPE", request.header("content-type").unwrap_or_default())
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", request.header("content-encoding").unwrap_or_default())
        .env("GIT_PROTOCOL", request.header("git-protocol").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().expect("git runs");
    child.stdin.take().expect("a pipe").write_all(&request.body).expect("it is read");
    let output = child.wait_with_output().expect("it ends").stdout;
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let field = |name: &str| {
        head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
    };
    let status = field("Status").map_or(200, |status| status[..3].parse().expect("a status"));
    let content_type = field("Content-Type").unwrap_or_else(|| "text/plain".to_owned());
    Reply::bytes(status, &content_type, &output[end + 4..])
}

#[test]
fn repositories_domains_and_archives_are_read_over_http() {
    let scene = repository();
    let server = serve(scene.path());
    read(&scene, &format!("{}/bare.git#v1:skills/greet", server.url()));
    let gone = scene.run(&format!("show {}/gone.git", server.url()));
    assert!(gone.starts_with("exit 3") && gone.contains("there is no repository"), "{gone}");

    let page = Reply::bytes(200, "text/markdown", tooled("1.0.0"));
    let script = Script::new([]).page("/.well-known/skills/default/skill.md", page);
    let domain = ScriptedProvider::start(script);
    let host = domain.url().trim_start_matches("http://").to_owned();
    read(&scene, &host);

    let scene = scene.file("greet/SKILL.md", tooled("1.0.0"));
    let archive = Reply::bytes(200, "application/gzip", packed(&scene, "greet"));
    let files = ScriptedProvider::start(Script::new([]).page("/greet.tar.gz", archive));
    read(&scene, &format!("{}/greet.tar.gz", files.url()));
    let gone = scene.run(&format!("check {}/other.tar.gz", files.url()));
    assert!(gone.starts_with("exit 3") && gone.contains("there is nothing at"), "{gone}");
}

#[test]
fn skills_of_a_registry_are_read() {
    let registry = TestRegistry::start();
    registry.publish(tooled_release("1.0.0"));
    registry.publish(tooled_release("2.0.0"));
    let scene = with_temporary(home_with(&registry));
    for reference in ["greet", "greet@^1", "acme/greet", "@acme/greet@1.0.0"] {
        read(&scene, reference);
    }
    let shown = scene.run("show greet@^1");
    assert!(shown.contains("greet@1.0.0"), "{shown}");
    assert!(scene.run("show greet").contains("greet@2.0.0"));
    let missing = scene.run("show nobody");
    assert!(
        missing.starts_with("exit 3") && missing.contains("has no skill `nobody`"),
        "{missing}"
    );
    let none = scene.run("show greet@^7");
    assert!(none.starts_with("exit 3") && none.contains("no version of `acme/greet`"), "{none}");
    // An installed version does not hide the others.
    let said = scene.run("install greet@^1 --allow-experimental --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(scene.run("show greet").contains("greet@1.0.0"));
    assert!(scene.run("show greet@^2").contains("greet@2.0.0"));
}

#[test]
fn archives_are_read_where_they_are() {
    let scene = with_temporary(home()).file("greet/SKILL.md", tooled("1.0.0"));
    let _ = packed(&scene, "greet");
    assert_snapshot!(read(&scene, "packed.tar.gz"));
    read(&scene, "./packed.tar.gz");
    let two = gz(&tar(&[
        file("one/SKILL.md", manifest("one", "1.0.0", "").as_bytes()),
        file("two/SKILL.md", manifest("two", "1.0.0", "").as_bytes()),
    ]));
    let scene = scene.file("two.tar.gz", two).file("broken.tar.gz", [0x1f, 0x8b, 8, 0]);
    for verb in ["show", "check", "policy", "info", "verify"] {
        let said = scene.run(&format!("{verb} two.tar.gz"));
        assert!(said.starts_with("exit 1"), "{verb}: {said}");
        assert!(said.contains("more than one skill: one, two"), "{verb}: {said}");
        let said = scene.run(&format!("{verb} broken.tar.gz"));
        assert!(said.starts_with("exit 1"), "{verb}: {said}");
        assert!(said.contains("damaged or malicious"), "{verb}: {said}");
        let said = scene.run(&format!("{verb} missing.tar.gz"));
        assert!(said.starts_with("exit 3"), "{verb}: {said}");
        assert!(said.contains("`missing.tar.gz` does not exist"), "{verb}: {said}");
    }
}

#[test]
fn a_fetched_skill_is_a_download_and_its_signature_counts() {
    let scene = with_temporary(home()).file("greet/SKILL.md", tooled("1.0.0"));
    sign(&scene, "greet", "release");
    let _ = packed(&scene, "greet");
    let trusted = |scene: &Scene| {
        let said = scene.run("policy packed.tar.gz");
        said.lines()
            .filter(|line| line.contains("experimental") || line.contains("community"))
            .map(str::to_owned)
            .collect::<Vec<String>>()
            .join("\n")
    };
    assert!(trusted(&scene).contains("experimental"), "{}", scene.run("policy packed.tar.gz"));
    trust(&scene, "release", "publisher");
    assert!(trusted(&scene).contains("community"), "{}", scene.run("policy packed.tar.gz"));
    assert!(scene.run("info packed.tar.gz").contains("greet 1.0.0, community"));
    assert!(scene.run("info packed.tar.gz").contains("trusted as publisher"));
}

#[test]
fn a_broken_signature_is_reported_by_whoever_reads() {
    let scene = with_temporary(home()).file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    sign(&scene, "greet", "release");
    let scene = scene.file("greet/SKILL.md", tooled("1.0.0"));
    git(&scene, "greet", &["init", "--quiet"]);
    git(&scene, "greet", &["add", "--all"]);
    git(&scene, "greet", &["commit", "--quiet", "--message=x"]);
    let url = format!("file://{}/greet", scene.path().display());
    for verb in ["show", "check", "policy", "info"] {
        let said = scene.run(&format!("{verb} {url}"));
        assert!(said.contains("`greet` can't be installed: the signature"), "{verb}: {said}");
        assert!(said.contains("files changed after signing"), "{verb}: {said}");
    }
    assert!(scene.run(&format!("verify {url}")).starts_with("exit 1"));
}

#[test]
fn names_paths_and_repositories_are_told_apart() {
    let scene = with_temporary(home())
        .file("greet/SKILL.md", manifest("greet", "1.0.0", ""))
        .file("acme/greet/SKILL.md", manifest("greet", "3.0.0", ""))
        .file("other/SKILL.md", manifest("other", "1.0.0", ""));
    // A bare name that is not installed may be a folder.
    for verb in ["show", "check", "policy", "verify", "info"] {
        let said = scene.run(&format!("{verb} other"));
        assert!(said.starts_with("exit 0"), "{verb}: {said}");
    }
    // A name in a folder that is there is a typing error, and nobody is asked for a repository.
    for verb in ["show", "check", "policy", "verify", "info"] {
        let said = scene.run(&format!("{verb} acme/gret"));
        assert!(said.starts_with("exit 3"), "{verb}: {said}");
    }
    // `a/b` that is there and could be a repository.
    assert_snapshot!(scene.run("install acme/greet --allow-experimental"), @"
    exit 2
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `acme/greet` is an existing file or folder, but could also be a repository
    hint: write `./acme/greet` for the one here, or `https://github.com/acme/greet` for the other
    ");
    assert!(installed(&scene).is_empty());
    let registry = TestRegistry::start();
    registry.publish(release("greet", "1.0.0", ""));
    let scene = scene.variable("PROWESS_REGISTRY", registry.url());
    assert_snapshot!(scene.run("install acme/greet --allow-experimental"), @"
    exit 2
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `acme/greet` is an existing file or folder, but could also be a skill in the registry
    hint: write `./acme/greet` for the one here, or `@acme/greet` for the other
    ");
    let said = scene.run("install @acme/greet --allow-experimental --yes");
    assert!(said.contains("installed greet 1.0.0"), "{said}");
    // What is installed wins, and both are named.
    for verb in ["show", "check", "policy", "verify", "info"] {
        let said = scene.run(&format!("{verb} greet"));
        assert!(said.starts_with("exit 0"), "{verb}: {said}");
        assert!(
            said.contains("`greet` is the installed skill; there is also a path (`./greet`)"),
            "{verb}: {said}"
        );
        let said = scene.run(&format!("{verb} ./greet"));
        assert!(!said.contains("there is also"), "{verb}: {said}");
    }
    assert_snapshot!(scene.run("check --fix greet"), @"
    exit 2
    --- stderr
    error: `--fix` changes files, and `greet` is an installed skill
    hint: `./greet` is the path here
    ");
    let said = scene.run("install ./acme/greet --allow-experimental --yes --replace-owner");
    assert!(said.contains("installed greet 3.0.0"), "{said}");
    assert!(scene.text(&format!("{STORE}/skills/greet/SKILL.md")).contains("3.0.0"));
}

#[test]
fn fixes_and_choices_need_something_to_change() {
    let scene = repository();
    assert_snapshot!(scene.run("check --fix ./bare.git"), @"
    exit 2
    --- stderr
    error: `--fix` changes files, and `./bare.git` is only fetched to be read
    hint: run it without `--fix`
    ");
    assert_snapshot!(scene.run("show work/skills/part --skill part"), @"
    exit 2
    --- stderr
    error: `work/skills/part/SKILL.md` is one skill, so none can be chosen
    hint: run it without `--skill`
    ");
}
