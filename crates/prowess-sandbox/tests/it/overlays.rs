//! Staged folders: the host's files stay as they are, and the upper layer has what the program wrote.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::PathBuf;
use std::time::Duration;

use prowess_sandbox::{ExitReason, FileAccess, LayerState, SandboxError, Spec, WriteLimit};

use crate::attacks::{in_mount_namespace, repeat_as_nobody};
use crate::world::{World, ran};

/// The output of a program with staged folders that exits with 0.
fn prints(world: &World, mut spec: Spec) -> String {
    world.stage_all(&mut spec);
    let (ended, output, error) = ran(spec);
    assert_eq!(ended.expect("it starts").exit, ExitReason::Exited(0), "{output}{error}");
    output
}

fn writable(world: &World, payload: &str) -> Spec {
    let mut spec = world.python(payload);
    spec.files = vec![world.grant("ws", FileAccess::Write)];
    spec
}

fn upper(world: &World, name: &str) -> PathBuf {
    world.path("staged/0/up").join(name)
}

#[test]
fn what_is_written_goes_to_the_upper_layer() {
    let world = World::new();
    fs::create_dir_all(world.path("ws/folder/inner")).expect("folders");
    fs::write(world.path("ws/folder/inner/file"), "kept").expect("a file");
    fs::write(world.path("ws/gone"), "gone").expect("a file");
    let before = world.tree();
    let payload = r#"
import shutil
attempt("old", lambda: read(WS + "/old"))
attempt("change", lambda: write(WS + "/old", "changed"))
attempt("see", lambda: read(WS + "/old"))
attempt("create", lambda: write(WS + "/new", "new"))
attempt("delete", lambda: os.remove(WS + "/gone"))
attempt("tree", lambda: shutil.rmtree(WS + "/folder"))
attempt("again", lambda: os.mkdir(WS + "/folder"))
attempt("list", lambda: sorted(os.listdir(WS)) + os.listdir(WS + "/folder"))
attempt("move", lambda: os.rename(WS + "/new", WS + "/moved"))
attempt("mode", lambda: os.chmod(WS + "/moved", 0o755))
attempt("execute", lambda: os.execv(WS + "/moved", ["x"]))
attempt("owner", lambda: [os.stat(WS).st_uid, os.stat(WS + "/old").st_uid, os.stat(WS + "/moved").st_uid])
"#;
    let output = prints(&world, writable(&world, payload));
    assert_eq!(
        output,
        "old: done 'old'\nchange: done\nsee: done 'changed'\ncreate: done\ndelete: done\ntree: done\nagain: done\nlist: done ['folder', 'new', 'old']\nmove: done\nmode: done\nexecute: EACCES\nowner: done [1000, 1000, 1000]\n"
    );
    let after: Vec<String> =
        world.tree().into_iter().filter(|name| !name.starts_with("staged")).collect();
    assert_eq!(after, before, "nothing was written");
    assert_eq!(world.read("ws/old").as_deref(), Some("old"));
    assert_eq!(world.read("staged/0/up/old").as_deref(), Some("changed"));
    assert_eq!(world.read("staged/0/up/moved").as_deref(), Some("new"));
    let gone = fs::symlink_metadata(upper(&world, "gone")).expect("the mark of a deletion");
    assert!(gone.file_type().is_char_device() && gone.rdev() == 0);
    // What is applied belongs to who applies it.
    let owner = fs::metadata(world.path("ws")).expect("there").uid();
    assert_eq!(fs::metadata(upper(&world, "moved")).expect("there").uid(), owner);
}

#[test]
fn what_is_written_goes_to_the_upper_layer_of_an_ordinary_user() {
    repeat_as_nobody("overlays::what_is_written_goes_to_the_upper_layer");
}

