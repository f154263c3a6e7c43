use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use tempfile::TempDir;

use super::CredentialError;
use crate::world::World;

const VALUE: &str = "ghp_0123456789abcdefXYZ";

fn world(folder: &TempDir, variables: &[(&str, &str)]) -> World {
    let environment =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    World::at(folder.path(), folder.path(), OsStr::new("/bin"), environment).expect("it is there")
}

/// The result of binding.
fn check(variables: &[(&str, &str)], text: &str) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let real = folder.path().canonicalize().expect("it is there").display().to_string();
    match world(&folder, variables).bind_credential(text) {
        Ok(()) => "bound".to_owned(),
        Err(error) => error.to_string().replace(&real, "~"),
    }
}

#[test]
fn a_bound_credential_leaves_the_environment() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut world = world(&folder, &[("A", "b"), ("KEY", VALUE)]);
    world.bind_credential("KEY=API.example.com").expect("it can be bound");
    let shown = format!("{world:?}");
    assert!(!shown.contains(VALUE) && !shown.contains("ghp"), "{shown}");
    let [credential] = world.credentials.as_slice() else { panic!("{world:?}") };
    assert_eq!(credential.name(), "KEY");
    assert_eq!(credential.host.to_string(), "api.example.com");
    let placeholder = credential.placeholder.text().to_owned();
    assert_eq!(placeholder.len(), VALUE.len());
    assert!(world.environment.contains(&("KEY".to_owned(), placeholder)));
    let again = world.bind_credential("KEY=other.example.com");
    assert!(matches!(again, Err(CredentialError::Twice(_))), "{again:?}");
}

#[test]
fn what_binds_nothing_is_told() {
    let key = &[("KEY", VALUE)];
    for (variables, text, expected) in [
        (key.as_slice(), "KEY=api.example.com", "bound"),
        (
            key,
            "KEY",
            "`KEY` is not a credential binding: write `NAME=HOST`, such as `GITHUB_TOKEN=api.github.com`",
        ),
        (
            key,
            "LD_PRELOAD=a.test",
            "`LD_PRELOAD` controls what programs load or connect to: no skill may request it",
        ),
        (
            key,
            "KEY=*.example.com",
            "`KEY` can't be bound to `*.example.com`: a credential belongs to one host with a name",
        ),
        (
            key,
            "KEY=api.example.com:8443",
            "`KEY` can't be bound to `api.example.com:8443`: write the host without a port",
        ),
        (
            key,
            "KEY=93.184.216.34",
            "`KEY` can't be bound to `93.184.216.34`: a credential belongs to one host with a name",
        ),
        (
            &[],
            "KEY=a.test",
            "the credential `KEY` has no value: the variable is not set, and there is no file `~/.config/prowess/credentials/KEY`",
        ),
        (
            &[("KEY", "short")],
            "KEY=a.test",
            "the credential `KEY` can't be used: its value has fewer than 8 letters and digits, which could occur by chance",
        ),
    ] {
        assert_eq!(check(variables, text), expected, "{text}");
    }
}

#[test]
fn a_file_of_the_user_alone_holds_a_value() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kept = folder.path().join(".config/prowess/credentials/KEY");
    fs::create_dir_all(kept.parent().expect("a folder")).expect("it can be made");
    fs::write(&kept, format!("{VALUE}\n")).expect("it can be written");
    let bind = |mode: u32| {
        fs::set_permissions(&kept, fs::Permissions::from_mode(mode)).expect("it is ours");
        let mut world = world(&folder, &[]);
        world.bind_credential("KEY=api.example.com").map(|()| world)
    };
    for mode in [0o644, 0o640, 0o620, 0o604] {
        let error = bind(mode).expect_err("others may read it").to_string();
        assert!(error.ends_with("other users may read or change it"), "{mode:o}: {error}");
    }
    let world = bind(0o600).expect("it is private");
    // The line break is not part of it.
    assert_eq!(world.credentials[0].placeholder.secret().reveal_value(), VALUE);
    // A requirement of the variable is satisfied.
    assert!(world.environment.iter().any(|(name, value)| name == "KEY" && !value.is_empty()));
}
