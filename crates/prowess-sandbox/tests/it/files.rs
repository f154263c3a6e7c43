//! Granted files: patterns, created folders, and what remains on the host.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::process::{Command, Stdio};

use prowess_sandbox::{
    ExitReason, FileAccess, FileGrant, HardLinks, Input, Observer, OutputStream, PreparedSandbox,
    Sandbox, SandboxError, Spec, run,
};

use crate::attacks::repeat_as_nobody;
use crate::world::{Kept, World, ran};

impl World {
    fn matching(&self, name: &str, access: FileAccess, pattern: &str) -> FileGrant {
        FileGrant { pattern: Some(pattern.to_owned()), ..self.grant(name, access) }
    }

    /// Files below the root, with their folders.
    fn files(&self, names: &[&str]) {
        for name in names {
            let path = self.path(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, format!("text of {name}")).expect("a file");
        }
    }
}

/// Lists a folder with the beginnings of its files.
const LOOK: &str = r#"
def look(top):
    for folder, folders, names in sorted(os.walk(top)):
        for name in sorted(names + [name for name in folders if os.path.islink(folder + "/" + name)]):
            path = folder + "/" + name
            attempt(os.path.relpath(path, top), lambda: read(path))
"#;

fn look(world: &World, payload: &str, files: Vec<FileGrant>) -> Spec {
    let root = world.path("");
    let mut spec =
        world.python(&format!("ROOT = {:?}\n{LOOK}\n{payload}", root.display().to_string()));
    spec.files = files;
    spec
}

/// The output of a program that exits with 0.
fn prints(spec: Spec) -> String {
    let (ended, output, error) = ran(spec);
    assert_eq!(ended.expect("it starts").exit, ExitReason::Exited(0), "{output}{error}");
    output
}

#[test]
fn a_read_pattern_makes_only_matching_files_visible() {
    // Attack sandbox-A14.
    let world = World::new();
    world.files(&["data/a.csv", "data/.b.csv", "data/b.json", "data/sub/c.csv", "data/x.csv/d"]);
    symlink(world.path("sec/k"), world.path("data/link.csv")).expect("a link");
    symlink(world.path("sec"), world.path("data/folder")).expect("a link");
    let show = |pattern| {
        let grant = world.matching("data", FileAccess::Read, pattern);
        prints(look(&world, "look(ROOT + '/data')", vec![grant]))
    };
    assert_eq!(
        show("*.csv"),
        ".b.csv: done 'text of data/.b.csv'\na.csv: done 'text of data/a.csv'\n"
    );
    assert_eq!(show("sub/*"), "sub/c.csv: done 'text of data/sub/c.csv'\n");
    assert_eq!(show("**/c.csv"), "sub/c.csv: done 'text of data/sub/c.csv'\n");
    // The folder is visible even if nothing in it matches.
    assert_eq!(show("*.none"), "");
    let grant = world.matching("data", FileAccess::Read, "*.none");
    let mut spec =
        look(&world, "print(os.getcwd() == ROOT + '/data', os.listdir('.'))", vec![grant]);
    spec.working_directory = world.path("data");
    assert_eq!(prints(spec), "True []\n");
    let grant = world.matching("data", FileAccess::Read, "*.csv");
    let payload = "
attempt('change', lambda: write(ROOT + '/data/a.csv'))
try:
    os.unlink(ROOT + '/data/a.csv')
except OSError as error:
    # Which wall comes first depends on who owns the folder.
    print('delete:', errno.errorcode[error.errno] in ('EACCES', 'EBUSY', 'EROFS'))
attempt('beside', lambda: read(ROOT + '/data/b.json'))
attempt('secret', lambda: read(ROOT + '/data/folder/k'))
attempt('up', lambda: os.listdir(ROOT))";
    assert_eq!(
        prints(look(&world, payload, vec![grant])),
        "change: EROFS\ndelete: True\nbeside: ENOENT\nsecret: ENOENT\nup: done ['data']\n"
    );
}

#[test]
fn a_read_pattern_is_a_snapshot() {
    // Attack sandbox-A14: files that are created later are not visible.
    let world = World::new();
    world.files(&["data/a.csv"]);
    let grant = world.matching("data", FileAccess::Read, "*.csv");
    let mut spec = look(&world, "look(ROOT + '/data')", vec![grant]);
    let arguments = std::mem::take(&mut spec.arguments);
    let prepared = PreparedSandbox::new(spec).expect("the sandbox is set up");
    world.files(&["data/c.csv"]);
    let sandbox = prepared.start(&arguments, &[], Input::Empty).expect("it starts");
    let mut kept = Kept::default();
    sandbox.wait(&mut kept).expect("it ends");
    assert_eq!(kept.output.finish().text, "a.csv: done 'text of data/a.csv'\n");
}

