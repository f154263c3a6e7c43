use super::{Change, Files, compare};

fn files(list: &[(&str, &str)]) -> Files {
    list.iter().map(|(path, content)| (path.into(), content.as_bytes().to_vec())).collect()
}

#[test]
fn names_new_changed_and_stale_pages_only() {
    let kept = files(&[("cli.md", "old"), ("gone.md", "x"), ("same.md", "y")]);
    let generated = files(&[("cli.md", "new"), ("rules/a.md", "z"), ("same.md", "y")]);
    assert_eq!(
        compare(&kept, &generated),
        [
            Change::Update("cli.md".into()),
            Change::Add("rules/a.md".into()),
            Change::Remove("gone.md".into()),
        ]
    );
    assert_eq!(compare(&generated, &generated), []);
}
