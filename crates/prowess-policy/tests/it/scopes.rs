//! Scopes of grants: what is accepted, the canonical spelling, and why others are refused.

use prowess_policy::scope::{HostName, HostPattern, PathPattern, RootedPath};
use prowess_policy::{Grant, GrantSource};

/// Checks the grants of a permission, or its refusal.
fn check(permission: &str, expected: &str) {
    let got = match Grant::parse(permission, &GrantSource::Declared(permission.to_owned())) {
        Ok(grants) => grants.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        Err(error) => format!("refused: {error}"),
    };
    assert_eq!(got, expected, "{permission}");
}

#[test]
fn paths_have_one_canonical_spelling() {
    for (permission, expected) in [
        // GAIA §3.2
        ("filesystem:read:~/.gaia/data/**", "filesystem:read:~/.gaia/data/**"),
        ("filesystem:write:./output/**", "filesystem:write:./output/**"),
        ("filesystem:read:output", "filesystem:read:./output"),
        ("filesystem:read:./a/./b//c", "filesystem:read:./a/b/c"),
        ("filesystem:read:./data/", "filesystem:read:./data/**"),
        ("filesystem:read:.", "filesystem:read:."),
        ("filesystem:read:~", "filesystem:read:~"),
        ("filesystem:read:/etc/hosts", "filesystem:read:/etc/hosts"),
        ("filesystem:read:./**/**/x", "filesystem:read:./**/x"),
        (
            "filesystem:read:./data/*.{csv,json}",
            "filesystem:read:./data/*.csv filesystem:read:./data/*.json",
        ),
        // The whole machine is equivalent to no scope.
        ("filesystem:read:/", "filesystem:read"),
        ("filesystem:write:/**", "filesystem:write"),
        ("filesystem:read", "filesystem:read"),
        ("filesystem:none", ""),
        ("filesystem:read:..", "refused: `..` contains `..`: write the resolved path"),
        (
            "filesystem:read:./data/../../x",
            "refused: `./data/../../x` contains `..`: write the resolved path",
        ),
        (
            "filesystem:read:~root/x",
            "refused: `~root/x` names another user's home directory: only `~/` is supported",
        ),
        (
            "filesystem:read:$HOME/x",
            "refused: `$HOME/x` begins with a variable: write `~/` or `./`",
        ),
        (
            "filesystem:read:C:\\x",
            "refused: `C:\\x` contains a backslash: use `/` as the separator",
        ),
        (
            "filesystem:read:./[ab]",
            "refused: `./[ab]` contains `[`, which is not supported in a path: use `*`, `?`, `**` or `{a,b}`",
        ),
        (
            "filesystem:read:./a**b",
            "refused: `./a**b` contains `**` next to other characters: it only matches whole folders",
        ),
        (
            "filesystem:read:./{a",
            "refused: the braces in `./{a` are not closed, are nested, or expand to more than 64 paths",
        ),
        ("filesystem:read:./a\u{0}b", "refused: the path contains a control character"),
    ] {
        check(permission, expected);
    }
    let long = format!("filesystem:read:./{}", "a".repeat(5000));
    check(&long, "refused: the path is longer than 4096 bytes");
    let many = format!("filesystem:read:./{}", "{a,b}".repeat(7));
    assert!(Grant::parse(&many, &GrantSource::WorkingDirectory).is_err());
}

#[test]
fn path_patterns_match() {
    for (pattern, path, expected) in [
        ("./data/**", "./data/a/b", true),
        ("./data/**", "./data", true),
        ("./data/**", "./database", false),
        ("./data/**", "~/data/a", false),
        ("./data", "./data/a/b", true),
        ("./data/*.csv", "./data/a.csv", true),
        ("./data/*.csv", "./data/b.json", false),
        ("./data/*.csv", "./data/sub/a.csv", false),
        ("./**/*.md", "./a.md", true),
        ("./**/*.md", "./x/y/a.md", true),
        ("./a?", "./ab", true),
        ("./a?", "./a", false),
        ("/etc/hosts", "/etc/hosts", true),
        ("/etc/hosts", "/etc/shadow", false),
    ] {
        let pattern_read = PathPattern::parse(pattern).expect("the pattern is fine");
        let path_read = RootedPath::parse(path).expect("the path is fine");
        assert_eq!(pattern_read.matches(&path_read), expected, "{pattern} {path}");
    }
    assert!(RootedPath::parse("./data/../x").is_err());
}