#[test]
fn a_pattern_inside_a_wider_grant_protects_what_it_matches() {
    let world = World::new();
    world.files(&["ws/a.lock", "ws/b"]);
    let before = world.tree();
    let payload = "
attempt('locked', lambda: write(ROOT + '/ws/a.lock'))
attempt('other', lambda: write(ROOT + '/ws/b'))";
    // The order of the grants does not matter.
    for turn in [false, true] {
        let mut grants = vec![
            world.matching("ws", FileAccess::Read, "*.lock"),
            world.grant("ws", FileAccess::Write),
        ];
        if turn {
            grants.reverse();
        }
        assert_eq!(prints(look(&world, payload, grants)), "locked: EROFS\nother: done\n");
        let grants = vec![
            world.matching("ws", FileAccess::Read, "*.none"),
            world.grant("", FileAccess::Read),
        ];
        assert_eq!(prints(look(&world, payload, grants)), "locked: EROFS\nother: EROFS\n");
    }
    assert_eq!(world.tree(), before);
}

#[test]
fn invalid_patterns_are_refused() {
    let world = World::new();
    world.files(&["data/a.csv"]);
    symlink(world.path("data"), world.path("link")).expect("a link");
    for (name, pattern) in [
        ("data", "../*"),
        ("data", "/etc/*"),
        ("data", "[a-z]*"),
        ("data", ""),
        ("data/a.csv", "*"),
        ("link", "*"),
    ] {
        for access in [FileAccess::Read, FileAccess::Write] {
            let spec = look(&world, "print('ran')", vec![world.matching(name, access, pattern)]);
            let (ended, output, _) = ran(spec);
            assert!(
                matches!(ended, Err(SandboxError::Grant { .. })),
                "{name} {pattern}: {ended:?}"
            );
            assert_eq!(output, "");
        }
    }
}

#[test]
fn a_pattern_that_matches_too_much_is_refused() {
    let world = World::new();
    let (folder, _) = many_files(4097);
    let grant = |access, pattern: &str| FileGrant {
        path: folder.path().to_owned(),
        access,
        pattern: Some(pattern.to_owned()),
        create: false,
    };
    for access in [FileAccess::Read, FileAccess::Write] {
        let spec = look(&world, "print('ran')", vec![grant(access, "*")]);
        let (ended, output, _) = ran(spec);
        assert!(matches!(ended, Err(SandboxError::TooLarge { most: 4096, .. })), "{ended:?}");
        assert_eq!(output, "");
    }
    let payload = format!("print(len(os.listdir({:?})))", folder.path().display().to_string());
    assert_eq!(prints(look(&world, &payload, vec![grant(FileAccess::Read, "*-0040??")])), "97\n");
}

/// The discarded files of a run, relative to the world, with their reasons.
fn discarded(world: &World, ended: &prowess_sandbox::SandboxOutcome) -> Vec<String> {
    let root = world.path("");
    ended
        .discarded
        .iter()
        .map(|one| {
            let path = one.path.strip_prefix(&root).expect("below the root");
            format!("{}: {}", path.display(), one.reason)
        })
        .collect()
}

/// The private folders of runs that still exist in this process's temporary folder.
fn stages_left() -> Vec<String> {
    let uid = fs::metadata("/proc/self").expect("/proc is there").uid();
    let prefix = format!("prowess-stage-{uid}-");
    let names = fs::read_dir(std::env::temp_dir()).expect("a folder").flatten();
    names
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(&prefix))
        .collect()
}

