//! What is found where, and what is remembered of it.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;
use prowess_store::discovery::{CACHE_FILE_NAME, Listing, RootKind, ScanCache};

use crate::home::Home;

/// A listing as data: one line per skill.
fn told(home: &Home, listing: &Listing) -> String {
    let mut text = String::new();
    for skill in &listing.skills {
        let root = &listing.roots[skill.root];
        let write = if root.kind.is_writable() { "writable" } else { "read-only" };
        let version = skill.summary.version.as_deref().unwrap_or("-");
        let dialect = &skill.summary.dialect;
        let directory = home.shown(&skill.directory);
        let root = root.kind.as_str();
        let _ = write!(text, "{} {version} {dialect} {directory} ({root}, {write})", skill.name);
        if let Some(winner) = skill.shadowed_by {
            let winner = home.shown(&listing.skills[winner].directory);
            let _ = write!(text, ", shadowed by {winner}");
        }
        for other in &skill.also_at {
            let _ = write!(text, ", also at {}", home.shown(&other.directory));
        }
        text.push('\n');
        for error in &skill.summary.errors {
            let _ =
                writeln!(text, "  broken: line {} {}: {}", error.line, error.rule, error.message);
        }
    }
    for note in &listing.notes {
        let _ = writeln!(text, "note: {} {}", home.shown(&note.path), note.why);
    }
    home.without_paths(&text)
}

#[test]
fn roots_are_ordered_copies_are_shadowed_and_broken_skills_are_listed() {
    let home = Home::new();
    for folder in [
        ".prowess/skills/deploy",
        "~/.local/share/prowess/skills/deploy",
        "/bundled/deploy",
        ".claude/skills/deploy",
        "~/.claude/skills/deploy",
        "~/.local/share/prowess/skills/only-user",
        "~/.agents/skills/shared",
        "skills/claw",
        "~/.gaia/skills/gaia-one",
        "~/.config/gibberish/skills/gib",
        "~/.skillli/skills/skl",
        "data/skills/flow",
        "backend/data/skills/flow-two",
        "~/.codex/skills/older",
    ] {
        home.skill(folder);
    }
    home.write(
        "~/.local/share/skillrt/skills/srt/1.2.0/SKILL.md",
        "---\nname: srt\nversion: 1.2.0\ndescription: Does\n---\n\nBody\n",
    );
    // A broken copy takes no name.
    home.write(".prowess/skills/only-user/SKILL.md", "---\nname: [\n---\n");
    home.write(".claude/skills/open/SKILL.md", "---\nname: open\ndescription: Never closed\n");
    let listing = home.discover(ScanCache::None);
    assert_snapshot!(told(&home, &listing));
    assert_eq!(listing.broken().count(), 2);
    let deploy = listing.find("deploy").expect("it is there");
    assert_eq!(home.shown(&deploy.directory), ".prowess/skills/deploy");
    assert_eq!(
        listing
            .skills
            .iter()
            .filter(|copy| copy.name == "deploy" && copy.shadowed_by.is_some())
            .count(),
        4
    );
    let only_user = listing.find("only-user").expect("it is there");
    assert_eq!(listing.roots[only_user.root].kind, RootKind::User);
    // What is in a folder of an agent is looked at, and nothing is installed there.
    let claude = listing.roots.iter().find(|root| home.shown(&root.path) == ".claude/skills");
    let claude = claude.expect("it was looked at");
    assert!(!claude.kind.is_writable());
    assert!(claude.agents.iter().any(|agent| agent.id == "claude-code"));
}

