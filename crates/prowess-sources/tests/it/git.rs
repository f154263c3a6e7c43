//! Real repositories, over `file://` and over HTTP.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use insta::assert_snapshot;
use prowess_package::limits::PackageLimits;
use prowess_sources::{GitBounds, Progress, SourceOptions, Sources};
use prowess_store::reference::{GitReference, Reference};
use prowess_store::source::{Pinned, Source as _, SourceErrorKind};
use prowess_testkit::{Recorded, Reply, Script, ScriptedProvider};
use tempfile::TempDir;

use super::{manifest, only, options, reference, shown, sources, told};

/// A repository with a working tree.
pub(super) struct Repository {
    scene: TempDir,
}

impl Repository {
    pub(super) fn new() -> Self {
        let scene = TempDir::new().expect("a folder");
        std::fs::create_dir_all(scene.path().join("home")).expect("a folder");
        std::fs::create_dir_all(scene.path().join("work")).expect("a folder");
        let repository = Self { scene };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        // As public hosts are.
        repository.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
        repository
    }

    fn home(&self) -> PathBuf {
        self.scene.path().join("home")
    }

    fn work(&self) -> PathBuf {
        self.scene.path().join("work")
    }

    pub(super) fn url(&self) -> String {
        format!("file://{}", self.work().display())
    }

    fn git(&self, words: &[&str]) -> String {
        self.git_reading(words, "")
    }

    /// Runs git with a text on standard input.
    fn git_reading(&self, words: &[&str], input: &str) -> String {
        let mut child = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@host.example"])
            .args(["-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false"])
            .args(words)
            .current_dir(self.work())
            .env("HOME", self.home())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("git runs");
        // A command that reads nothing may be gone already.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        let output = child.wait_with_output().expect("git ends");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    pub(super) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.work().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("a file");
    }

    pub(super) fn commit(&self) -> String {
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=x"]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn sources(&self) -> Sources {
        sources(&self.home())
    }

    fn with(&self, change: impl FnOnce(&mut SourceOptions)) -> Sources {
        let mut options = options(&self.home(), &Arc::default());
        change(&mut options);
        Sources::new(options)
    }

    /// What a reference to this repository gives; `@` stands for its address.
    fn shown(&self, text: &str, commit: &str) -> String {
        let reference = reference(&text.replace('@', &self.url()));
        let url = self.url();
        let short = commit.get(..12).unwrap_or("no commit");
        shown(&self.sources(), &reference, &[(&url, "URL"), (short, "COMMIT")])
    }
}

