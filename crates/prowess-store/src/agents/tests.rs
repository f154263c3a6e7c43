use std::collections::BTreeSet;

use super::*;

#[test]
fn every_row_of_the_table_has_its_columns_and_says_what_may_be_said() {
    let table = include_str!("table.tsv");
    let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    for row in &rows {
        assert_eq!(row.split('\t').count(), 8, "{row}");
        assert!(row.split('\t').all(|cell| !cell.is_empty() && cell.trim() == cell), "{row}");
    }
    let words: BTreeSet<&str> =
        rows[1..].iter().flat_map(|row| row.split('\t').skip(5).take(2)).collect();
    assert_eq!(words, BTreeSet::from(["-", "?", "no", "yes"]));
    assert_eq!(all().len(), 79);
    assert!(all().is_sorted_by(|a, b| a.id < b.id), "the table is searched by halving");
    for agent in all() {
        let folders = [Some(agent.project), agent.user, agent.marker];
        for folder in folders.into_iter().flatten() {
            let stays =
                !folder.ends_with('/') && !folder.contains("..") && !folder.starts_with('/');
            assert!(stays, "{}: {folder}", agent.id);
        }
        let is_home = |folder: &str| folder.starts_with("~/") || folder.contains(":-~/");
        assert!(!is_home(agent.project), "{}", agent.id);
        assert!(agent.user.is_none_or(is_home), "{}", agent.id);
        // What is claimed about links has a source.
        let claims = [agent.links.project, agent.links.user];
        let says = claims.iter().any(|seen| *seen != LinkSupport::Unknown);
        assert_eq!(says, agent.links.source.is_some(), "{}", agent.id);
        assert_eq!(by_id(agent.id), Some(agent));
    }
    assert_eq!(by_id("nobody"), None);
}

#[test]
fn rules_are_about_agents_of_the_table_and_name_both_their_folders() {
    for rules in RULES {
        let agent = by_id(rules.agent).unwrap_or_else(|| panic!("{} is in the table", rules.agent));
        assert_eq!(agent.rules().map(|found| found.agent), Some(rules.agent));
        for folder in [Some(agent.project), agent.user].into_iter().flatten() {
            let known = rules.folders.iter().any(|known| known.template == folder);
            assert!(
                known,
                "{}: `{folder}` is where we put skills, and must be where it looks",
                agent.id
            );
        }
        if let Some(client) = rules.client {
            assert!(prowess_format::client::by_id(client).is_some(), "{client}");
        }
    }
}

#[test]
fn an_agent_is_present_when_its_own_folder_is_there() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let places = Places {
        home: root.path().join("home"),
        project: Some(root.path().join("project")),
        current: root.path().join("project"),
        data: root.path().join("data"),
        cache: root.path().join("cache"),
        bundled: None,
        machine: root.path().join("machine"),
        variables: std::collections::BTreeMap::default(),
    };
    let ids = || present(&places).iter().map(|agent| agent.id).collect::<Vec<_>>();
    // `.agents/skills` is shared by many, and `skills` may be anything: neither tells who is used.
    for folder in ["home/.agents/skills", "project/.agents/skills", "project/skills"] {
        std::fs::create_dir_all(root.path().join(folder)).expect("it can be made");
    }
    assert_eq!(ids(), [""; 0]);
    for folder in ["home/.claude", "home/.codex", "project/.kiro/skills"] {
        std::fs::create_dir_all(root.path().join(folder)).expect("it can be made");
    }
    assert_eq!(ids(), ["claude-code", "codex", "kiro-cli"]);
}
