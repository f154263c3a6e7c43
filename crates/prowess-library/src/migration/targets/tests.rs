use super::*;

/// Folders for skills written as `owner/folder=name` or `folder=name`.
fn folders(sources: &[&str]) -> Vec<String> {
    let claims: Vec<Claim> = sources
        .iter()
        .map(|source| {
            let (path, name) = source.split_once('=').expect("a name");
            let (owner, folder) = path
                .split_once('/')
                .map_or((None, path), |(owner, folder)| (Some(owner.to_owned()), folder));
            Claim { name: name.to_owned(), owner, folder: folder.to_owned() }
        })
        .collect();
    let targets = assign(&claims);
    let places: Vec<String> =
        targets.iter().map(|target| target.folder.display().to_string()).collect();
    for (one, target) in targets.iter().enumerate() {
        assert!(target.folder.ends_with(&target.name), "{target:?}");
        for (other, second) in targets.iter().enumerate() {
            assert!(one == other || !target.folder.starts_with(&second.folder), "{places:?}");
        }
    }
    places
}

#[test]
fn a_name_of_its_own_is_the_folder() {
    assert_eq!(folders(&["ann/weather=weather", "bob/news=news"]), ["weather", "news"]);
}

#[test]
fn a_name_of_two_owners_is_below_both() {
    let sources = ["ann/weather=weather", "bob/weather=weather", "bob/news=news"];
    assert_eq!(folders(&sources), ["ann/weather", "bob/weather", "news"]);
}

#[test]
fn one_owner_with_one_name_twice_has_the_folders_names() {
    let sources = ["ann/one=template", "ann/two=template", "bob/template=template"];
    assert_eq!(folders(&sources), ["ann/one", "ann/two", "bob/template"]);
    assert_eq!(folders(&["one=template", "two=template"]), ["one", "two"]);
}

#[test]
fn a_skill_that_is_called_like_an_owner_does_not_enclose_it() {
    let sources = ["ann/weather=weather", "bob/weather=weather", "eve/ann=ann"];
    assert_eq!(folders(&sources), ["ann/weather", "bob/weather", "eve/ann"]);
    assert_eq!(
        folders(&["ann/weather=weather", "bob/weather=weather", "ann=ann"]),
        ["ann/weather", "bob/weather", "ann/ann"]
    );
}

#[test]
fn what_is_still_the_same_gets_a_number() {
    let sources = ["ann/x=same", "ann/X=same", "ann/x_=same"];
    assert_eq!(folders(&sources), ["ann/x", "ann/x-2", "ann/x-3"]);
}

#[test]
fn no_folder_is_in_another_whatever_the_names_are() {
    let words = ["a", "b", "c", "a-2"];
    let mut sources = Vec::new();
    for owner in words {
        for folder in words {
            for name in words {
                sources.push(format!("{owner}/{folder}={name}"));
                sources.push(format!("{folder}={name}"));
            }
        }
    }
    for step in 1..12 {
        let some: Vec<&str> = sources.iter().step_by(step).map(String::as_str).collect();
        assert_eq!(folders(&some).len(), some.len());
    }
}
