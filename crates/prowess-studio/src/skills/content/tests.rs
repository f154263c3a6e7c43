use super::*;

fn name() -> SkillName {
    "article-summary".parse().expect("a valid name")
}

fn saved(content: &str) -> Result<CheckedContent, ApiProblem> {
    check_content(content, &name(), Some("7"), None)
}

fn refused(content: &str) -> (String, String) {
    let Err(problem) = saved(content) else { panic!("it is refused: {content}") };
    assert_eq!(problem.status, http::StatusCode::BAD_REQUEST);
    (problem.field, problem.message)
}

#[test]
fn the_owner_is_added_and_kept() {
    // AFL-3.2-3
    let text = |content: &str| saved(content).expect("it is valid").text;
    assert_eq!(
        text("---\nname: article-summary # mine\n---\n\nHello\n---\n"),
        "---\nname: article-summary # mine\nuser_id: \"7\"\n---\n\nHello\n---\n"
    );
    assert_eq!(
        text("---\r\ndescription: >\r\n  Two\r\n  lines\r\n---\r\nHi"),
        "---\r\ndescription: >\r\n  Two\r\n  lines\r\nuser_id: \"7\"\r\n---\r\nHi"
    );
    assert_eq!(
        text("---\nuser_id:\ndescription: x\n---\nHi\n"),
        "---\nuser_id: \"7\"\ndescription: x\n---\nHi\n"
    );
    let kept = "---\ndescription: x\nuser_id: somebody\n---\nHi\n";
    assert_eq!(text(kept), kept);
}

#[test]
fn what_is_refused_names_its_field() {
    // AFL-9-1, AFL-9.1-3, AFL-3.1-2, NEG-10, NEG-11
    for (content, field) in [
        ("Hello", "content"),
        ("", "content"),
        ("---\n---\nHello", "content"),
        ("---\nname: other\n---\nHello", "name"),
        ("---\nname: [\n---\nHello", "name"),
        ("---\n{description: x}\n---\nHello", "user_id"),
        ("---\n- a\n---\nHello", "content"),
        ("---\ndescription: x\nmodel:\n  temperature: 3\n---\nHello", "model"),
        ("---\ndescription: x\n---\nHello {{nobody}}", "content"),
        ("---\ndescription: x\nuser_id: [a]\n---\nHello", "user_id"),
    ] {
        assert_eq!(refused(content).0, field, "{content}");
    }
    let long = format!("---\ndescription: {}\n---\nHello", "x".repeat(1025));
    assert_eq!(refused(&long).0, "description");
    // AFL-5.3-1: sorted names.
    let (_, message) = refused("---\ndescription: x\n---\n{{b}} {{a}} {{my-var}}");
    assert_eq!(message, "Undeclared placeholders: `a`, `b`");
}

#[test]
fn the_limit_is_in_bytes() {
    // AFL-2-4
    let head = "---\ndescription: x\nuser_id: \"7\"\n---\n";
    let of = |bytes: usize| {
        format!("{head}{}", "ä".repeat((bytes - head.len()) / 2))
            + if (bytes - head.len()) % 2 == 1 { "a" } else { "" }
    };
    assert_eq!(of(MAX_CONTENT_BYTES).len(), MAX_CONTENT_BYTES);
    saved(&of(MAX_CONTENT_BYTES)).expect("51,200 bytes are accepted");
    assert_eq!(refused(&of(MAX_CONTENT_BYTES + 1)).0, "content");
}

#[test]
fn the_smallest_prompt_skill_is_one() {
    let content = saved("---\nname: article-summary\n---\nHello").expect("it is valid");
    assert_eq!(content.skill.kind, SkillKind::Prompt);
    assert_eq!(content.skill.temperature_or_default().to_string(), "0.7");
}

#[test]
fn offsets_for_editors_are_utf16() {
    let text = "---\ndescription: \"🙂\"\n---\n🙂 {{nobody}}";
    let found = read(text, None);
    let json = diagnostics_json(text, &found.diagnostics);
    let error = json.iter().find(|it| it["rule"] == "undeclared-placeholder").expect("found");
    let units: Vec<u16> = text.encode_utf16().collect();
    let at = |key: &str| usize::try_from(error[key].as_u64().expect("a number")).expect("small");
    assert_eq!(
        String::from_utf16_lossy(&units[at("from")..at("to")]),
        text[at("start")..at("end")]
    );
    assert_eq!((at("line"), at("column")), (4, 3));
}