#[test]
fn a_write_pattern_keeps_matching_files_only() {
    // Attack sandbox-A15.
    let world = World::new();
    world.files(&["out/old.md", "out/same.md", "out/gone.md", "out/secret.txt", "out/sub/z.md"]);
    let payload = r#"
look(ROOT + "/out")
write(ROOT + "/out/x.md", "x")
write(ROOT + "/out/old.md", "changed")
write(ROOT + "/out/x.sh")
os.mkdir(ROOT + "/out/sub")
write(ROOT + "/out/sub/y.md")
os.unlink(ROOT + "/out/gone.md")
attempt("elsewhere", lambda: write(ROOT + "/ws/x.md"))
attempt("execute", lambda: os.execv(ROOT + "/out/x.sh", ["x"]))
"#;
    let grant = world.matching("out", FileAccess::Write, "*.md");
    let (ended, output, error) = ran(look(&world, payload, vec![grant]));
    let ended = ended.expect("it starts");
    assert_eq!(
        output,
        "gone.md: done 'text of out/gone.md'\nold.md: done 'text of out/old.md'\nsame.md: done 'text of out/same.md'\nelsewhere: ENOENT\nexecute: EACCES\n",
        "{error}"
    );
    assert_eq!(
        discarded(&world, &ended),
        ["out/sub/y.md: it does not match the grant", "out/x.sh: it does not match the grant"]
    );
    let out: Vec<String> =
        world.tree().into_iter().filter(|path| path.starts_with("out/")).collect();
    assert_eq!(
        out,
        ["out/old.md", "out/same.md", "out/secret.txt", "out/sub", "out/sub/z.md", "out/x.md"]
    );
    assert_eq!(world.read("out/x.md").as_deref(), Some("x"));
    assert_eq!(world.read("out/old.md").as_deref(), Some("changed"));
    assert_eq!(world.read("out/sub/z.md").as_deref(), Some("text of out/sub/z.md"));
    let (host, made) = (fs::metadata(world.path("out")), fs::metadata(world.path("out/x.md")));
    assert_eq!(made.expect("a file").uid(), host.expect("a folder").uid());
}

#[test]
fn a_write_pattern_copies_nothing_else_back() {
    // Attack sandbox-A16.
    let world = World::new();
    world.files(&["out/taken.md", "home/.bashrc"]);
    let payload = r#"
os.symlink(ROOT + "/home/.bashrc", ROOT + "/out/x.md")
os.unlink(ROOT + "/out/taken.md")
os.symlink(ROOT + "/home/.bashrc", ROOT + "/out/taken.md")
attempt("through the link", lambda: write(ROOT + "/out/x.md"))
attempt("pipe", lambda: os.mkfifo(ROOT + "/out/p.md"))
attempt("device", lambda: os.mknod(ROOT + "/out/d.md", 0o600 | 0o020000, os.makedev(1, 3)))
write(ROOT + "/out/s.md", "s")
attempt("set user", lambda: os.chmod(ROOT + "/out/s.md", 0o6755))
os.chmod(ROOT + "/out/s.md", 0o777)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
write(ROOT + "/out/large.md")
attempt("sparse", lambda: os.truncate(ROOT + "/out/large.md", 1 << 40))
os.mkdir(ROOT + "/out/closed")
os.chmod(ROOT + "/out/closed", 0)
"#;
    let grant = world.matching("out", FileAccess::Write, "*.md");
    let (ended, output, error) = ran(look(&world, payload, vec![grant]));
    let ended = ended.expect("it starts");
    assert_eq!(
        output,
        "through the link: ENOENT\npipe: EPERM\ndevice: EPERM\nset user: EPERM\nsparse: EFBIG\n",
        "{error}"
    );
    assert_eq!(
        discarded(&world, &ended),
        ["out/taken.md: it is not a regular file", "out/x.md: it is not a regular file"]
    );
    assert_eq!(world.read("home/.bashrc").as_deref(), Some("text of home/.bashrc"));
    assert_eq!(world.read("out/taken.md").as_deref(), Some("text of out/taken.md"));
    assert!(fs::symlink_metadata(world.path("out/x.md")).is_err());
    let mode = fs::metadata(world.path("out/s.md")).expect("it was kept").mode();
    assert_eq!(mode & 0o7777, 0o644);
}