#[test]
fn wider_path_patterns_cover_narrower_ones() {
    for (wide, narrow, expected) in [
        ("./data/**", "./data/x", true),
        ("./data", "./data/**", true),
        ("./data/**", "./data", true),
        ("./data/*", "./data/*.csv", true),
        ("./data/*.csv", "./data/*", false),
        ("./data/*.csv", "./data/a*.csv", true),
        ("./data/a*", "./data/?*", false),
        ("./**", "./data/*.csv", true),
        ("./**/x", "./**", false),
        ("./data/*", "./data/**", false),
        ("~/data/**", "./data/x", false),
        ("./?", "./*", false),
        ("./*", "./?", true),
    ] {
        let read = |text| PathPattern::parse(text).expect("the pattern is fine");
        assert_eq!(read(wide).covers(&read(narrow)), expected, "{wide} {narrow}");
    }
}

#[test]
fn hosts_have_one_canonical_spelling() {
    for (permission, expected) in [
        ("network:read:*.brave.com", "network:read:*.brave.com"),
        ("network:read:API.Brave.COM.", "network:read:api.brave.com"),
        ("network:write:api.example.com:8443", "network:write:api.example.com:8443"),
        ("network:read:*.example.com:8443", "network:read:*.example.com:8443"),
        ("network:read:a.com,b.com", "network:read:a.com network:read:b.com"),
        ("network:read:bücher.example", "network:read:xn--bcher-kva.example"),
        ("network:read:api。example。com", "network:read:api.example.com"),
        ("network:read", "network:read:*"),
        ("network:write:*", "network:write:*"),
        ("network:read:93.184.216.34", "network:read:93.184.216.34"),
        ("network:read:0x5d.184.216.34", "network:read:93.184.216.34"),
        ("network:read:[2606:2800:220:1::1]:8080", "network:read:[2606:2800:220:1::1]:8080"),
        ("network:read:2606:2800:220:1::1", "network:read:[2606:2800:220:1::1]"),
        ("network:read:localhost:11434", "network:read:localhost:11434"),
        ("network:read:127.0.0.1:8080", "network:read:127.0.0.1:8080"),
        (
            "network:read:https://api.example.com/v1",
            "refused: `https://api.example.com/v1` is a URL: write the host alone, such as `api.example.com`",
        ),
        (
            "network:read:a.com/x",
            "refused: `a.com/x` is a URL: write the host alone, such as `api.example.com`",
        ),
        (
            "network:read:api.*.com",
            "refused: `api.*.com` contains a `*` that is not the first label: write `*.example.com`",
        ),
        (
            "network:read:*brave.com",
            "refused: `*brave.com` contains a `*` that is not the first label: write `*.example.com`",
        ),
        ("network:read:*.10.0.0.1", "refused: `*.10.0.0.1` puts a wildcard before an address"),
        ("network:read:a%2ecom", "refused: `a%2ecom` is not a host name"),
        ("network:read:a..com", "refused: `a..com` is not a host name"),
        ("network:read:a.com:0", "refused: `a.com:0` does not end in a port from 1 to 65535"),
        (
            "network:read:a.com:https",
            "refused: `a.com:https` does not end in a port from 1 to 65535",
        ),
        (
            "network:read:a.com:70000",
            "refused: `a.com:70000` does not end in a port from 1 to 65535",
        ),
    ] {
        check(permission, expected);
    }
}

/// R55, attack sandbox-C28: the whole public suffix list including its private part, and single labels.
#[test]
fn wildcards_over_public_suffixes_are_refused() {
    for suffix in [
        "com",
        "co.uk",
        "github.io",
        "gitlab.io",
        "pages.dev",
        "workers.dev",
        "vercel.app",
        "netlify.app",
        "herokuapp.com",
        "web.app",
        "firebaseapp.com",
        "appspot.com",
        "azurewebsites.net",
        "cloudfront.net",
        "amazonaws.com",
        "blogspot.com",
        "ngrok.io",
        "ngrok-free.app",
        "fly.dev",
        "onrender.com",
        "surge.sh",
        "glitch.me",
        "repl.co",
        "readthedocs.io",
        "internal",
        "localhost",
        "s3.amazonaws.com",
        "COM",
        "公司.cn",
    ] {
        let refused = HostPattern::parse(&format!("*.{suffix}"));
        assert!(
            matches!(refused, Err(prowess_policy::scope::HostError::PublicSuffix(_))),
            "{suffix}: {refused:?}"
        );
        assert!(HostPattern::parse(suffix).is_ok(), "{suffix} itself is one host");
    }
    for owned in ["*.example.com", "*.example.co.uk", "*.someone.github.io", "*.corp.internal"] {
        assert!(HostPattern::parse(owned).is_ok(), "{owned}");
    }
}

