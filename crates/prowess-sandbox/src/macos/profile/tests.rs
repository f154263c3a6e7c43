use std::path::Path;

use super::profile;
use crate::error::SandboxError;
use crate::spec::{FileAccess, FileGrant, Network, Spec};

fn grant(path: &str, access: FileAccess, pattern: &str) -> FileGrant {
    let pattern = (!pattern.is_empty()).then(|| pattern.to_owned());
    FileGrant { path: path.into(), access, pattern, create: false }
}

/// The rules after the common part, with parameters replaced by their values.
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
fn profile_of_a_program_without_grants() {
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
fn profile_with_every_kind_of_grant() {
    let mut spec = Spec::new("/usr/bin/python3");
    spec.programs = vec!["/usr/bin/git".into()];
    spec.support = vec!["/usr/lib/python3".into()];
    spec.network = Network::Listeners(vec![3128]);
    spec.files = vec![
        grant("/p", FileAccess::Write, ""),
        grant("/p/.git/hooks", FileAccess::Read, ""),
        grant("/skill", FileAccess::Execute, ""),
        grant("/data", FileAccess::Read, "*.csv"),
        grant("/out", FileAccess::Write, "**/*.md"),
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
fn the_base_profile_denies_by_default() {
    assert!(super::BASE.starts_with("(version 1)\n(deny default)\n"));
    // Access to other programs, their secrets and the network (SANDBOX §6); programs are allowed by path only.
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
fn grants_cannot_inject_rules() {
    // Attack sandbox-A28: a path that tries to end the string and allow everything.
    let odd = "/x\")) (allow default) ; \n$(id)";
    let mut spec = Spec::new(odd);
    spec.programs = vec![odd.into()];
    spec.support = vec![odd.into()];
    spec.files = vec![
        grant(&format!("{odd}/r"), FileAccess::Read, ""),
        grant(&format!("{odd}/w"), FileAccess::Write, "*.\"))(allow default)"),
        grant(&format!("{odd}/w/p"), FileAccess::Execute, ""),
    ];
    let profile = profile(&spec, Path::new(odd)).expect("a profile");
    assert!(!profile.text.contains("allow default") && !profile.text.contains("$(id)"));
    assert_eq!(profile.text.matches('"').count() % 2, 0);
    let open = profile.text.matches('(').count();
    assert_eq!(open, profile.text.matches(')').count());
    // Special characters of a path are escaped in its regular expression.
    let mut values = profile.parameters.iter().map(|(_, value)| value.display().to_string());
    let regex = values.find(|value| value.starts_with('^')).expect("one is a pattern");
    assert!(regex.contains(r"\$\(id\)/w/[^/]*\."), "{regex}");
}

#[test]
fn grants_that_linux_refuses_are_refused() {
    let refused = |files: Vec<FileGrant>| {
        let mut spec = Spec::new("/ws/tool");
        spec.files = files;
        profile(&spec, Path::new("/private/run")).expect_err("it is refused")
    };
    let replaceable = refused(vec![grant("/ws", FileAccess::Write, "")]);
    assert!(matches!(replaceable, SandboxError::NotExecutable { .. }));
    for (path, pattern) in [("relative", ""), ("/a/../b", ""), ("/a", "../x"), ("/a", "[x]")] {
        let error = refused(vec![grant(path, FileAccess::Read, pattern)]);
        assert!(matches!(error, SandboxError::Grant { .. }), "{path} {pattern}: {error}");
    }
    let relative = profile(&Spec::new("echo"), Path::new("/private/run"));
    assert!(matches!(relative, Err(SandboxError::Invalid(_))));
}
