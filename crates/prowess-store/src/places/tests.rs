use super::*;

fn places(variables: &[(&str, &str)]) -> Places {
    Places {
        home: PathBuf::from("/home/ada"),
        project: Some(PathBuf::from("/home/ada/work")),
        current: PathBuf::from("/home/ada/work/apps/web"),
        data: PathBuf::from("/home/ada/.local/share/prowess"),
        cache: PathBuf::from("/home/ada/.cache/prowess"),
        bundled: None,
        machine: PathBuf::from("/"),
        variables: variables
            .iter()
            .map(|(name, path)| ((*name).to_owned(), PathBuf::from(path)))
            .collect(),
    }
}

#[test]
fn templates_lead_home_into_the_project_or_where_a_variable_says() {
    const CODEX: &str = "${CODEX_HOME:-~/.codex}/skills";
    let check = |variables: &[(&str, &str)], template: &str, anchor: &str, path: &str| {
        let found = places(variables).locate(template).expect("there is a project");
        assert_eq!(found.anchor, Path::new(anchor), "{template}");
        assert_eq!(found.path, Path::new(path), "{template}");
    };
    check(&[], "~/.claude/skills", "/home/ada", "/home/ada/.claude/skills");
    check(&[], ".claude/skills", "/home/ada/work", "/home/ada/work/.claude/skills");
    check(&[], "/etc/codex/skills", "/etc/codex/skills", "/etc/codex/skills");
    check(&[], CODEX, "/home/ada", "/home/ada/.codex/skills");
    check(&[("CODEX_HOME", "/data/codex")], CODEX, "/data/codex", "/data/codex/skills");
    check(&[("CODEX_HOME", "/home/ada/c")], CODEX, "/home/ada", "/home/ada/c/skills");
    // A relative path would depend on the current folder, and `..` obscures where a path leads.
    check(&[("CODEX_HOME", "codex")], CODEX, "/home/ada", "/home/ada/.codex/skills");
    check(&[("CODEX_HOME", "/home/ada/../bob")], CODEX, "/home/ada", "/home/ada/.codex/skills");
}

#[test]
fn without_a_project_there_are_no_folders_of_it() {
    let places = Places { project: None, ..places(&[]) };
    assert_eq!(places.locate(".claude/skills"), None);
    assert_eq!(places.locate_downwards(".claude/skills"), []);
    assert_eq!(places.store(Scope::Project), None);
}

#[test]
fn folders_of_a_project_are_found_down_to_the_current_one() {
    let found = places(&[]).locate_downwards(".claude/skills");
    let found: Vec<String> = found.iter().map(|it| it.path.display().to_string()).collect();
    assert_eq!(
        found,
        [
            "/home/ada/work/.claude/skills",
            "/home/ada/work/apps/.claude/skills",
            "/home/ada/work/apps/web/.claude/skills"
        ]
    );
    // For another project, only its root is searched.
    let elsewhere = Places { current: PathBuf::from("/tmp"), ..places(&[]) };
    assert_eq!(elsewhere.locate_downwards("skills").len(), 1);
}

#[test]
fn paths_are_shown_as_people_write_them() {
    let check = |path: &str, shown: &str| assert_eq!(places(&[]).shown(Path::new(path)), shown);
    check("/home/ada/work/.claude/skills/a", ".claude/skills/a");
    check("/home/ada/.claude/skills/a", "~/.claude/skills/a");
    check("/etc/codex/skills", "/etc/codex/skills");
}
