use super::*;

#[test]
fn descriptions_of_search_results_are_unchanged() {
    // Interfaces shorten them for display; programs get the whole text.
    let text = format!("Esc \u{1b}[31m and {}", "long ".repeat(100));
    let results = [serde_json::json!({"name": "greet", "description": &text})];
    let body = serde_json::json!({ "results": results }).to_string();
    let hits = SearchHit::read_all(body.as_bytes()).expect("hits");
    assert_eq!(hits[0].description, text);
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let shown = match RegistryIndex::read(text.as_bytes(), "acme/greet") {
        Ok(index) => index
            .lines
            .iter()
            .map(|line| {
                let marks = [(line.yanked, " yanked"), (line.revoked.is_some(), " revoked")];
                let marks = marks.iter().filter(|(is, _)| *is).map(|(_, word)| *word);
                format!("{}{}", line.version, marks.collect::<String>())
            })
            .collect::<Vec<_>>()
            .join(", "),
        Err(why) => why,
    };
    assert_eq!(shown, expected, "{text}");
}

#[test]
fn an_index_is_parsed_line_by_line() {
    let hash = "0".repeat(64);
    let line = |version: &str, more: &str| {
        format!("{{\"version\":\"{version}\",\"sha256\":\"{hash}\"{more}}}\n")
    };
    check("", "");
    check(
        &(line("1.0.0", "") + "\n" + &line("1.1.0", ",\"yanked\":true,\"later\":1")),
        "1.0.0, 1.1.0 yanked",
    );
    check(&line("1.0.0", ",\"revoked\":\"malware\""), "1.0.0 revoked");
    check(&(line("1.0.0", "") + &line("1.0.0+b", "")), "line 2: 1.0.0+b is listed twice");
    check(&line("1.0", ""), "line 1: `1.0` is not a version");
    check("{\"version\":\"1.0.0\"}", "line 1: 1.0.0 has no `sha256` of 64 hexadecimal digits");
    check("[", "line 1: it is not JSON");
    check(&line("1.0.0", ",\"dependencies\":[]"), "line 1: `dependencies` is not an object");
}

proptest::proptest! {
    #[test]
    fn arbitrary_responses_do_not_panic(bytes: Vec<u8>, text in "[\\[\\]{}\":,a-z0-9.
    ]{0,200}") {
        for body in [bytes.as_slice(), text.as_bytes()] {
            let _ = (
                RegistryIndex::read(body, "a/b"), SkillInfo::read(body), read_candidates(body),
                read_problem(body), SearchHit::read_all(body),
            );
        }
    }
}

#[test]
fn search_results_with_invalid_names_are_skipped() {
    // NEG-5.
    let body = r#"{"results":[{"name":"../x"},{"namespace":"a/b","name":"x"},{"namespace":"a","name":"ok"}]}"#;
    let found = SearchHit::read_all(body.as_bytes()).expect("a list");
    assert_eq!(found.iter().map(|hit| hit.name.as_str()).collect::<Vec<_>>(), ["ok"]);
}

proptest::proptest! {
    #[test]
    fn an_index_round_trips(
        head: Option<(u64, Option<u64>)>,
        numbers in proptest::collection::btree_set((0u64..9, 0u64..9, 0u64..9), 0..6),
        yanked: bool, published: Option<u64>,
        revoked in proptest::option::of("[a-z ]{1,40}"), owner in proptest::option::of("[a-z0-9_]{1,20}"),
        dependencies in proptest::collection::btree_map("[a-z]{1,8}/[a-z]{1,8}", "[\\^~]?[0-9]\\.[0-9]", 0..3),
    ) {
        let lines = numbers.into_iter().map(|(major, minor, patch)| IndexLine {
            version: Version::new(major, minor, patch),
            dependencies: dependencies.clone().into_iter().collect(),
            yanked,
            revoked: revoked.clone(),
            tier: Some("community".to_owned()),
            sha256: Sha256Digest::of(&[u8::try_from(major).expect("a digit")]),
            published,
            owner: owner.clone(),
        });
        let head = head.map(|(sequence, expires)| IndexHeader { sequence, expires });
        let index = RegistryIndex { head, lines: lines.collect() };
        let text = index.write("acme/greet");
        proptest::prop_assert_eq!(RegistryIndex::read(text.as_bytes(), "acme/greet"), Ok(index));
    }
}

#[test]
fn skills_and_search_results_round_trip() {
    let info = SkillInfo {
        namespace: "acme".parse().expect("a name"),
        name: "greet".parse().expect("a name"),
        owner: Some("u_1".to_owned()),
        latest: Some("1.0.0".to_owned()),
        versions: vec!["1.0.0".to_owned()],
    };
    assert_eq!(SkillInfo::read(info.to_json().to_string().as_bytes()), Some(info));
    let hits = vec![SearchHit {
        namespace: None,
        name: "greet".parse().expect("a name"),
        version: None,
        description: "Greets.".to_owned(),
        tier: Some("community".to_owned()),
    }];
    let body = SearchHit::write_all(&hits).to_string();
    assert_eq!(SearchHit::read_all(body.as_bytes()), Some(hits));
    let candidates = vec!["acme/greet".to_owned(), "other/greet".to_owned()];
    assert_eq!(read_candidates(write_candidates(&candidates).to_string().as_bytes()), candidates);
    let problem = write_problem(404, "no such skill").to_string();
    assert_eq!(read_problem(problem.as_bytes()).as_deref(), Some("no such skill"));
}