#[test]
fn links_lead_to_one_skill_and_never_in_circles() {
    let home = Home::new();
    home.skill(".prowess/skills/placed");
    home.skill("/elsewhere/outside");
    home.skill("/elsewhere/outside/nested/below");
    home.link(".claude/skills/placed", "../../.prowess/skills/placed");
    home.link(".claude/skills/linked", home.path("/elsewhere/outside"));
    home.link(".claude/skills/tree", home.path("/elsewhere"));
    home.link(".claude/skills/circle", home.path(".claude/skills"));
    home.link(".claude/skills/gone", "nowhere");
    home.skill(".claude/skills/group/deep");
    home.link(".claude/skills/group/up", home.path(".claude"));
    // Two roots that are one folder.
    home.skill("~/.claude/skills/dotfiles");
    home.link("~/.agents/skills", home.path("~/.claude/skills"));
    // In our own store nothing is a link.
    home.link(".prowess/skills/planted", home.path("/elsewhere/outside"));
    // NEG-15: a file that is really another one's.
    home.write("/elsewhere/secret", "---\nname: secret\ndescription: x\n---\n");
    home.link(".claude/skills/spy/SKILL.md", home.path("/elsewhere/secret"));
    home.write(
        ".claude/skills/alias/REAL.md",
        "---\nname: alias\ndescription: Fine\n---\n\nBody\n",
    );
    home.link(".claude/skills/alias/SKILL.md", "REAL.md");
    assert_snapshot!(told(&home, &home.discover(ScanCache::None)));
}

#[test]
fn a_walk_is_bounded_and_says_what_it_left_out() {
    let home = Home::new();
    home.skill(".claude/skills/1/2/3/4/5/seen");
    home.skill(".claude/skills/1/2/3/4/5/6/unseen");
    home.skill(".claude/skills/node_modules/dependency");
    home.skill(".claude/skills/.git/hooks");
    home.skill(".claude/skills/.prowess-staging-x/half");
    // A pipe in place of the file would keep whoever opens it waiting for ever.
    fs::create_dir_all(home.path(".claude/skills/pipe")).expect("a folder can be made");
    let pipe = home.path(".claude/skills/pipe/SKILL.md");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    home.write(".claude/skills/large/SKILL.md", &"x".repeat((16 << 20) + 1));
    home.write(".claude/skills/binary/SKILL.md", "\0\0\0\0");
    assert_snapshot!(told(&home, &home.discover(ScanCache::None)));
}

#[test]
fn a_root_has_at_most_20_000_folders() {
    let home = Home::in_memory();
    for number in 0..20_001 {
        fs::create_dir_all(home.path(&format!(".claude/skills/{number}"))).expect("a folder");
    }
    let listing = home.discover(ScanCache::None);
    assert_snapshot!(told(&home, &listing), @"note: .claude/skills more than 20000 folders: the others were not searched");
}

#[test]
fn a_skill_is_seen_by_the_agents_in_whose_folders_it_is() {
    let home = Home::new();
    home.skill(".prowess/skills/deploy");
    home.link(".claude/skills/deploy", "../../.prowess/skills/deploy");
    home.link(".agents/skills/deploy", "../../.prowess/skills/deploy");
    let listing = home.discover(ScanCache::None);
    let agents = listing.seen_by(listing.find("deploy").expect("it is there"));
    let ids: Vec<&str> = agents.iter().map(|agent| agent.id).collect();
    for (id, sees) in [("claude-code", true), ("codex", true), ("zed", true), ("kiro-cli", false)] {
        assert_eq!(ids.contains(&id), sees, "{id}");
    }
    // Cursor reads both folders and is reported not to see links.
    assert!(!ids.contains(&"cursor"));
    assert!(ids.is_sorted(), "{ids:?}");
}

#[test]
fn other_spellings_count() {
    let home = Home::new();
    home.write("skills/lower/skill.md", "---\nname: lower\ndescription: Fine\n---\n\nBody\n");
    home.write("skills/both/skill.md", "---\nname: wrong\ndescription: Fine\n---\n\nBody\n");
    home.write("skills/both/SKILL.md", "---\nname: both\ndescription: Fine\n---\n\nBody\n");
    let listing = home.discover(ScanCache::None);
    let names: Vec<&str> = listing.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["both", "lower"]);
}

const KEPT: ScanCache<'static> = ScanCache::Kept { stamp: "test" };