#[test]
fn protected_parts_of_a_staged_folder_stay_read_only() {
    // Attack sandbox-A10.
    let world = World::new();
    for folder in ["ws/.git/hooks", "ws/vendor/sub/.git", "ws/open/inner"] {
        fs::create_dir_all(world.path(folder)).expect("folders");
    }
    fs::write(world.path("ws/.git/config"), "settings").expect("a file");
    fs::write(world.path("ws/.env"), "KEY=1").expect("a file");
    let mut spec = world.python(
        r#"
attempt("hook", lambda: write(WS + "/.git/hooks/x"))
attempt("config", lambda: write(WS + "/.git/config"))
attempt("nested", lambda: write(WS + "/vendor/sub/.git/x"))
attempt("beside", lambda: write(WS + "/vendor/sub/x"))
attempt("beside hooks", lambda: write(WS + "/.git/index"))
attempt("move .git", lambda: os.rename(WS + "/.git", WS + "/other"))
attempt("move vendor", lambda: os.rename(WS + "/vendor", WS + "/other"))
attempt("remove hooks", lambda: os.rmdir(WS + "/.git/hooks"))
attempt("hidden", lambda: read(WS + "/.env"))
attempt("write hidden", lambda: write(WS + "/.env"))
attempt("inner", lambda: write(WS + "/open/inner/x"))
"#,
    );
    spec.files = vec![
        world.grant("ws", FileAccess::Write),
        world.grant("ws/.git/hooks", FileAccess::Read),
        world.grant("ws/.git/config", FileAccess::Read),
        world.grant("ws/vendor/sub/.git", FileAccess::Read),
        // Part of the outer one.
        world.grant("ws/open/inner", FileAccess::Write),
    ];
    spec.hidden = vec![world.path("ws/.env")];
    let output = prints(&world, spec);
    assert_eq!(
        output,
        "hook: EROFS\nconfig: EROFS\nnested: EROFS\nbeside: done\nbeside hooks: done\nmove .git: EBUSY\nmove vendor: EBUSY\nremove hooks: EBUSY\nhidden: done ''\nwrite hidden: EROFS\ninner: done\n"
    );
    for name in ["ws/vendor/sub/x", "ws/.git/index", "ws/open/inner/x"] {
        assert_eq!(world.read(name), None, "{name}");
        assert_eq!(world.read(&name.replacen("ws", "staged/0/up", 1)).as_deref(), Some("x"));
    }
}

#[test]
fn protected_parts_of_a_staged_folder_stay_read_only_for_an_ordinary_user() {
    repeat_as_nobody("overlays::protected_parts_of_a_staged_folder_stay_read_only");
}

#[test]
fn a_writable_folder_in_a_readable_one_has_its_own_overlay() {
    let world = World::new();
    for folder in ["ws/read/write", "ws/read/live"] {
        fs::create_dir_all(world.path(folder)).expect("folders");
    }
    let mut spec = world.python(
        r#"
attempt("outer", lambda: write(WS + "/x"))
attempt("readable", lambda: write(WS + "/read/x"))
attempt("inner", lambda: write(WS + "/read/write/x"))
attempt("live", lambda: write(WS + "/read/live/x"))
"#,
    );
    spec.files = vec![
        world.grant("ws", FileAccess::Write),
        world.grant("ws/read", FileAccess::Read),
        world.grant("ws/read/write", FileAccess::Write),
        world.grant("ws/read/live", FileAccess::Write),
    ];
    world.stage(&mut spec, &world.path("ws"));
    world.stage(&mut spec, &world.path("ws/read/write"));
    let (ended, output, error) = ran(spec);
    assert_eq!(ended.expect("it starts").exit, ExitReason::Exited(0), "{error}");
    assert_eq!(output, "outer: done\nreadable: EROFS\ninner: done\nlive: done\n");
    assert_eq!(world.read("staged/0/up/x").as_deref(), Some("x"));
    assert_eq!(world.read("staged/1/up/x").as_deref(), Some("x"));
    // Not everything has to be staged.
    assert_eq!(world.read("ws/read/live/x").as_deref(), Some("x"));
    assert_eq!((world.read("ws/x"), world.read("ws/read/write/x")), (None, None));
}

#[test]
fn a_writable_folder_in_a_readable_one_has_its_own_overlay_for_an_ordinary_user() {
    repeat_as_nobody("overlays::a_writable_folder_in_a_readable_one_has_its_own_overlay");
}