#[test]
fn write_patterns_combine_with_other_grants() {
    let world = World::new();
    world.files(&["p/a.md", "p/b.txt", "p/src/c.rs", "p/.git/config", "p/free/x", "p/data/d.csv"]);
    let payload = r#"
os.chdir(ROOT + "/p")
look(".")
for name in ("a.md", "b.txt", "src/c.rs", "new.md", "new.txt", ".git/config", "free/x", "free/y", "data/d.csv"):
    attempt("write " + name, lambda: write(name, "new"))
"#;
    let pattern = world.matching("p", FileAccess::Write, "*.md");
    let read = |name| world.grant(name, FileAccess::Read);
    // The project is readable, its Markdown and one folder are writable, one file is protected.
    let grants = vec![
        read("p"),
        pattern.clone(),
        world.grant("p/free", FileAccess::Write),
        read("p/.git/config"),
    ];
    let (ended, output, error) = ran(look(&world, payload, grants));
    let ended = ended.expect("it starts");
    assert_eq!(
        output,
        "a.md: done 'text of p/a.md'\nb.txt: done 'text of p/b.txt'\n.git/config: done 'text of p/.git/config'\ndata/d.csv: done 'text of p/data/d.csv'\nfree/x: done 'text of p/free/x'\nsrc/c.rs: done 'text of p/src/c.rs'\nwrite a.md: done\nwrite b.txt: EROFS\nwrite src/c.rs: EROFS\nwrite new.md: done\nwrite new.txt: done\nwrite .git/config: EROFS\nwrite free/x: done\nwrite free/y: done\nwrite data/d.csv: EROFS\n",
        "{error}"
    );
    assert_eq!(discarded(&world, &ended), ["p/new.txt: it does not match the grant"]);
    for (name, text) in [
        ("p/a.md", "new"),
        ("p/new.md", "new"),
        ("p/free/x", "new"),
        ("p/free/y", "new"),
        ("p/b.txt", "text of p/b.txt"),
        ("p/.git/config", "text of p/.git/config"),
    ] {
        assert_eq!(world.read(name).as_deref(), Some(text), "{name}");
    }
    assert_eq!(world.read("p/new.txt"), None);
    // Without the read grant nothing else is visible; files that both patterns match are writable.
    let grants = vec![
        world.matching("p", FileAccess::Read, "**/*.{csv,md}"),
        pattern,
        world.matching("p/data", FileAccess::Write, "*.json"),
    ];
    let payload = r#"
os.chdir(ROOT + "/p")
look(".")
for name in ("a.md", "data/d.csv", "data/e.json"):
    attempt("write " + name, lambda: write(name, "newer"))
"#;
    let (ended, output, error) = ran(look(&world, payload, grants));
    assert_eq!(
        output,
        "a.md: done 'new'\nnew.md: done 'new'\ndata/d.csv: done 'text of p/data/d.csv'\nwrite a.md: done\nwrite data/d.csv: EROFS\nwrite data/e.json: done\n",
        "{error}"
    );
    assert_eq!(discarded(&world, &ended.expect("it starts")), Vec::<String>::new());
    assert_eq!(world.read("p/a.md").as_deref(), Some("newer"));
    assert_eq!(world.read("p/data/e.json").as_deref(), Some("newer"));
}

#[test]
fn writes_are_kept_however_the_run_ends() {
    let world = World::new();
    fs::create_dir(world.path("out")).expect("a folder");
    let grants = || vec![world.matching("out", FileAccess::Write, "*.md")];
    let mut spec =
        look(&world, "write(ROOT + '/out/a.md', 'a')\nos.kill(os.getpid(), 9)", grants());
    assert_eq!(ran(spec).0.expect("it starts").exit, ExitReason::Signalled(9));
    assert_eq!(world.read("out/a.md").as_deref(), Some("a"));
    spec = look(&world, "write(ROOT + '/out/b.md', 'b')\nwhile True: print('x' * 1000)", grants());
    spec.limits.output = 1 << 20;
    assert_eq!(ran(spec).0.expect("it starts").exit, ExitReason::TooMuchOutput);
    assert_eq!(world.read("out/b.md").as_deref(), Some("b"));
    // A run that is dropped leaves nothing behind.
    let sandbox =
        Sandbox::spawn(look(&world, "write(ROOT + '/out/c.md')\nsignal.pause()", grants()));
    drop(sandbox.expect("it starts"));
    assert_eq!(world.read("out/c.md"), None);
    // Nor does a run that never starts.
    let mut spec = Spec::new("/etc/passwd");
    spec.files = grants();
    assert!(matches!(ran(spec).0, Err(SandboxError::NotExecutable { .. })));
    let mut spec = Spec::new("/no/such/program");
    spec.files = grants();
    assert!(matches!(ran(spec).0, Err(SandboxError::NotFound(_))));
}

