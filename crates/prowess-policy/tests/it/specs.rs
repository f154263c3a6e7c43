//! What a spec allows.

use prowess_policy::scope::{HostName, RootedPath};
use prowess_policy::spec::{Access, Action, SandboxSpec};
use prowess_policy::{Decision, Origin, Tier};

use crate::{Run, python_skill};

/// Checks which actions a skill with these permissions may do: `read PATH`, `write PATH`, `get HOST:PORT`, `post HOST:PORT`.
fn check(permissions: &[&str], tier: Tier, expected: &[(&str, bool)]) {
    let decision = Run::new(tier, Origin::Local).decide(&python_skill(permissions));
    let Decision::Ask(question) = decision else { panic!("{decision:?}") };
    let spec: &SandboxSpec = question.spec();
    for (action, allowed) in expected {
        let (verb, object) = action.split_once(' ').expect("a verb and an object");
        let path = || RootedPath::parse(object).expect("the path is fine");
        let connect = |access| {
            let (host, port) = object.rsplit_once(':').expect("a host and a port");
            let host = HostName::parse(host).expect("the host is fine");
            Action::Connect { host, port: port.parse().expect("a number"), access }
        };
        let parsed = match verb {
            "read" => Action::Read(path()),
            "write" => Action::Write(path()),
            "get" => connect(Access::Read),
            "post" => connect(Access::Write),
            other => panic!("`{other}` is not a known verb"),
        };
        assert_eq!(spec.allows(&parsed), *allowed, "{permissions:?} at {tier}: {action}");
    }
}

#[test]
fn scoped_grants_allow_only_what_they_name() {
    check(
        &["filesystem:read:./data/**", "filesystem:write:./out/*.md"],
        Tier::Community,
        &[
            ("read ./data/a", true),
            ("write ./data/a", false),
            ("write ./out/x.md", true),
            ("read ./out/x.md", true),
            ("write ./out/x.sh", false),
            ("write ./out/sub/y.md", false),
            ("read ./other", false),
            ("read ~/data/a", false),
        ],
    );
    check(
        &["network:read:*.brave.com", "network:write:api.example.com:8443"],
        Tier::Community,
        &[
            ("get api.brave.com:443", true),
            ("post api.brave.com:443", false),
            ("get example.com:443", false),
            ("post api.example.com:8443", true),
            ("get api.example.com:8443", true),
            ("get api.example.com:443", false),
        ],
    );
}

/// Attack sandbox-A10: files that are executed later on someone's behalf are never writable.
#[test]
fn protected_places_are_never_written() {
    check(
        &["filesystem:write"],
        Tier::Verified,
        &[
            ("write ./src/main.rs", true),
            ("write ./.git/hooks/pre-commit", false),
            ("write ./.git/config", false),
            ("write ./vendor/sub/.git/hooks/x", false),
            ("write ./sub/x.code-workspace", false),
            ("write ./code-workspace", true),
            ("write ./.cargo/config.toml", false),
            ("write ./.cargo/audit.toml", true),
            ("write ./.envrc", false),
            ("write ./Makefile", true),
            ("read ./.git/config", true),
            ("write ~/.bashrc", false),
            ("write /home/me/.bashrc", false),
            ("write ~/.config/autostart/x.desktop", false),
            ("write ./.bashrc", true),
            ("write ~/.local/lib/python3.11/site-packages/x.pth", false),
            ("write ~/.config/pip/pip.conf", false),
            ("write ~/.pam_environment", false),
            ("write ~/.inputrc", false),
            ("write ~/.pythonrc.py", false),
            ("write /etc/cron.d/x", false),
            ("write /etc/ld.so.preload", false),
            ("write /etc/passwd", false),
            ("write /usr/lib/python3/dist-packages/x.pth", false),
            ("write /usr/local/bin/ls", false),
            ("write /boot/grub/grub.cfg", false),
            ("write /var/spool/cron/root", false),
            ("write /srv/etc/cron.d/x", true),
            ("write /usr/src/app/x", true),
        ],
    );
    check(
        &["filesystem:write:~/.ssh/**", "filesystem:write:./.git/**"],
        Tier::Verified,
        &[
            ("read ~/.ssh/config", true),
            ("write ~/.ssh/config", false),
            ("write ./.git/hooks/x", false),
        ],
    );
}

/// Finding 13: tokens of agents, profiles of browsers, histories of shells.
#[test]
fn secrets_of_programs_are_never_read() {
    let secrets = [
        ".pgpass",
        ".my.cnf",
        ".vault-token",
        ".bash_history",
        ".zsh_history",
        ".local/share/fish/fish_history",
        ".psql_history",
        ".claude.json",
        ".claude/.credentials.json",
        ".codex/auth.json",
        ".config/github-copilot/apps.json",
        ".config/BraveSoftware/Default/Login Data",
        ".config/microsoft-edge/Default/Cookies",
        ".m2/settings.xml",
        ".terraform.d/credentials.tfrc.json",
    ];
    for name in secrets {
        let action = format!("read ~/{name}");
        check(&["filesystem:read:~/**"], Tier::Verified, &[(&action, false)]);
        check(&[&format!("filesystem:read:~/{name}")], Tier::Verified, &[(&action, true)]);
    }
}

/// A location of secrets is only accessible by naming it.
#[test]
fn locations_of_secrets_must_be_named() {
    let secrets = [("read ~/.ssh/id_ed25519", false), ("read /home/me/.aws/credentials", false)];
    check(&["filesystem:read"], Tier::Verified, &secrets);
    check(
        &["filesystem:read"],
        Tier::Verified,
        &[("read ~/notes", true), ("read /etc/hosts", true)],
    );
    check(&["filesystem:read:~/**"], Tier::Verified, &secrets[..1]);
    let of_machine = [
        ("read /etc/shadow", false),
        ("read /etc/ssh/ssh_host_rsa_key", false),
        ("read /etc/sudoers", false),
        ("read /root/notes", false),
        ("read /srv/etc/shadow", true),
    ];
    check(&["filesystem:read"], Tier::Verified, &of_machine);
    check(&["filesystem:read:/etc/**"], Tier::Verified, &of_machine[..3]);
    check(&["filesystem:read:/etc/shadow"], Tier::Verified, &[("read /etc/shadow", true)]);
    check(
        &["filesystem:read:~/.ssh/config"],
        Tier::Verified,
        &[("read ~/.ssh/config", true), ("read ~/.ssh/id_ed25519", false)],
    );
    // A wildcard does not name it.
    check(&["filesystem:read:~/.s*/**"], Tier::Verified, &secrets[..1]);
}

/// Attacks sandbox-C11, sandbox-C12: wildcards match no addresses, and no grant allows this machine or metadata services.
#[test]
fn any_host_means_any_public_name() {
    check(
        &["network:write"],
        Tier::Verified,
        &[
            ("post example.com:443", true),
            ("post example.com:22", false),
            ("get 93.184.216.34:443", false),
            ("get localhost:80", false),
            ("get 169.254.169.254:80", false),
        ],
    );
}

/// R52.
#[test]
fn an_unscoped_grant_of_an_experimental_skill_is_the_working_directory() {
    let elsewhere = [
        ("write ./x", true),
        ("write ~/x", false),
        ("read ~/x", false),
        ("read /etc/hosts", false),
    ];
    check(&["filesystem:write"], Tier::Experimental, &elsewhere);
    check(&["filesystem:write:/**"], Tier::Experimental, &elsewhere);
}
