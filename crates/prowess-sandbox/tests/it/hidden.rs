//! Files that are empty inside, although the folder around them is granted.

use std::fs;
use std::os::unix::fs::symlink;

use prowess_sandbox::{ExitReason, FileAccess, FileGrant, Spec};

use crate::world::{World, ran};

const PAYLOAD: &str = r#"
def write(path):
    with open(path, "w") as file:
        file.write("changed")
for name in ["keys", "sub/keys", "link", "plain"]:
    attempt("read " + name, lambda: read(ROOT + "/data/" + name))
attempt("write keys", lambda: write(ROOT + "/data/keys"))
attempt("remove keys", lambda: os.remove(ROOT + "/data/keys"))
attempt("rename sub", lambda: os.rename(ROOT + "/data/sub", ROOT + "/data/other"))
attempt("new file", lambda: write(ROOT + "/data/new"))
"#;

fn spec(world: &World, access: FileAccess) -> Spec {
    let root = world.path("").display().to_string();
    let mut spec = world.python(&format!("ROOT = {root:?}\n{PAYLOAD}"));
    spec.files = vec![FileGrant { ..world.grant("data", access) }];
    spec.hidden = ["data/keys", "data/sub/keys", "data/missing", "sec/k"]
        .map(|name| world.path(name))
        .to_vec();
    spec
}

#[test]
fn a_hidden_file_is_empty_and_stays_as_it_is() {
    let world = World::new();
    for (name, text) in [("keys", "secret"), ("sub/keys", "secret"), ("plain", "plain")] {
        let path = world.path("data").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }
    symlink("keys", world.path("data/link")).expect("a link");
    for (access, can_write) in [(FileAccess::Read, false), (FileAccess::Write, true)] {
        let (ended, output, error) = ran(spec(&world, access));
        assert_eq!(ended.expect("it starts").exit, ExitReason::Exited(0), "{output}{error}");
        assert!(!output.contains("secret"), "{output}");
        for line in ["read keys: done ''", "read sub/keys: done ''", "read plain: done 'plain'"] {
            assert!(output.contains(line), "{output}");
        }
        for attempt in ["write keys: done", "remove keys: done", "rename sub: done"] {
            assert!(!output.contains(attempt), "{output}");
        }
        assert_eq!(output.contains("new file: done"), can_write, "{output}");
        assert_eq!(fs::read_to_string(world.path("data/keys")).expect("text"), "secret");
        assert!(!world.path("data/missing").exists(), "nothing is made on the host");
    }
}