/// Metadata services of clouds, and special addresses. Attack sandbox-C12.
#[test]
fn no_grant_opens_metadata_services() {
    for address in [
        "169.254.169.254",
        "0xa9fea9fe",
        "2852039166",
        "[fd00:ec2::254]",
        "fe80::1",
        "0.0.0.0",
        "[::]",
        "224.0.0.1",
        "255.255.255.255",
        "100.100.100.200",
        "[::ffff:169.254.169.254]",
    ] {
        let refused = HostPattern::parse(address);
        assert!(
            matches!(refused, Err(prowess_policy::scope::HostError::Forbidden(_))),
            "{address}: {refused:?}"
        );
    }
}

/// R51 and attacks sandbox-C10, sandbox-C11, sandbox-C24.
#[test]
fn host_patterns_match() {
    for (pattern, host, port, expected) in [
        ("*.brave.com", "api.brave.com", 443, true),
        ("*.brave.com", "brave.com", 443, true),
        ("*.brave.com", "a.b.brave.com", 80, true),
        ("*.brave.com", "API.BRAVE.COM.", 443, true),
        ("*.brave.com", "xbrave.com", 443, false),
        ("*.brave.com", "brave.com.evil.test", 443, false),
        ("*.brave.com", "example.com", 443, false),
        ("*.brave.com", "api.brave.com", 22, false),
        ("*.brave.com:8443", "api.brave.com", 8443, true),
        ("*.brave.com:8443", "api.brave.com", 443, false),
        ("*", "example.com", 443, true),
        ("*", "example.com", 6379, false),
        ("*", "93.184.216.34", 443, false),
        ("*", "2130706433", 443, false),
        ("*", "localhost", 443, false),
        ("93.184.216.34", "0x5d.184.216.34", 443, true),
        ("localhost:11434", "localhost", 11434, true),
    ] {
        let pattern_read = HostPattern::parse(pattern).expect("the pattern is fine");
        let host_read = HostName::parse(host).expect("the host is fine");
        assert_eq!(pattern_read.matches(&host_read, port), expected, "{pattern} {host} {port}");
    }
    for spelling in
        ["evil.test#.brave.com", "evil.test\\.brave.com", "a@b.com", "a.com%00", "::1%x.brave.com"]
    {
        assert!(HostName::parse(spelling).is_err(), "{spelling}");
    }
    for loopback in
        ["127.0.0.1", "2130706433", "0x7f.1", "017700000001", "[::ffff:127.0.0.1]", "127.1"]
    {
        let host = HostName::parse(loopback).expect("an address");
        assert!(host.is_local(), "{loopback}");
        assert_eq!(host.to_string(), "127.0.0.1", "{loopback}");
    }
}

#[test]
fn programs_are_names_or_absolute_paths() {
    for (permission, expected) in [
        ("shell:execute:git,npm", "shell:execute:git shell:execute:npm"),
        ("shell:execute:git, npm", "shell:execute:git shell:execute:npm"),
        ("shell:execute:/usr/bin/git", "shell:execute:/usr/bin/git"),
        ("shell:execute:g++", "shell:execute:g++"),
        ("shell:execute", "shell:execute"),
        ("shell:execute:*", "shell:execute"),
        (
            "shell:execute:./git",
            "refused: `./git` is a relative path: write the program's name or its absolute path",
        ),
        (
            "shell:execute:bin/git",
            "refused: `bin/git` is a relative path: write the program's name or its absolute path",
        ),
        (
            "shell:execute:/usr/../bin/sh",
            "refused: `/usr/../bin/sh` is a relative path: write the program's name or its absolute path",
        ),
        ("shell:execute:git status", "refused: `git status` is not a program name"),
        ("shell:execute:gi*", "refused: `gi*` is not a program name"),
        ("shell:execute:$(id)", "refused: `$(id)` is not a program name"),
        ("shell:execute:-x", "refused: `-x` is not a program name"),
        ("shell:execute:git,,npm", "refused: the program name is empty"),
        ("shell:execute:..", "refused: `..` is not a program name"),
    ] {
        check(permission, expected);
    }
}

