use std::fs;

use super::*;

fn world(folder: &Path, variables: &[(&str, &str)]) -> World {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    World::at(folder, folder, "/usr/bin".as_ref(), variables.collect()).expect("it is there")
}

fn shown(settings: &Settings) -> Vec<String> {
    settings.iter().map(|(key, values)| format!("{key} {}", values.join("|"))).collect()
}

#[test]
fn files_and_variables_of_pip_are_read_in_its_order() {
    let home = tempfile::tempdir().expect("a folder");
    let home = home.path().canonicalize().expect("it is there");
    fs::create_dir_all(home.join(".config/pip")).expect("it can be made");
    let text = "# mine\n[global]\nindex-url = https://a.example/simple\ntrusted_host: a.example\n[install]\nextra-index-url =\n    https://b.example/\n    ; a comment\n    https://c.example/\ntarget = /elsewhere\n";
    fs::write(home.join(".config/pip/pip.conf"), text).expect("it can be written");
    // Independent of the machine that runs the test.
    let none = [("XDG_CONFIG_DIRS", "/nowhere"), ("PIP_CERT", "x.pem")];
    let of = |more: &[(&str, &str)]| {
        let settings =
            of_pip(&world(&home, &[&none, more].concat()), Path::new("/nowhere/bin/python"));
        shown(&settings.expect("it can be read"))
    };
    assert_eq!(
        of(&[]),
        [
            "cert x.pem",
            "extra-index-url https://b.example/|https://c.example/",
            "index-url https://a.example/simple",
            "trusted-host a.example"
        ]
    );
    let said =
        of(&[("PIP_INDEX_URL", "https://v.example/"), ("PIP_TARGET", "/x"), ("PIP_PRE", "")]);
    assert_eq!(said[2], "index-url https://v.example/");
    assert_eq!(said.len(), 4, "{said:?}");
    assert_eq!(of(&[("PIP_CONFIG_FILE", "/dev/null")]), ["cert x.pem"]);
}

#[test]
fn uv_is_told_what_pip_was_told_unless_it_was_told_itself() {
    let home = tempfile::tempdir().expect("a folder");
    let home = home.path().canonicalize().expect("it is there");
    fs::create_dir_all(home.join(".config/uv")).expect("it can be made");
    let text = "native-tls = true\nindex-url = 'https://t.example/'\n[pip]\nindex-url = 'https://p.example/'\n[[index]]\nname = 'own'\nurl = 'https://i.example/'\n[[index]]\nurl = 'https://e.example/'\nexplicit = true\n";
    fs::write(home.join(".config/uv/uv.toml"), text).expect("it can be written");
    let none = [
        ("XDG_CONFIG_DIRS", "/nowhere"),
        ("PIP_CONFIG_FILE", "/dev/null"),
        ("PIP_FIND_LINKS", "/w"),
    ];
    let of = |more: &[(&str, &str)]| {
        of_uv(&world(&home, &[&none, more].concat()), Path::new("/nowhere/bin/python"))
    };
    let usual = shown(&of(&[]).expect("it can be read"));
    assert_eq!(
        usual,
        [
            "extra-index-url own=https://i.example/",
            "find-links /w",
            "index-url https://p.example/",
            "system-certs true"
        ]
    );
    let own = [("UV_DEFAULT_INDEX", "https://d.example/"), ("UV_FIND_LINKS", "/x,/y")];
    let own = shown(&of(&own).expect("it can be read"));
    assert_eq!(own[1..3], ["find-links /x|/y", "index-url https://d.example/"]);
    fs::write(home.join(".config/uv/uv.toml"), "[[").expect("it can be written");
    let error = of(&[]).expect_err("that is not TOML").to_string();
    assert!(error.contains("uv.toml` is not valid TOML"), "{error}");
}

#[test]
fn logins_of_netrc_belong_to_their_hosts() {
    let text = "machine a.example login me password one\nmachine b.example\n  password two\n# machine c.example password no\ndefault login anonymous password three\n";
    let login = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
    assert_eq!(login_of(text, "a.example"), login("me", "one"));
    assert_eq!(login_of(text, "b.example"), login("", "two"));
    assert_eq!(login_of(text, "c.example"), login("anonymous", "three"));
    assert_eq!(login_of("machine a.example login me", "a.example"), None);
    assert_eq!(login_of("machine a.example login me password one", "b.example"), None);
}
