use super::*;

fn index(tool: Installer, variables: &[(&str, &str)]) -> Index {
    let usual = [("PIP_CONFIG_FILE", "/dev/null"), ("UV_NO_CONFIG", "1")];
    let all = [&usual, variables].concat();
    let all = all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let world = World::at("/nowhere".as_ref(), "/tmp".as_ref(), "/usr/bin".as_ref(), all);
    Index::of(tool, &world.expect("it is there"), Path::new("/usr/bin/python3"))
        .expect("it is well")
}

/// The granted hosts with their ports; those that may be private end in a star.
fn hosts(tool: Installer, variables: &[(&str, &str)]) -> Vec<String> {
    let (grants, private) = index(tool, variables).hosts(&[]).expect("they are hosts");
    let shown = grants.iter().map(|grant| {
        let HostMatcher::Exact(host) = &grant.host else { panic!("{grant:?}") };
        let star = if private.contains(host) { "*" } else { "" };
        format!("{host}:{}{star}", grant.port.unwrap_or_default())
    });
    shown.collect()
}

#[test]
fn only_indexes_are_reached() {
    let pypi = ["files.pythonhosted.org:443", "pypi.org:443"];
    assert_eq!(hosts(Installer::Pip, &[]), pypi);
    assert_eq!(hosts(Installer::Uv, &[]), pypi);
    let own = [
        ("PIP_INDEX_URL", "https://me:pass@index.example/simple"),
        ("PIP_EXTRA_INDEX_URL", "http://127.0.0.1:3141/x https://b.example:8443/"),
        ("PIP_FIND_LINKS", "/wheels https://l.example/"),
        ("PROWESS_PACKAGE_HOSTS", "files.example, 10.0.0.1:81"),
    ];
    let named = [
        "index.example:443*",
        "127.0.0.1:3141*",
        "b.example:8443*",
        "l.example:443*",
        "files.example:443*",
        "10.0.0.1:81*",
    ];
    assert_eq!(hosts(Installer::Pip, &own), named);
    assert_eq!(hosts(Installer::Uv, &own), named);
    let none = [("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", "/w"), ("PROWESS_PACKAGE_HOSTS", "a.b")];
    assert_eq!(hosts(Installer::Pip, &none), Vec::<String>::new());
    assert_eq!(hosts(Installer::Uv, &none), Vec::<String>::new());
}

#[test]
fn a_password_stays_outside_where_the_proxy_can_put_it_in() {
    let shown = |variables: &[(&str, &str)]| {
        let mut spec = Spec::new("/usr/bin/python3");
        index(Installer::Pip, variables).open(&mut spec).expect("it opens");
        let variable = spec.environment.iter().find(|(name, _)| name == "PIP_INDEX_URL");
        variable.expect("it is told").1.clone().into_string().expect("it is text")
    };
    let url = shown(&[("PIP_INDEX_URL", "https://me:s3cret%40Pass-word@index.example/simple")]);
    assert!(url.starts_with("https://me:") && url.ends_with("@index.example/simple"), "{url}");
    assert!(!url.contains("s3cret") && url.contains("%40"), "{url}");
    let url = shown(&[("PIP_INDEX_URL", "https://t0ken12345678@index.example/")]);
    assert!(!url.contains("t0ken") && url.len() == "https://t0ken12345678@index.example/".len());
    // Without TLS or without certificate verification, only the installer can send it.
    let plain = "http://me:s3cretPassword@index.example/simple";
    assert_eq!(shown(&[("PIP_INDEX_URL", plain)]), plain);
    let insecure = "https://me:s3cretPassword@index.example/simple";
    let variables = [("PIP_INDEX_URL", insecure), ("PIP_TRUSTED_HOST", "index.example")];
    assert_eq!(shown(&variables), insecure);
}

#[test]
fn an_index_of_uv_gets_the_login_of_its_name() {
    let variables = [
        ("UV_INDEX", "my-own=https://i.example/ https://j.example/"),
        ("UV_INDEX_MY_OWN_USERNAME", "me"),
        ("UV_INDEX_MY_OWN_PASSWORD", "short"),
    ];
    let index = index(Installer::Uv, &variables);
    let shown: Vec<String> =
        index.extra.iter().map(|it| index.shown(it, &mut Vec::new())).collect();
    assert_eq!(shown, ["https://me:short@i.example/", "https://j.example/"]);
}

#[test]
fn what_can_not_be_an_index_is_an_error_without_its_password() {
    let of = |value: &str| {
        let world = World::at("/nowhere".as_ref(), "/tmp".as_ref(), "/".as_ref(), Vec::new());
        place(value, "index-url", &world.expect("it is there"))
            .map(|_| ())
            .map_err(|it| it.to_string())
    };
    assert_eq!(of("https://index.example/simple"), Ok(()));
    assert_eq!(of("/some/folder"), Ok(()));
    for value in ["ftp://me:pass@index.example/", "https://me:pass@:0/"] {
        let error = of(value).expect_err(value);
        assert!(
            error.starts_with("the setting `index-url` ") && !error.contains("pass"),
            "{error}"
        );
    }
}