#[test]
fn hard_links_out_of_a_staged_folder_are_harmless() {
    // Attack sandbox-A08.
    let world = World::new();
    fs::hard_link(world.path("sec/k"), world.path("ws/k")).expect("a link");
    let output = prints(&world, writable(&world, r#"attempt("write", lambda: write(WS + "/k"))"#));
    assert_eq!(output, "write: done\n");
    assert_eq!(world.read("sec/k").as_deref(), Some("the secret"));
    assert_eq!(world.read("staged/0/up/k").as_deref(), Some("x"));
}

#[test]
fn the_upper_layer_has_the_limit() {
    // Attack sandbox-E09.
    let world = World::new();
    fs::write(world.path("ws/large"), vec![1; 4 << 20]).expect("a file");
    let mut spec = writable(
        &world,
        r#"
number = 0
while True:
    number += 1
    with open(f"{WS}/{number}", "wb") as file:
        file.write(bytes(1 << 20))
"#,
    );
    spec.limits.written_bytes = 16 << 20;
    spec.limits.time = Duration::from_mins(5);
    world.stage_all(&mut spec);
    let (ended, _, error) = ran(spec);
    let exit = ended.expect("it starts").exit;
    assert_eq!(exit, ExitReason::TooMuchWritten(WriteLimit::Bytes(16 << 20)), "{error}");
    assert_eq!(fs::read_dir(world.path("ws")).expect("there").count(), 2);
}

#[test]
fn staged_folders_have_to_be_granted_and_apart() {
    let world = World::new();
    let refused = |change: &dyn Fn(&mut Spec)| {
        let mut spec = writable(&world, "print('ran')");
        world.stage(&mut spec, &world.path("ws"));
        change(&mut spec);
        let (ended, output, _) = ran(spec);
        assert_eq!(output, "");
        fs::remove_dir_all(world.path("staged")).expect("there");
        ended.expect_err("it is refused").to_string()
    };
    for change in [
        &(|spec: &mut Spec| spec.files[0].access = FileAccess::Read) as &dyn Fn(&mut Spec),
        &|spec| spec.files.clear(),
        &|spec| spec.staged[0].upper = spec.staged[0].path.join("up"),
        &|spec| spec.staged[0].work = spec.staged[0].path.join("work"),
        &|spec| spec.staged[0].path.push("old"),
    ] {
        assert!(refused(change).contains("is staged, but"));
    }
    let elsewhere =
        refused(&|spec| spec.staged[0].work = spec.staged[0].path.with_file_name("sec"));
    assert!(elsewhere.contains("not next to each other"), "{elsewhere}");
    // A link in place of the upper layer is not followed by the host's path.
    let missing = refused(&|spec| spec.staged[0].upper.set_file_name("none"));
    assert!(missing.starts_with("changes can't be staged: mounting an overlay: "), "{missing}");
}

#[test]
fn the_probe_tries_an_overlay() {
    let probe = prowess_sandbox::probe();
    let layer = probe.layers.last().expect("there are some");
    assert_eq!((layer.name, layer.state), ("overlays", LayerState::Enforced), "{layer:?}");
}

/// A helper that is run on a filesystem that can't hold an upper layer.
#[test]
#[ignore = "run by another test"]
fn nothing_can_be_staged_here() {
    let world = World::new();
    let mut spec = writable(&world, "print('ran')");
    world.stage_all(&mut spec);
    let (ended, output, _) = ran(spec);
    assert!(matches!(ended, Err(SandboxError::Staging { .. })), "{ended:?}");
    assert_eq!(output, "");
}

#[test]
fn where_no_overlay_can_be_mounted_the_run_is_refused() {
    let layers = "mkdir lower upper work
chmod 1777 lower upper
mount -t tmpfs tmpfs work
mkdir work/upper work/work
chmod 1777 work/upper
mount -t overlay -o lowerdir=lower,upperdir=work/upper,workdir=work/work overlay /tmp";
    for user in ["0", "65534"] {
        in_mount_namespace(layers, user, "overlays::nothing_can_be_staged_here");
    }
}
