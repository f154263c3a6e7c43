//! What the tests of the verbs about packages share: skills, homes, registries, and texts without what changes.

use std::path::Path;

use prowess_testkit::{Published, Scene, TestRegistry};

use crate::scene;

/// Where a user's skills are installed, below a scene.
pub(crate) const STORE: &str = "home/.local/share/prowess";

/// A scene whose user has an empty home.
pub(crate) fn home() -> Scene {
    scene().home("home").variable("GIT_CONFIG_NOSYSTEM", "1")
}

/// The same with a registry.
pub(crate) fn home_with(registry: &TestRegistry) -> Scene {
    home().variable("PROWESS_REGISTRY", registry.url())
}

/// A `SKILL.md` with a version and more front matter.
pub(crate) fn manifest(name: &str, version: &str, more: &str) -> String {
    format!(
        "---\nname: {name}\nversion: {version}\ndescription: Greets people\n{more}---\n\n# {name}\n\nSay hello.\n"
    )
}

/// The front matter of a skill that asks for a part of the network.
pub(crate) const NETWORK: &str = "permissions:\n  - network:read:api.example.com\n";

/// The front matter of a skill that nobody installs without being asked (GAIA §4.2).
pub(crate) const DANGEROUS: &str = "permissions:\n  - shell:execute:git\n";

/// Packs a folder of the scene and gives the archive.
pub(crate) fn packed(scene: &Scene, folder: &str) -> Vec<u8> {
    let said = scene.run(&format!("pack {folder} --output packed.tar.gz --force"));
    assert!(said.starts_with("exit 0"), "{said}");
    scene.bytes("packed.tar.gz")
}

/// A version for a registry whose only file is a `SKILL.md`.
pub(crate) fn release(name: &str, version: &str, more: &str) -> Published {
    let author = home().file(&format!("{name}/SKILL.md"), manifest(name, version, more));
    Published::new("acme", name, version, packed(&author, name))
}

/// Makes a key and signs a folder with it.
pub(crate) fn sign(scene: &Scene, folder: &str, key: &str) {
    if !scene.path().join(STORE).join("keys").join(format!("{key}.key")).exists() {
        assert!(scene.run(&format!("key new {key}")).starts_with("exit 0"));
    }
    let said = scene.run(&format!("sign {folder} --key {key}"));
    assert!(said.starts_with("exit 0"), "{said}");
}

/// Lets the signatures of a key of the same user count.
pub(crate) fn trust(scene: &Scene, key: &str, role: &str) {
    let public = scene.stdout(&format!("key export {key}"));
    let said = scene.run_with(&["trust", "add", "-", "--role", role], &public);
    assert!(said.starts_with("exit 0"), "{said}");
}

/// The identifier of a key.
pub(crate) fn key_id(scene: &Scene, key: &str) -> String {
    let list = scene.stdout("key list");
    let line = list.lines().find(|line| line.starts_with(&format!("{key} ")));
    let id = line.and_then(|line| line.split_whitespace().nth(2));
    id.unwrap_or_else(|| panic!("{list}")).to_owned()
}

/// Every file below a folder with its bytes, in words that can be compared.
pub(crate) fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    prowess_testkit::files_below(folder, &|_| true)
        .iter()
        .map(|file| {
            let path = file.strip_prefix(folder).expect("it is below the folder");
            (path.display().to_string(), prowess_testkit::bytes(file))
        })
        .collect()
}

/// What is installed for the user of a scene: skills and lock file, but for the folders that are only there for work.
pub(crate) fn installed(scene: &Scene) -> Vec<(String, Vec<u8>)> {
    let store = scene.path().join(STORE);
    let all = if store.exists() { contents(&store) } else { Vec::new() };
    let is_installed =
        |path: &String| path.starts_with("skills/") || path.starts_with("skill-lock.json");
    all.into_iter().filter(|(path, _)| is_installed(path)).collect()
}

/// A text without what is different every time: hashes and identifiers, times, ports.
pub(crate) fn steady(text: &str) -> String {
    let is_hex = |character: char| matches!(character, '0'..='9' | 'a'..='f');
    let is_base64 =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '+' | '/' | '=');
    let mut steady = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = |from: &str, wanted: &dyn Fn(char) -> bool| {
            from.find(|character| !wanted(character)).unwrap_or(from.len())
        };
        let (length, word) = if rest.starts_with("sha256-") {
            (7 + run(&rest[7..], &is_base64), "[DIGEST]")
        } else if rest.starts_with("127.0.0.1:") {
            (10 + run(&rest[10..], &|character| character.is_ascii_digit()), "[HOST]")
        } else if is_time(rest) {
            (20, "[TIME]")
        } else {
            let length = run(rest, &|character| character.is_ascii_alphanumeric());
            let is_id = length >= 12 && rest[..length].chars().all(is_hex);
            if is_id { (length, "[HEX]") } else { (length.max(first.len_utf8()), "") }
        };
        steady.push_str(if word.is_empty() { &rest[..length] } else { word });
        rest = &rest[length..];
    }
    steady
}

/// Whether a text begins with a time such as `2026-01-31T00:00:00Z`.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 20
        && bytes[..20].iter().zip(b"0000-00-00T00:00:00Z").all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            _ => byte == shape,
        })
}