/// Attack sandbox-F02.
#[test]
fn control_variables_cannot_be_requested() {
    for name in [
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "DYLD_INSERT_LIBRARIES",
        "BASH_ENV",
        "ENV",
        "NODE_OPTIONS",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PERL5OPT",
        "PERL5LIB",
        "RUBYOPT",
        "GIT_SSH_COMMAND",
        "GIT_EXTERNAL_DIFF",
        "GCONV_PATH",
        "PATH",
        "HOME",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "SSL_CERT_FILE",
        "IFS",
    ] {
        check(
            &format!("env:read:{name}"),
            &format!(
                "refused: `{name}` controls what programs load or connect to: no skill may request it"
            ),
        );
    }
    for name in ["GIBBERISH_SKILL_DIR", "PROWESS_MODE", "PROWESS_EMBEDDER_KEY"] {
        check(
            &format!("env:read:{name}"),
            &format!(
                "refused: `{name}` is a variable of prowess itself, for its settings and keys: no skill may request it"
            ),
        );
    }
    for (permission, expected) in [
        ("env:read:BRAVE_API_KEY", "env:read:BRAVE_API_KEY"),
        ("env:read:GITHUB_TOKEN,EDITOR", "env:read:GITHUB_TOKEN env:read:EDITOR"),
        ("env:read", "env:read"),
        ("env:read:1X", "refused: `1X` is not a variable name"),
        ("env:read:A-B", "refused: `A-B` is not a variable name"),
        ("env:read:BASH_FUNC_x%%", "refused: `BASH_FUNC_x%%` is not a variable name"),
    ] {
        check(permission, expected);
    }
}

#[test]
fn other_domains_take_a_name_or_no_scope() {
    for (permission, expected) in [
        ("desktop:control", "desktop:control"),
        ("desktop:control:screen", "refused: `desktop:control` has no scope: it is all or nothing"),
        ("mcp:connect:files,web", "mcp:connect:files mcp:connect:web"),
        ("mcp:connect", "mcp:connect"),
        ("mcp:connect:web,*", "mcp:connect:web mcp:connect"),
        ("database:read:notes", "database:read:notes"),
        ("database:write", "database:write"),
    ] {
        check(permission, expected);
    }
}

#[test]
fn a_grant_covers_narrower_ones() {
    for (wide, narrow, expected) in [
        ("network:write:*.brave.com", "network:read:api.brave.com", true),
        ("network:read:*.brave.com", "network:write:api.brave.com", false),
        ("network:write", "network:write:api.brave.com", true),
        ("network:write", "network:write:api.brave.com:8443", false),
        ("network:write", "network:write:127.0.0.1", false),
        ("network:write", "network:write:localhost", false),
        ("network:read:a.com", "network:read:a.com:443", true),
        ("network:read:a.com:443", "network:read:a.com", false),
        ("network:read:*.b.com", "network:read:*.a.b.com", true),
        ("network:read:*.a.b.com", "network:read:*.b.com", false),
        ("filesystem:write:./**", "filesystem:read:./data/**", true),
        ("filesystem:read:./**", "filesystem:write:./data/**", false),
        ("filesystem:read", "filesystem:read:~/x", true),
        ("filesystem:read", "filesystem:read:~/.ssh/config", false),
        ("filesystem:read:~/**", "filesystem:read:~/.ssh/config", false),
        ("filesystem:read:~/.ssh/**", "filesystem:read:~/.ssh/config", true),
        ("shell:execute", "shell:execute:git", true),
        ("shell:execute:git", "shell:execute", false),
        ("shell:execute:git", "shell:execute:/usr/bin/git", false),
        ("env:read", "env:read:EDITOR", true),
        ("env:read", "env:read:MY_TOKEN", false),
        ("mcp:connect", "mcp:connect:web", true),
        ("filesystem:read", "network:read", false),
    ] {
        let [wide_read] = <[Grant; 1]>::try_from(super::granted(wide)).expect("one grant");
        let [narrow_read] = <[Grant; 1]>::try_from(super::granted(narrow)).expect("one grant");
        assert_eq!(wide_read.covers(&narrow_read), expected, "{wide} {narrow}");
    }
}