#[test]
fn what_is_remembered_is_what_would_be_read() {
    let home = Home::new();
    home.skill(".prowess/skills/a");
    home.skill("~/.claude/skills/a");
    home.write(".claude/skills/b/SKILL.md", "---\nname: [\n---\n");
    let fresh = home.discover(ScanCache::None);
    assert_eq!(home.discover(KEPT), fresh);
    assert_eq!(home.discover(KEPT), fresh, "from the cache");
    // Files in which nothing has changed are not opened: nobody could read this one.
    let file = home.path(".prowess/skills/a/SKILL.md");
    let cache = home.path("~/.cache/prowess").join(CACHE_FILE_NAME);
    let before = fs::read(&cache).expect("the cache was written");
    assert!(String::from_utf8_lossy(&before).contains("The copy in .prowess/skills/a"));
    assert_eq!(fs::read(&cache).expect("it is there"), before, "nothing new, nothing written");
    // Every kind of change is seen: the text, the size, the file behind the name, the mode.
    let text = fs::read_to_string(&file).expect("it can be read");
    fs::write(&file, text.replace("1.0.0", "2.0.0")).expect("it can be written");
    let version = |listing: &Listing| listing.skills[0].summary.version.clone();
    assert_eq!(version(&home.discover(KEPT)).as_deref(), Some("2.0.0"));
    let beside = home.write(".prowess/skills/a/new", &text.replace("1.0.0", "3.0.0"));
    fs::rename(beside, &file).expect("it can be renamed");
    assert_eq!(version(&home.discover(KEPT)).as_deref(), Some("3.0.0"));
    fs::remove_file(&file).expect("it can be removed");
    assert!(home.discover(KEPT).skills.iter().all(|skill| skill.file != file));
}

#[test]
fn a_file_that_changed_just_now_is_not_remembered() {
    let home = Home::new();
    home.skill(".prowess/skills/a");
    let options =
        |now| prowess_store::discovery::DiscoverOptions { places: &home.places, now, memory: KEPT };
    prowess_store::discovery::discover(&options(std::time::SystemTime::now()));
    let cache = home.path("~/.cache/prowess").join(CACHE_FILE_NAME);
    let text = fs::read_to_string(&cache).expect("the cache was written");
    assert!(text.ends_with("\n[]"), "{text}");
}

#[test]
fn a_damaged_cache_is_made_again() {
    let home = Home::new();
    home.skill(".prowess/skills/a");
    let fresh = home.discover(ScanCache::None);
    home.discover(KEPT);
    let cache = home.path("~/.cache/prowess").join(CACHE_FILE_NAME);
    let good = fs::read(&cache).expect("the cache was written");
    let other_program = home.discover(ScanCache::Kept { stamp: "another" });
    assert_eq!(other_program, fresh);
    let check = |what: &str, bytes: &[u8]| {
        fs::write(&cache, bytes).expect("it can be written");
        assert_eq!(home.discover(KEPT), fresh, "{what}");
        assert_eq!(fs::read(&cache).expect("it is there"), good, "{what}: made again");
    };
    check("empty", b"");
    check("no text", &[0xff; 100]);
    for cut in [1, good.len() / 2, good.len() - 1] {
        check("cut", &good[..cut]);
    }
    let lie = String::from_utf8_lossy(&good).replace("1.0.0", "9.9.9");
    check("changed by hand", lie.as_bytes());
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    for at in [0, 20, good.len() / 2, good.len() - 2] {
        check("one bit", &flipped(at));
    }
    fs::remove_file(&cache).expect("it can be removed");
    fs::create_dir(&cache).expect("a folder in its place");
    assert_eq!(home.discover(KEPT), fresh);
}

#[test]
fn a_cache_that_cannot_be_written_changes_nothing() {
    let home = Home::new();
    home.skill(".prowess/skills/a");
    let cache = home.write("~/.cache/prowess", "a file where a folder should be");
    assert_eq!(home.discover(KEPT), home.discover(ScanCache::None));
    assert!(cache.is_file());
}

#[test]
fn an_unreadable_folder_is_a_note_and_no_end() {
    let home = Home::new();
    home.skill(".claude/skills/fine");
    let closed = home.skill(".claude/skills/group/closed");
    let folder = closed.parent().expect("it has a folder");
    fs::set_permissions(folder, fs::Permissions::from_mode(0o000)).expect("a mode can be set");
    let listing = home.discover(ScanCache::None);
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("a mode can be set");
    assert!(listing.find("fine").is_some());
    // The superuser can look into every folder.
    if rustix::process::geteuid().is_root() {
        assert!(listing.find("closed").is_some());
    } else {
        assert_eq!(listing.notes.len(), 1, "{:?}", listing.notes);
    }
}