#[test]
fn a_repository_offers_its_skills() {
    let repository = Repository::new();
    repository.write("skills/b/SKILL.md", manifest("b"));
    repository.write("skills/a/SKILL.md", manifest("a"));
    repository.write("skills/a/scripts/run.sh", "#!/bin/sh\n");
    repository.write("skills/a/README.md", "x");
    repository.write(".claude/skills/a/SKILL.md", manifest("a"));
    repository.write("README.md", "x");
    let script = repository.work().join("skills/a/scripts/run.sh");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let commit = repository.commit();
    assert_snapshot!(repository.shown("@", &commit), @"
    a from URL#COMMIT:skills/a
      README.md SKILL.md scripts/run.sh*
    b from URL#COMMIT:skills/b
      SKILL.md
    ");
    assert_snapshot!(repository.shown("@#:skills/b", &commit), @"
    b from URL#COMMIT:skills/b
      SKILL.md
    ");
    assert_snapshot!(repository.shown("@#main:nowhere", &commit), @"
    NotFound: `URL` has no folder `nowhere` at COMMIT
      hint: look at the folder, and at the branch
    ");
    assert_snapshot!(repository.shown("@#nowhere", &commit), @"
    NotFound: `URL` has no branch, tag or commit `nowhere`
      hint: `git ls-remote URL` lists them
    ");
}

#[test]
fn a_lone_skill_is_the_whole_repository() {
    let repository = Repository::new();
    repository.write("SKILL.md", "---\ndescription: It has no name.\n---\n\nBody.\n");
    repository.write("examples/x/SKILL.md", manifest("x"));
    let commit = repository.commit();
    assert_snapshot!(repository.shown("@", &commit), @"
    work from URL#COMMIT
      SKILL.md examples/x/SKILL.md
    ");
    repository.git(&["rm", "--quiet", "-r", "."]);
    let commit = repository.commit();
    assert_snapshot!(repository.shown("@", &commit), @"
    NotFound: `URL` has no `SKILL.md`
      hint: look at the folder, and at the branch
    ");
}

#[test]
fn branches_tags_and_commits_are_found_by_their_names() {
    let repository = Repository::new();
    repository.write("SKILL.md", manifest("one"));
    let first = repository.commit();
    repository.git(&["tag", "--annotate", "--message=x", "v1"]);
    repository.git(&["branch", "feature/x"]);
    repository.git(&["update-ref", "refs/tags/--help", "HEAD"]);
    repository.write("new.md", "x");
    let second = repository.commit();
    let sources = repository.sources();
    let check = |revision: Option<&str>, expected: &str| {
        let revision = revision.map(str::to_owned);
        // Made here and not from a word, because no word of a user may begin with a hyphen.
        let reference =
            Reference::Git(GitReference { url: repository.url(), revision, folder: None });
        let Pinned::Git { commit, .. } = only(&sources, &reference) else { panic!("git") };
        assert_eq!(commit, expected, "{reference}");
    };
    check(None, &second);
    check(Some("main"), &second);
    check(Some("v1"), &first);
    check(Some("feature/x"), &first);
    check(Some(&first), &first);
    check(Some(&first[..9]), &first);
    // NEG-4: a name that git would take for an option.
    check(Some("--help"), &first);
}

#[test]
fn a_recorded_commit_is_fetched_exactly() {
    for allowed in ["true", "false"] {
        let repository = Repository::new();
        repository.git(&["config", "uploadpack.allowAnySHA1InWant", allowed]);
        repository.git(&["config", "uploadpack.allowReachableSHA1InWant", allowed]);
        repository.write("SKILL.md", manifest("one"));
        repository.commit();
        let pinned = only(&repository.sources(), &reference(&format!("git+{}", repository.url())));
        repository.write("later.md", "x");
        repository.commit();
        let fetched = repository.sources().fetch("one", &pinned).expect("the commit is there");
        assert!(fetched.tree.get("later.md").is_none(), "{allowed}");

        // What nobody has any more is not replaced by what there is.
        let Pinned::Git { url, revision, folder, .. } = pinned else { panic!("git") };
        let gone = Pinned::Git { url, commit: "0".repeat(39) + "1", revision, folder };
        let error = repository.sources().fetch("one", &gone).expect_err("no such commit");
        assert_eq!(error.kind, SourceErrorKind::NotFound, "{}", told(&error));
    }
}

#[test]
fn links_submodules_and_hidden_files_are_left_out_with_a_note() {
    let repository = Repository::new();
    let other = Repository::new();
    other.write("SKILL.md", manifest("other"));
    other.commit();
    repository.write("SKILL.md", manifest("one"));
    repository.write(".env", "TOKEN=x");
    repository.write(".github/workflows/x.yml", "x");
    repository.write("drafts/x.md", "x");
    repository.write(".skillignore", "drafts/\n");
    repository
        .write("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n");
    std::os::unix::fs::symlink("/etc/passwd", repository.work().join("link")).expect("a link");
    std::os::unix::fs::symlink("SKILL.md", repository.work().join("near")).expect("a link");
    repository.git(&["submodule", "--quiet", "add", &other.url(), "inner"]);
    let commit = repository.commit();
    assert_snapshot!(repository.shown("@", &commit), @"
    one from URL#COMMIT
      .skillignore SKILL.md big.bin
    note: hidden files and links of `URL#COMMIT` are not installed: `.env`, `.github/workflows/x.yml`, `.gitmodules`, `inner`, `link`, `near`
    note: `big.bin` is only a pointer to a file in git LFS, which is not fetched
    ");
}

#[test]
fn nothing_in_a_repository_is_ever_run() {
    let repository = Repository::new();
    let witness = repository.scene.path().join("witness");
    let program = format!("#!/bin/sh\ntouch '{}'\n", witness.display());
    // Hooks of the repository itself, and of a template of the user's.
    let hooks = repository.work().join(".git/hooks");
    let template = repository.home().join("template/hooks");
    for folder in [&hooks, &template] {
        std::fs::create_dir_all(folder).expect("a folder");
        for hook in ["post-checkout", "post-merge", "reference-transaction", "post-index-change"] {
            let path = folder.join(hook);
            std::fs::write(&path, &program).expect("a file");
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        }
    }
    let monitor = repository.scene.path().join("monitor");
    std::fs::write(&monitor, &program).expect("a file");
    std::fs::set_permissions(&monitor, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let settings = format!(
        "[init]\n\ttemplateDir = {}\n[core]\n\tfsmonitor = {monitor}\n\thooksPath = {}\n[filter \"evil\"]\n\tsmudge = {monitor}\n\tprocess = {monitor}\n",
        repository.home().join("template").display(),
        template.display(),
        monitor = monitor.display()
    );
    repository.write("SKILL.md", manifest("one"));
    repository.write(".gitattributes", "* filter=evil\n");
    // Committed before the settings are there, which are the user's and would run for the test's own git.
    let commit = repository.commit();
    std::fs::remove_file(&witness).ok();
    std::fs::write(repository.home().join(".gitconfig"), settings).expect("a file");
    std::fs::write(
        repository.work().join(".git/config"),
        format!(
            "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = {}\n[uploadpack]\n\tpackObjectsHook = {}\n",
            monitor.display(),
            monitor.display()
        ),
    )
    .expect("a file");
    assert_snapshot!(repository.shown("@", &commit), @"
    one from URL#COMMIT
      .gitattributes SKILL.md
    ");
    assert!(!witness.exists(), "a program of the repository was run");
}

#[test]
fn addresses_reach_git_as_one_word() {
    // NEG-4: were any of these read by a shell, the witness would be there.
    let scene = TempDir::new().expect("a folder");
    let witness = scene.path().join("witness");
    let sources = sources(scene.path());
    for odd in [
        "file:///nowhere/\"; touch WITNESS; \"",
        "file:///nowhere/$(touch WITNESS)",
        "file:///nowhere/`touch WITNESS`",
        "file:///nowhere/;touch WITNESS",
        "/nowhere/ && touch WITNESS",
        "--upload-pack=touch WITNESS",
        "ext::touch WITNESS",
        "ssh://-oProxyCommand=touch%20WITNESS/x",
    ] {
        let url = odd.replace("WITNESS", &witness.display().to_string());
        let reference = Reference::Git(GitReference { url, revision: None, folder: None });
        let error = sources.offers(&reference).expect_err(odd);
        let expected = [SourceErrorKind::NotFound, SourceErrorKind::Unusable];
        assert!(expected.contains(&error.kind), "{odd}: {}", told(&error));
        assert!(!witness.exists(), "{odd} was run");
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let repository = Repository::new();
    repository.write("SKILL.md", manifest("one"));
    let noise: Vec<u8> =
        (0..300_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    repository.write("big.bin", noise);
    repository.commit();
    let reference = reference(&format!("git+{}", repository.url()));
    let show = |sources: &Sources| {
        let Pinned::Git { commit, .. } = only(&repository.sources(), &reference) else { panic!() };
        shown(sources, &reference, &[(&repository.url(), "URL"), (&commit[..12], "COMMIT")])
    };
    let small_files = PackageLimits { file_bytes: 1 << 20, ..PackageLimits::PACKAGE };
    assert_snapshot!(show(&repository.with(|options| options.limits = small_files)), @"
    one from URL#COMMIT
      Unusable: `URL#COMMIT`: it has more than 2000 files, 50 MiB, or 1 MiB in one file
    ");
    let few_files = PackageLimits { entries: 1, ..PackageLimits::PACKAGE };
    assert_snapshot!(show(&repository.with(|options| options.limits = few_files)), @"
    one from URL#COMMIT
      Unusable: `URL#COMMIT`: it has more than 1 files, 50 MiB, or 10 MiB in one file
    ");
    let small_fetch = GitBounds { fetched_bytes: 1 << 20, ..GitBounds::USUAL };
    assert_snapshot!(show(&repository.with(|options| options.git = small_fetch)), @"
    Unusable: `URL` has more than 1 MiB
      hint: download the skill as an archive
    ");
    let short_list = GitBounds { listing_bytes: 40, ..GitBounds::USUAL };
    assert_snapshot!(show(&repository.with(|options| options.git = short_list)), @"
    Unusable: `URL` has too many files
      hint: name the folder of the skill
    ");
}

#[test]
fn without_git_or_network_the_error_says_so() {
    let repository = Repository::new();
    let reference = reference(&format!("git+{}", repository.url()));
    let url = repository.url();
    let show = |sources: Sources| shown(&sources, &reference, &[(&url, "URL")]);
    let no_git = repository.with(|options| {
        options.variables.retain(|(name, _)| name != "PATH");
        options.variables.push(("PATH".to_owned(), "/nowhere".to_owned()));
    });
    assert_snapshot!(show(no_git), @"
    Unusable: skills from repositories need `git`, which is not installed
      hint: install git, or download the skill as an archive
    ");
    assert_snapshot!(show(repository.with(|options| options.offline = true)), @"
    Unreachable: can't fetch `URL` while offline
      hint: allow network access
    ");
}

/// A CGI server in front of git's own `http-backend`.
fn serve(work: &Path) -> ScriptedProvider {
    let work = work.to_owned();
    ScriptedProvider::start(Script::by(move |request| backend(&work, request)))
}

fn backend(work: &Path, request: &Recorded) -> Reply {
    if request.path().starts_with("/private/") {
        return Reply::bytes(401, "text/plain", "no")
            .header("www-authenticate", "Basic realm=\"x\"");
    }
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", work.parent().expect("a folder"))
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
fn repositories_are_fetched_over_http() {
    let repository = Repository::new();
    repository.write("skills/a/SKILL.md", manifest("a"));
    let commit = repository.commit();
    let server = serve(&repository.work());
    let lines = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&lines);
    let sources = repository.with(|options| {
        options.progress = Progress::new(move |line| {
            heard.lock().expect("a list").extend(line.map(str::to_owned));
        });
    });
    let show = |path: &str| {
        let reference = reference(&format!("git+{}/{path}", server.url()));
        shown(&sources, &reference, &[(server.url(), "URL"), (&commit[..12], "COMMIT")])
    };
    assert_snapshot!(show("work/.git"), @"
    a from URL/work/.git#COMMIT:skills/a
      SKILL.md
    ");
    assert!(!lines.lock().expect("a list").is_empty(), "nobody was told of the progress");
    // Two skills of one commit, or one skill twice, are one fetch.
    let asked = server.requests().len();
    let reference = reference(&format!("git+{}/work/.git", server.url()));
    let pinned = Pinned::Git {
        url: format!("{}/work/.git", server.url()),
        commit: commit.clone(),
        revision: None,
        folder: Some("skills/a".parse().expect("a path")),
    };
    sources.fetch("a", &pinned).expect("it is here");
    assert_eq!(server.requests().len(), asked, "{reference}");
    assert_snapshot!(show("elsewhere/.git"), @"
    NotFound: there is no repository `URL/elsewhere/.git`
      hint: check the spelling; a private repository needs credentials that git knows
    ");
    assert_snapshot!(show("private/x.git"), @"
    Denied: there is no repository `URL/private/x.git`, or git has no access to it
      hint: check the spelling; for a private repository, `git ls-remote URL/private/x.git` must work
    ");
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for() {
    let home = TempDir::new().expect("a folder");
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let mut options = options(home.path(), &Arc::default());
    options.git.time = std::time::Duration::from_secs(1);
    let reference = reference(&format!("git+{url}/x.git"));
    assert_snapshot!(shown(&Sources::new(options), &reference, &[(&url, "URL")]), @"
    Unreachable: git took longer than 1 seconds for `URL/x.git`
      hint: try again, or download the skill as an archive
    ");
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    // Trees that no working folder can have are made of their lines.
    for (line_name, expected) in [
        ("..", "has a part `.` or `..`"),
        ("a\\..\\b", "has a backslash, use `/`"),
        ("aux.md", "has a part that is a device name on Windows"),
        ("C:x", "has a colon, which names a drive or a hidden stream on Windows"),
        ("a\u{202e}b", "has a control or invisible character"),
    ] {
        let repository = Repository::new();
        let manifest = repository.git_reading(&["hash-object", "-w", "--stdin"], &manifest("one"));
        let inner = repository.git_reading(&["mktree"], &format!("100644 blob {manifest}\tx.md\n"));
        let lines = match line_name {
            ".." => format!("100644 blob {manifest}\tSKILL.md\n040000 tree {inner}\t..\n"),
            name => format!("100644 blob {manifest}\tSKILL.md\n100644 blob {manifest}\t{name}\n"),
        };
        let tree = repository.git_reading(&["mktree", "-z"], &lines.replace('\n', "\0"));
        let commit = repository.git(&["commit-tree", "-m", "x", &tree]);
        repository.git(&["update-ref", "refs/heads/main", &commit]);
        let shown = repository.shown("@", &commit);
        assert!(shown.contains("Unusable: ") && shown.contains(expected), "{line_name}: {shown}");
    }
}