#[test]
fn a_missing_folder_is_created_on_request_only() {
    // Attack sandbox-A26.
    let world = World::new();
    let before = world.tree();
    let creating = |name, access| FileGrant { create: true, ..world.grant(name, access) };
    let payload = "
attempt('write', lambda: write(ROOT + '/new/x'))
attempt('beside', lambda: write(ROOT + '/other'))";
    let mut spec = look(&world, payload, vec![world.grant("new", FileAccess::Write)]);
    assert_eq!(prints(spec).lines().next(), Some("write: ENOENT"));
    assert_eq!(world.tree(), before);
    let grants = vec![creating("new", FileAccess::Write), creating("new/read", FileAccess::Read)];
    spec = look(&world, "attempt('write', lambda: write(ROOT + '/new/x'))", grants);
    assert_eq!(prints(spec), "write: done\n");
    let mut after = before.clone();
    after.extend(["new", "new/read", "new/x"].map(str::to_owned));
    after.sort();
    assert_eq!(world.tree(), after);
    let mode = fs::metadata(world.path("new")).expect("it was made").mode();
    assert_eq!(mode & 0o7777, 0o700);
    // Also with a pattern; an existing folder is not changed.
    let grant = FileGrant { create: true, ..world.matching("out", FileAccess::Write, "*.md") };
    spec =
        look(&world, "write(ROOT + '/out/a.md')", vec![grant, creating("ws", FileAccess::Write)]);
    assert_eq!(prints(spec), "");
    after.extend(["out", "out/a.md"].map(str::to_owned));
    after.sort();
    assert_eq!(world.tree(), after);
    // A run that does not start creates nothing.
    symlink(world.path("sec"), world.path("link")).expect("a link");
    let after = world.tree();
    let refused = |spec: Spec| {
        let (ended, _, _) = ran(spec);
        assert_eq!(world.tree(), after);
        ended.expect_err("it is refused")
    };
    let refused_grant =
        |files| matches!(refused(look(&world, "", files)), SandboxError::Grant { .. });
    assert!(refused_grant(vec![creating("no/where", FileAccess::Write)]));
    assert!(refused_grant(vec![creating("link/inner", FileAccess::Write)]));
    assert!(refused_grant(vec![creating("sec/k/inner", FileAccess::Write)]));
    let two = vec![creating("a", FileAccess::Write), creating("a/b", FileAccess::Write)];
    assert!(refused_grant([two.clone(), vec![creating("link", FileAccess::Write)]].concat()));
    spec = Spec::new("/etc/passwd");
    spec.files = two;
    assert!(matches!(refused(spec), SandboxError::NotExecutable { .. }));
    // A working directory is not created in a folder of the host either.
    spec = look(&world, "", vec![world.grant("ws", FileAccess::Write)]);
    spec.working_directory = world.path("ws/missing");
    assert!(matches!(refused(spec), SandboxError::SetUp { stage: "working directory", .. }));
}

/// The role of this process in tests that start themselves.
const ROLE: &str = "PROWESS_TEST_ROLE";

#[test]
fn the_folder_of_a_killed_process_is_removed_by_the_next() {
    let staged_run = |payload: &str| {
        let world = World::new();
        fs::create_dir(world.path("out")).expect("a folder");
        let grant = world.matching("out", FileAccess::Write, "*.md");
        run(look(&world, payload, vec![grant]), &mut PrintOutput).expect("it starts")
    };
    match std::env::var(ROLE).as_deref() {
        Ok("victim") => {
            staged_run("write(ROOT + '/out/a.md')\nprint('up', flush=True)\nsignal.pause()");
            unreachable!("it waits to be killed");
        }
        Ok(_) => {
            let before = stages_left();
            let ended = staged_run(
                "write(ROOT + '/out/a.md')\nos.makedirs(ROOT + '/out/x/y')\nos.chmod(ROOT + '/out/x', 0)",
            );
            assert_eq!((ended.exit, before.len()), (ExitReason::Exited(0), 1));
            assert_eq!(stages_left(), Vec::<String>::new());
        }
        Err(_) => {
            let temporary = tempfile::tempdir().expect("a temporary folder");
            let mut command = Command::new(std::env::current_exe().expect("this program"));
            command
                .args(["--exact", "--nocapture"])
                .arg("files::the_folder_of_a_killed_process_is_removed_by_the_next")
                .env("TMPDIR", temporary.path());
            let mut victim = command
                .env(ROLE, "victim")
                .stdout(Stdio::piped())
                .spawn()
                .expect("this program starts");
            let mut said = BufReader::new(victim.stdout.take().expect("a pipe")).lines();
            assert!(said.any(|line| line.is_ok_and(|line| line == "up")), "it never got that far");
            victim.kill().expect("it is alive");
            victim.wait().expect("it is a child");
            let survivor = command.env(ROLE, "survivor").stdout(Stdio::piped()).output();
            let survivor = survivor.expect("this program starts");
            let said = String::from_utf8_lossy(&survivor.stdout);
            assert!(survivor.status.success() && said.contains("1 passed"), "{said}");
        }
    }
}

