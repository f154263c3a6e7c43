use super::node::{is_new_enough, read_version};
use super::{Permission, Task, tasks};

fn parse(words: &[&str]) -> (Vec<Task>, Permission) {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    tasks(&words).unwrap()
}

#[test]
fn builds_unless_told_otherwise() {
    assert_eq!(parse(&[]), (vec![Task::Build], Permission::Granted));
    assert_eq!(parse(&["--no-install"]), (vec![Task::Build], Permission::Withheld));
}

#[test]
fn a_name_after_e2e_selects_journeys() {
    let all = Task::Journeys { named: None };
    let chat = Task::Journeys { named: Some("chat".to_owned()) };
    assert_eq!(parse(&["--e2e", "--check"]).0, [all, Task::Check]);
    assert_eq!(parse(&["--check", "--e2e", "chat"]).0, [Task::Check, chat]);
    assert!(tasks(&["chat".to_owned()]).is_err());
}

#[test]
fn compares_versions_of_node_by_number() {
    assert_eq!(read_version("v20.19.4\n"), Some((20, 19)));
    assert_eq!(read_version("20.19.4"), None);
    assert!(is_new_enough((24, 0)) && is_new_enough((20, 19)));
    assert!(!is_new_enough((20, 9)) && !is_new_enough((18, 20)));
}
