//! Texts of strangers that would take over a terminal: whatever verb shows them, and wherever to, nothing of it is obeyed.

use prowess_testkit::{Reply, Scene, Script, ScriptedProvider};
use serde_json::json;

use crate::packages::{STORE, home, manifest};

/// Colours, a window title, a change of direction, and the same introducer as one character.
const EVIL: &str = "x\u{1b}[31m\u{1b}]0;owned\u{7}\u{202e}y\u{2066}\u{9b}2Jz";
/// The same as YAML writes it.
const YAML: &str = r"x\e[31m\e]0;owned\a\u202ey\u2066\x9b2Jz";

/// What a terminal would obey, or what would show a text in another order than it has.
fn is_obeyed(character: char) -> bool {
    let is_allowed = matches!(character, '\n' | '\t');
    (character.is_control() && !is_allowed)
        || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// A registry and a domain that say such things.
fn server() -> ScriptedProvider {
    let hit = json!({
        "namespace": "acme", "name": "greet", "version": EVIL, "description": EVIL, "tier": EVIL,
    });
    let page = manifest("greet", "1.0.0", "").replace("name: greet", &format!("name: \"{YAML}\""));
    let problem = json!({ "status": 403, "detail": EVIL });
    ScriptedProvider::start(
        Script::new([])
            .page("/api/v1/search", Reply::json(200, &json!({ "results": [hit] })))
            .page("/api/v1/index/acme/greet", Reply::json(403, &problem))
            .page("/.well-known/skills/default/skill.md", Reply::bytes(200, "text/markdown", page)),
    )
}

/// A machine that is full of them: in files, in names of files, in names of folders.
fn scene(server: &ScriptedProvider) -> Scene {
    let evil = EVIL.replace(']', "");
    let more = format!("author: \"{YAML}\"\nlicense: \"{YAML}\"\n");
    let text = manifest("greet", "1.0.0", &more)
        .replace("description: Greets people", &format!("description: \"Greets {YAML}\""));
    let wants = format!("permissions:\n  - \"network:read:{YAML}\"\n");
    let scene = home()
        .variable("PROWESS_REGISTRY", server.url())
        .file("greet/SKILL.md", text.clone())
        .file("wanting/SKILL.md", manifest("wanting", "1.0.0", &wants))
        .file("named/SKILL.md", manifest(&format!("\"{YAML}\""), "1.0.0", ""))
        .file(&format!("{evil}/SKILL.md"), manifest("other", "1.0.0", ""))
        // An agent that knows skills by the names in their files.
        .file("home/.codex/config.toml", "")
        .file(&format!("home/.agents/skills/{evil}/SKILL.md"), text.clone())
        .file(
            &format!("home/.claude/skills/{evil}/SKILL.md"),
            text.replace("name: greet", "name: ["),
        )
        .file("home/.claude/skills/greet/SKILL.md", text);
    let said = scene.run("install ./greet --allow-experimental --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    // Somebody has put a file beside what was installed.
    scene.file(&format!("{STORE}/skills/greet/{evil}"), "x")
}

#[test]
fn no_verb_passes_on_what_a_terminal_would_obey() {
    let server = server();
    let scene = scene(&server);
    let folder = format!("./{}", EVIL.replace(']', ""));
    let host = server.url().trim_start_matches("http://");
    let rows: &[&[&str]] = &[
        &["install", &folder],
        &["install", "./named", "--allow-experimental"],
        &["install", "./wanting", "--allow-experimental"],
        &["install", "./nowhere\u{1b}[2J"],
        &["install", "nobody\u{1b}[2J"],
        &["install", "acme/greet"],
        &["install", server.url(), "--allow-experimental"],
        &["install", "./greet", "--skill", EVIL],
        &["list"],
        &["list", "--agents", "--all"],
        &["info", "greet"],
        &["info", EVIL],
        &["which", "greet"],
        &["which", EVIL],
        &["search", "greet"],
        &["trawl", host],
        &["verify"],
        &["verify", "greet"],
        &["verify", EVIL],
        &["update", EVIL],
        &["remove", EVIL],
        &["trust", "accept", "greet", EVIL],
        &["trust", "accept", EVIL, "x"],
        &["lock", "--check"],
    ];
    let is_shown = |text: &str| {
        [r"\u{1b}", r"\u{9b}", r"\u001b", r"\u009b"].iter().any(|it| text.contains(it))
    };
    for words in rows {
        let has_json = !matches!(words[0], "remove" | "trust");
        for json in [false, true] {
            if json && !has_json {
                continue;
            }
            let mut words = words.to_vec();
            if json {
                words.extend(["--format", "json"]);
            }
            let output = scene.output(&words, "");
            for (name, bytes) in [("stdout", output.stdout), ("stderr", output.stderr)] {
                let text = String::from_utf8(bytes).expect("it is UTF-8");
                let obeyed = text.chars().find(|character| is_obeyed(*character));
                assert_eq!(obeyed, None, "{words:?} on {name}: {text:?}");
            }
        }
        // On a terminal the same bytes are shown otherwise; line ends are the terminal's.
        let screen = scene.run_on_terminal(words, "n\n");
        let obeyed = screen.chars().find(|character| is_obeyed(*character));
        assert_eq!(obeyed, None, "{words:?} on a terminal: {screen:?}");
        assert!(is_shown(&screen), "{words:?} shows nothing that could be obeyed: {screen}");
    }
}