/// Prints output as it arrives.
struct PrintOutput;

impl Observer for PrintOutput {
    fn output(&mut self, _: OutputStream, bytes: &[u8]) {
        io::stdout()
            .write_all(bytes)
            .and_then(|()| io::stdout().flush())
            .expect("somebody listens");
    }
}

#[test]
fn a_hard_link_to_the_outside_is_refused_or_reported() {
    // Attack sandbox-A08.
    let world = World::new();
    world.files(&["ws/one", "ro/x"]);
    fs::hard_link(world.path("ws/one"), world.path("ws/two")).expect("a link");
    let payload = "attempt('write', lambda: write(ROOT + '/ws/old', 'new'))";
    let with = |files, hard_links| {
        let mut spec = look(&world, payload, files);
        spec.hard_links = hard_links;
        ran(spec)
    };
    let ws = || vec![world.grant("ws", FileAccess::Write)];
    // Two names in one writable folder, or in two of them, are fine.
    assert!(with(ws(), HardLinks::Refuse).0.is_ok());
    fs::hard_link(world.path("ws/one"), world.path("ro/three")).expect("a link");
    let both = || vec![world.grant("ws", FileAccess::Write), world.grant("ro", FileAccess::Write)];
    assert!(with(both(), HardLinks::Refuse).0.is_ok());
    let (ended, output, _) = with(ws(), HardLinks::Refuse);
    let one = world.path("ws/one");
    assert!(
        matches!(&ended, Err(SandboxError::HardLink { path }) if one == *path || path.ends_with("two"))
    );
    assert_eq!(output, "");
    let (ended, output, error) = with(ws(), HardLinks::Report);
    assert_eq!(output, "write: done\n", "{error}");
    assert_eq!(ended.expect("it starts").hard_linked.len(), 1);
    // Read-only files can't be written through a hard link, copies have only one name, and a file itself can be granted.
    assert!(with(vec![world.grant("ro", FileAccess::Read)], HardLinks::Refuse).0.is_ok());
    assert!(with(vec![world.matching("ws", FileAccess::Write, "*")], HardLinks::Refuse).0.is_ok());
    assert_eq!(world.read("ws/old").as_deref(), Some("new"));
    let file = vec![world.grant("ws/one", FileAccess::Write)];
    assert!(matches!(with(file, HardLinks::Refuse).0, Err(SandboxError::HardLink { .. })));
    let protected = vec![
        world.grant("ws", FileAccess::Write),
        world.grant("ws/one", FileAccess::Read),
        world.grant("ws/two", FileAccess::Read),
    ];
    assert!(with(protected, HardLinks::Refuse).0.is_ok());
}

