use std::path::Path;

use super::profile;
use crate::error::Error;
use crate::spec::{Access, FileGrant, Network, Spec};

fn grant(path: &str, access: Access, pattern: &str) -> FileGrant {
    let pattern = (!pattern.is_empty()).then(|| pattern.to_owned());
    FileGrant { path: path.into(), access, pattern, create: false }
}

/// The rules after the part that all have, with the values of parameters put in, as nobody but a test may do.
fn rules(spec: &Spec) -> String {
    let profile = profile(spec, Path::new("/private/run")).expect("a profile");
    let own = profile.text.strip_prefix(super::BASE).expect("the base comes first");
    let mut text = own.to_owned();
    for (name, value) in &profile.parameters {
        text = text.replace(&format!("(param \"{name}\")"), &value.display().to_string());
    }
    text
}

#[test]
fn a_program_alone() {
    assert_eq!(
        rules(&Spec::new("/bin/echo")),
        "(allow file-read* file-write*
  (subpath /private/run))
(allow process-exec
  (literal /bin/echo))
(allow file-read* file-map-executable
  (literal /bin/echo))
(allow file-read-metadata
  (literal /bin)
  (literal /private))
(deny file-write-setugid)
"
    );
}

#[test]
fn everything_that_can_be_granted() {
    let mut spec = Spec::new("/usr/bin/python3");
    spec.programs = vec!["/usr/bin/git".into()];
    spec.support = vec!["/usr/lib/python3".into()];
    spec.network = Network::Listeners(vec![3128]);
    spec.files = vec![
        grant("/p", Access::Write, ""),
        grant("/p/.git/hooks", Access::Read, ""),
        grant("/skill", Access::Execute, ""),
        grant("/data", Access::Read, "*.csv"),
        grant("/out", Access::Write, "**/*.md"),
    ];
    assert_eq!(
        rules(&spec),
        r"(allow file-read* file-write*
  (subpath /private/run))
(allow process-exec
  (literal /usr/bin/python3)
  (literal /usr/bin/git))
(allow file-read* file-map-executable
  (literal /usr/bin/python3)
  (literal /usr/bin/git))
(allow file-read* file-map-executable
  (subpath /usr/lib/python3))
(allow file-read*
  (subpath /p))
(allow file-write*
  (require-all
    (subpath /p)
    (require-not (literal /p/.git/hooks))
    (require-not (subpath /p/.git/hooks))
    (require-not (literal /p/.git))
    (require-not (literal /p))
    (require-not (vnode-type BLOCK-DEVICE))
    (require-not (vnode-type CHARACTER-DEVICE))
    (require-not (vnode-type FIFO))
    (require-not (vnode-type SOCKET))))
(allow file-read*
  (subpath /p/.git/hooks))
(allow file-read* file-map-executable process-exec
  (subpath /skill))
(allow file-read*
  (require-all (regex ^/data/[^/]*\.csv$) (vnode-type REGULAR-FILE)))
(allow file-read*
  (require-all (regex ^/out/(.*/)?[^/]*\.md$) (vnode-type REGULAR-FILE)))
(allow file-write*
  (require-all
    (require-all (regex ^/out/(.*/)?[^/]*\.md$) (vnode-type REGULAR-FILE))
    (require-not (vnode-type BLOCK-DEVICE))
    (require-not (vnode-type CHARACTER-DEVICE))
    (require-not (vnode-type FIFO))
    (require-not (vnode-type SOCKET))))
(allow file-read-metadata
  (literal /data)
  (literal /out)
  (literal /p)
  (literal /p/.git)
  (literal /private)
  (literal /usr)
  (literal /usr/bin)
  (literal /usr/lib))
(deny file-write-setugid)
"
        .replace("(deny", "(allow network-outbound (remote ip \"localhost:3128\"))\n(deny")
    );
}

#[test]
fn the_base_denies_and_opens_no_way_out() {
    assert!(super::BASE.starts_with("(version 1)\n(deny default)\n"));
    // Ways to other programs, their secrets and the network (SANDBOX §6); programs start by name only.
    for word in [
        "process-exec",
        "network",
        "mDNSResponder",
        "lsopen",
        "appleevent-send",
        "trustd",
        "SecurityServer",
        "iokit",
        "pseudo-tty",
        "(allow default)",
        "job-creation",
        "mach-register",
    ] {
        assert!(!super::BASE.contains(word), "{word}");
    }
    assert_eq!(super::BASE.matches("mach-lookup").count(), 1);
    assert_eq!(super::BASE.matches("global-name").count(), 1);
}

#[test]
fn nothing_of_a_grant_gets_into_the_text() {
    // Attack sandbox-A28: a path that would end the string and open everything.
    let odd = "/x\")) (allow default) ; \n$(id)";
    let mut spec = Spec::new(odd);
    spec.programs = vec![odd.into()];
    spec.support = vec![odd.into()];
    spec.files = vec![
        grant(&format!("{odd}/r"), Access::Read, ""),
        grant(&format!("{odd}/w"), Access::Write, "*.\"))(allow default)"),
        grant(&format!("{odd}/w/p"), Access::Execute, ""),
    ];
    let profile = profile(&spec, Path::new(odd)).expect("a profile");
    assert!(!profile.text.contains("allow default") && !profile.text.contains("$(id)"));
    assert_eq!(profile.text.matches('"').count() % 2, 0);
    let open = profile.text.matches('(').count();
    assert_eq!(open, profile.text.matches(')').count());
    // What is a pattern in a path is text in its expression.
    let mut values = profile.parameters.iter().map(|(_, value)| value.display().to_string());
    let regex = values.find(|value| value.starts_with('^')).expect("one is a pattern");
    assert!(regex.contains(r"\$\(id\)/w/[^/]*\."), "{regex}");
}

#[test]
fn what_linux_refuses_is_refused() {
    let refused = |files: Vec<FileGrant>| {
        let mut spec = Spec::new("/ws/tool");
        spec.files = files;
        profile(&spec, Path::new("/private/run")).expect_err("it is refused")
    };
    let replaceable = refused(vec![grant("/ws", Access::Write, "")]);
    assert!(matches!(replaceable, Error::NotExecutable { .. }));
    for (path, pattern) in [("relative", ""), ("/a/../b", ""), ("/a", "../x"), ("/a", "[x]")] {
        let error = refused(vec![grant(path, Access::Read, pattern)]);
        assert!(matches!(error, Error::Grant { .. }), "{path} {pattern}: {error}");
    }
    let relative = profile(&Spec::new("echo"), Path::new("/private/run"));
    assert!(matches!(relative, Err(Error::Invalid(_))));
}
