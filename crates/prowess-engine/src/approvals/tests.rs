use std::os::unix::fs::PermissionsExt as _;

use prowess_policy::{Approval, Digest, FileHashes, ProgramPin, Project};

use super::{ApprovalStore as _, FileApprovals, wire};

fn store(folder: &std::path::Path) -> FileApprovals {
    FileApprovals { path: folder.join("data/prowess/approvals.json") }
}

fn approval(skill: &str, tool: Option<&str>) -> Approval {
    Approval {
        skill: skill.to_owned(),
        skill_folder: Some(format!("/skills/{skill}")),
        project: match tool {
            Some(_) => Project::Folder("/work/a".to_owned()),
            None => Project::Any,
        },
        files: FileHashes::from([("SKILL.md".to_owned(), "f 00".to_owned())]),
        digest: Digest::new("sha256:00"),
        tool: tool.map(str::to_owned),
        grants: vec!["shell:execute:git".to_owned()],
        pins: vec![ProgramPin { path: "/usr/bin/git".to_owned(), sha256: "ab".to_owned() }],
        given_at: 1_700_000_000,
    }
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store(folder.path());
    assert!(store.load().expect("no file is no approvals").records().is_empty());
    store.add(approval("git", Some("git_log"))).expect("it can be written");
    store.add(approval("say", None)).expect("it can be written");
    let loaded = store.load().expect("it can be read");
    assert_eq!(loaded.records(), [approval("git", Some("git_log")), approval("say", None)]);
    let revoked = |skill, tool| store.revoke(skill, tool).expect("it can be changed").len();
    assert_eq!(revoked("git", Some("other")), 0);
    assert_eq!(revoked("git", Some("git_log")), 1);
    assert_eq!(store.revoke_all().expect("it can be changed").len(), 1);
    assert!(store.load().expect("it can be read").records().is_empty());
}

#[test]
fn only_the_owner_can_read_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store(folder.path());
    store.add(approval("git", None)).expect("it can be written");
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    };
    assert_eq!(mode(store.path()), 0o600);
    assert_eq!(mode(store.path().parent().expect("it has a folder")), 0o700);
}

#[test]
fn writers_do_not_lose_each_others_approvals() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let store = store(folder.path());
            scope.spawn(move || {
                for tool in 0..8 {
                    let name = format!("t{tool}");
                    let approval = approval(&format!("s{number}"), Some(&name));
                    store.add(approval).expect("it can be written");
                }
            });
        }
    });
    assert_eq!(store(folder.path()).load().expect("it can be read").records().len(), 64);
}

#[test]
fn a_broken_file_is_an_error_and_a_broken_record_approves_nothing() {
    let problem = |text: &str| wire::read(text).map(|all| all.records().len());
    assert!(problem("").is_err());
    assert!(problem("[]").is_err());
    assert!(problem("{\"approvals\": []}").is_err());
    assert!(problem("{\"version\": 2, \"approvals\": []}").expect_err("newer").contains("newer"));
    let record =
        "{\"skill\": \"s\", \"digest\": \"d\", \"grants\": [], \"programs\": [], \"given_at\": 1";
    let file = |record: &str| format!("{{\"version\": 1, \"approvals\": [{record}], \"new\": 1}}");
    assert_eq!(problem(&file(&format!("{record}, \"tool\": null}}"))), Ok(1));
    assert_eq!(problem(&file(&format!("{record}, \"tool\": \"t\", \"more\": 1}}"))), Ok(1));
    // Without a tool it would cover all of them.
    assert_eq!(problem(&file(&format!("{record}}}"))), Ok(0));
    assert_eq!(problem(&file(&format!("{record}, \"tool\": 5}}"))), Ok(0));
}

#[test]
fn a_record_of_an_earlier_version_counts_nowhere() {
    let project = |field: &str| {
        let text = format!(
            "{{\"version\": 1, \"approvals\": [{{\"skill\": \"s\", \"digest\": \"d\", \"grants\": [], \"programs\": [], \"given_at\": 1, \"tool\": \"t\"{field}}}]}}"
        );
        wire::read(&text).expect("it can be read").records()[0].project.clone()
    };
    assert_eq!(project(""), Project::Unknown);
    assert_eq!(project(", \"project\": false"), Project::Unknown);
    assert_eq!(project(", \"project\": {}"), Project::Unknown);
    assert_eq!(project(", \"project\": null"), Project::Any);
    assert_eq!(project(", \"project\": \"/a\""), Project::Folder("/a".to_owned()));
}

#[test]
fn what_others_could_have_written_does_not_count() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = store(folder.path());
    store.add(approval("git", None)).expect("it can be written");
    let set = |mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(store.path(), mode).expect("it is ours");
        store.load()
    };
    for mode in [0o666, 0o620, 0o602] {
        let error = set(mode).expect_err("it is refused").to_string();
        assert!(
            error.contains("are ignored: it is writable by others, or belongs to another user"),
            "{error}"
        );
    }
    assert_eq!(set(0o644).expect("it counts").records(), [approval("git", None)]);
    set(0o666).expect_err("it is refused");
    store.revoke_all().expect_err("what is written back would count again");
}