#[test]
fn new_links_that_point_outside_are_reported() {
    let world = World::new();
    world.files(&["ws/sub/file"]);
    symlink(world.path("sec"), world.path("ws/was-there")).expect("a link");
    let payload = r#"
os.symlink(SEC + "/k", WS + "/out")
os.symlink("../../sec", WS + "/sub/up")
os.symlink("was-there/k", WS + "/over")
os.symlink("sub/file", WS + "/in")
os.symlink(WS + "/sub", WS + "/sub/also-in")
os.unlink(WS + "/sub/file")
"#;
    let (ended, _, error) = ran(look(&world, payload, vec![world.grant("ws", FileAccess::Write)]));
    let ended = ended.expect("it starts");
    assert_eq!(
        ended.outside_links,
        ["ws/out", "ws/over", "ws/sub/up"].map(|name| world.path(name)),
        "{error}"
    );
    assert!(!ended.scan_incomplete);
    // The links are not changed, and the next run does not report them again.
    assert_eq!(fs::read_link(world.path("ws/out")).expect("it is there"), world.path("sec/k"));
    let (ended, _, _) = ran(look(&world, "", vec![world.grant("ws", FileAccess::Write)]));
    assert_eq!(ended.expect("it starts").outside_links, Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_folder_that_is_too_large_to_scan_is_flagged() {
    let world = World::new();
    let (folder, _) = many_files(20_001);
    let outside = tempfile::tempdir_in("/dev/shm").expect("a temporary folder");
    let first = fs::read_dir(folder.path()).expect("a folder").flatten().next().expect("a file");
    fs::hard_link(first.path(), outside.path().join("name")).expect("a link");
    let grant = FileGrant {
        path: folder.path().to_owned(),
        access: FileAccess::Write,
        pattern: None,
        create: false,
    };
    let payload = format!("os.symlink('/etc', {:?} + '/l')", folder.path().display().to_string());
    let ended = ran(look(&world, &payload, vec![grant])).0.expect("it starts");
    assert_eq!(
        (ended.exit, ended.scan_incomplete, ended.outside_links.len()),
        (ExitReason::Exited(0), true, 0)
    );
}

/// Many empty files on a tmpfs: creating thousands on a disk is slow.
fn many_files(count: usize) -> (tempfile::TempDir, Vec<FileGrant>) {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a temporary folder");
    let grants = (0..count).map(|number| {
        let path = folder.path().join(format!("a-name-that-is-rather-long-{number:06}"));
        fs::write(&path, "").expect("a file");
        let access = if number % 2 == 0 { FileAccess::Read } else { FileAccess::Write };
        FileGrant { path, access, pattern: None, create: false }
    });
    let grants = grants.collect();
    (folder, grants)
}

#[test]
fn thousands_of_grants_work_or_are_refused() {
    // Attack sandbox-A27.
    let few = std::env::var(ROLE);
    let world = World::new();
    let (folder, grants) = many_files(3000);
    assert!(grants.iter().map(|grant| grant.path.as_os_str().len()).sum::<usize>() > 128 << 10);
    let payload = format!("print(len(os.listdir({:?})))", folder.path().display().to_string());
    let (ended, output, error) = ran(look(&world, &payload, grants));
    if few.is_ok_and(|few| few == "few") {
        // The descriptor limit of the process is too low, which the error reports.
        let Err(SandboxError::Invalid(message)) = ended else { panic!("{ended:?}") };
        assert!(message.contains("descriptors"), "{message}");
        return;
    }
    assert_eq!(ended.expect("it starts").exit, ExitReason::Exited(0), "{error}");
    assert_eq!(output, "3000\n");
    let (_folder, grants) = many_files(16_384);
    let (ended, output, _) = ran(look(&world, "print('ran')", grants));
    let Err(SandboxError::Invalid(message)) = ended else { panic!("{ended:?}") };
    assert!(message.contains("at most 16384"), "{message}");
    assert_eq!(output, "");
}

#[test]
fn thousands_of_grants_raise_the_descriptor_limit() {
    // Attack sandbox-A27: with the usual limit of a shell, and with a lower one.
    for (limit, role) in [("--nofile=1024:10000", "many"), ("--nofile=1024:1024", "few")] {
        let output = Command::new("prlimit")
            .arg(limit)
            .arg(std::env::current_exe().expect("this program"))
            .args(["--exact", "files::thousands_of_grants_work_or_are_refused"])
            .env(ROLE, role)
            .output()
            .expect("`prlimit` is needed to try a lower limit");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{role}: {said}");
    }
}

/// Root sets up sandboxes differently, so these tests are repeated as an ordinary user.
#[test]
fn file_tests_pass_as_an_ordinary_user() {
    for test in [
        "a_read_pattern_makes_only_matching_files_visible",
        "a_read_pattern_is_a_snapshot",
        "a_pattern_inside_a_wider_grant_protects_what_it_matches",
        "invalid_patterns_are_refused",
        "a_pattern_that_matches_too_much_is_refused",
        "a_write_pattern_keeps_matching_files_only",
        "a_write_pattern_copies_nothing_else_back",
        "write_patterns_combine_with_other_grants",
        "writes_are_kept_however_the_run_ends",
        "the_folder_of_a_killed_process_is_removed_by_the_next",
        "a_missing_folder_is_created_on_request_only",
        "a_hard_link_to_the_outside_is_refused_or_reported",
        "new_links_that_point_outside_are_reported",
        "a_folder_that_is_too_large_to_scan_is_flagged",
        "thousands_of_grants_work_or_are_refused",
        "thousands_of_grants_raise_the_descriptor_limit",
    ] {
        repeat_as_nobody(&format!("files::{test}"));
    }
}
