//! Skills over HTTP: create, read, list, update, delete (specification §9).

use serde_json::{Value, json};

use crate::support::{ARTICLE_SUMMARY, TestStudio};

const SMALL: &str = "---\ndescription: Small\n---\n\nHello\n";

#[test]
fn a_skill_is_created_with_its_file() {
    // AFL-9.1-1, AFL-9.2-1, AFL-3.2-3, AFL-1-1
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    let created = ada.create_skill("article-summary", ARTICLE_SUMMARY);
    assert_eq!(created["user_id"], ada.user_id.as_str());
    assert_eq!(created["model"], json!({ "temperature": 0.3, "max_tokens": 1000 }));
    assert_eq!(
        created["prompt"],
        "Please summarize the following article in a {{style}} tone:\n\n{{article}}\n"
    );
    assert_eq!(
        created["inputs"][1],
        json!({
            "name": "style", "label": "Summary Style", "type": "text", "required": false,
            "default": "concise and professional", "description": null,
        })
    );
    let written = std::fs::read_to_string(studio.path("skills/article-summary/SKILL.md"));
    assert_eq!(written.expect("the file"), created["content"].as_str().expect("text"));
    let read = ada.get("/skills/article-summary");
    assert_eq!((read.status, read.json()), (200, created));
    assert_eq!(read.header("etag"), "\"1\"");
    assert_eq!(
        ada.get("/skills/missing").problem(),
        (404, "name".to_owned(), "Skill 'missing' not found".to_owned())
    );
}

#[test]
fn invalid_skills_are_refused_and_leave_nothing() {
    // AFL-9.1-2, AFL-9.1-3, AFL-9-1, AFL-4-1, AFL-10-1
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    let create = |name: &str, content: &str| {
        ada.post("/skills", &json!({ "name": name, "content": content })).problem()
    };
    let text = |text: &str| text.to_owned();
    assert_eq!(
        create("Article-Summary", SMALL),
        (400, text("name"), text("Skill name must be lowercase"))
    );
    for name in ["../x", "a\n", "a/b", "", "-a", "a--b", "..", "a\0b", ".git", "con.md"] {
        let (status, field, _) = create(name, SMALL);
        assert_eq!((status, field.as_str()), (400, "name"), "{name:?}");
    }
    assert_eq!(create("one", "Hello").0, 400);
    assert_eq!(create("one", "---\nname: two\n---\nHello").1, "name");
    let (_, field, message) = create("one", "---\ndescription: x\n---\n{{b}} {{a}}");
    assert_eq!(
        (field.as_str(), message.as_str()),
        ("content", "Undeclared placeholders: `a`, `b`")
    );
    assert_eq!(
        std::fs::read_dir(studio.path("skills")).map_or(0, |all| {
            all.flatten()
                .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
                .count()
        }),
        0
    );
    ada.create_skill("one", SMALL);
    let (status, field, _) = create("one", "not even a skill");
    assert_eq!((status, field.as_str()), (409, "name"));
    // The body itself.
    let (status, field, _) = ada.post("/skills", &json!({ "name": "x" })).problem();
    assert_eq!((status, field.as_str()), (400, "body"));
    let (status, field, _) = ada.post("/skills", &json!({ "name": 1, "content": "" })).problem();
    assert_eq!((status, field.as_str()), (400, "name"));
    let form = ada.stream("POST", "/skills", &[], Some(("text/plain", b"{}"))).read();
    assert_eq!(form.problem().0, 415);
    let large = ada.post("/skills", &json!({ "name": "x", "content": "x".repeat(2 << 20) }));
    assert_eq!(large.problem().0, 413);
}

#[test]
fn the_limit_of_a_text_is_51200_bytes() {
    // AFL-2-4
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    let head = format!("---\ndescription: x\nuser_id: {}\n---\n", ada.user_id);
    let of = |bytes: usize| format!("{head}{}", "x".repeat(bytes - head.len()));
    ada.create_skill("large", &of(51_200));
    let too_large = json!({ "content": of(51_201) });
    assert_eq!(ada.put("/skills/large", &too_large).problem().1, "content");
    let created = ada.post("/skills", &json!({ "name": "larger", "content": of(51_201) }));
    assert_eq!((created.problem().0, created.problem().1.as_str()), (400, "content"));
    assert_eq!(ada.put("/skills/large", &json!({ "content": of(51_200) })).status, 200);
    // The line that the server adds does not count, also when the text comes back with it.
    let head = "---\ndescription: x\n---\n";
    let of = |bytes: usize| format!("{head}{}", "x".repeat(bytes - head.len()));
    let whole =
        ada.create_skill("whole", &of(51_200))["content"].as_str().expect("text").to_owned();
    assert!(whole.len() > 51_200 && whole.contains(&ada.user_id));
    let listed = ada.get("/skills").json();
    assert_eq!(listed["skills"][0]["name"], "whole", "{listed}");
    let edited = whole.replacen("x\n---\n", "y\n---\n", 1);
    assert_eq!(ada.put("/skills/whole", &json!({ "content": edited })).status, 200);
    assert_eq!(ada.put("/skills/whole", &json!({ "content": of(51_201) })).problem().0, 400);
    let larger = ada.post("/skills", &json!({ "name": "wholer", "content": of(51_201) }));
    assert_eq!(larger.problem().0, 400);
}

#[test]
fn lists_are_sorted_and_skip_invalid_files() {
    // AFL-9.3-1
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    for name in ["one", "two", "three"] {
        let content =
            format!("---\ndescription: Number {name}\nmetadata:\n  tags: [numbers]\n---\nHello\n");
        ada.create_skill(name, &content);
    }
    ada.put("/skills/one", &json!({ "content": SMALL }));
    std::fs::create_dir_all(studio.path("skills/broken")).expect("a folder");
    std::fs::write(studio.path("skills/broken/SKILL.md"), "---\nname: [\n---\n").expect("a file");
    let list = ada.get("/skills").json();
    let names: Vec<&str> = list["skills"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|skill| skill["name"].as_str())
        .collect();
    assert_eq!((names, &list["total"]), (vec!["one", "three", "two"], &json!(3)));
    assert!(list["skills"][0].get("prompt").is_none());
    let names = |query: &str| -> Vec<String> {
        let list = ada.get(&format!("/skills?{query}")).json();
        let skills = list["skills"].as_array().expect("a list").clone();
        skills.iter().filter_map(|skill| skill["name"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(names("search=number%20TWO"), ["two"]);
    assert_eq!(names("tag=nothing"), Vec::<String>::new());
}

#[test]
fn an_update_keeps_name_and_owner() {
    // AFL-9.4-1
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    ada.create_skill("one", SMALL);
    let updated =
        ada.put("/skills/one", &json!({ "content": "---\ndescription: New\n---\nBye\n" }));
    assert_eq!(updated.status, 200);
    let updated = updated.json();
    assert_eq!(updated["user_id"], ada.user_id.as_str());
    assert_eq!((&updated["description"], &updated["version"]), (&json!("New"), &json!(2)));
    assert_eq!(ada.get("/skills").json()["total"], 1, "it is still its owner's");
    let renamed = ada.put("/skills/one", &json!({ "content": "---\nname: two\n---\nBye\n" }));
    assert_eq!((renamed.problem().0, renamed.problem().1.as_str()), (400, "name"));
    let given = ada.put("/skills/one", &json!({ "content": "---\nuser_id: eve\n---\nBye\n" }));
    assert_eq!((given.problem().0, given.problem().1.as_str()), (400, "user_id"));
    assert_eq!(ada.put("/skills/none", &json!({ "content": SMALL })).problem().0, 404);
}

#[test]
fn a_lost_update_is_noticed() {
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    ada.create_skill("one", SMALL);
    let put = |version: &str, text: &str| {
        let content = json!({ "content": format!("---\ndescription: x\n---\n{text}\n") });
        ada.send("PUT", "/skills/one", &[("if-match", version)], Some(&content))
    };
    assert_eq!(put("\"1\"", "two").status, 200);
    let lost = put("\"1\"", "three");
    assert_eq!(lost.status, 409);
    assert_eq!(lost.json()["current"]["prompt"], "two\n");
    assert_eq!(put("one", "three").problem().0, 400);
    let versions = ada.get("/skills/one/versions").json();
    assert_eq!(versions["versions"][0]["version"], 2);
    let first = ada.get("/skills/one/versions/1").json();
    assert!(first["content"].as_str().expect("text").ends_with("Hello\n"));
    let diff = ada.get("/skills/one/diff?from=1").json();
    let changed: Vec<(&str, &str)> = diff["hunks"][0]["lines"]
        .as_array()
        .expect("lines")
        .iter()
        .filter(|line| line["kind"] != "same")
        .map(|line| (line["kind"].as_str().expect("a kind"), line["text"].as_str().expect("text")))
        .collect();
    assert!(
        changed.contains(&("del", "Hello")) && changed.contains(&("add", "two")),
        "{changed:?}"
    );
    assert_eq!(ada.get("/skills/one/versions/9").problem().0, 404);
}

#[test]
fn a_deleted_skill_leaves_nothing() {
    // AFL-9.5-1
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    ada.create_skill("one", SMALL);
    ada.put("/skills/one", &json!({ "content": "---\ndescription: x\n---\nBye\n" }));
    assert!(studio.path("skills/one/SKILL.md.lock").exists());
    let deleted = ada.delete("/skills/one");
    assert_eq!((deleted.status, deleted.body.len()), (204, 0));
    assert!(!studio.path("skills/one").exists());
    assert_eq!(ada.delete("/skills/one").problem().0, 404);
    // The next one of this name has no history.
    assert_eq!(ada.create_skill("one", SMALL)["version"], 1);
}

#[test]
fn two_updates_at_once_leave_one_of_them() {
    // AFL-10-2
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    ada.create_skill("one", SMALL);
    std::thread::scope(|scope| {
        for letter in ["a", "b", "c", "d"] {
            let ada = ada.clone();
            scope.spawn(move || {
                for _ in 0..5 {
                    let content = format!("---\ndescription: x\n---\n{}\n", letter.repeat(10_000));
                    let updated = ada.put("/skills/one", &json!({ "content": content }));
                    assert_eq!(updated.status, 200, "{updated:?}");
                }
            });
        }
    });
    let prompt = ada.get("/skills/one").json()["prompt"].as_str().expect("text").trim().to_owned();
    assert_eq!(prompt, prompt[..1].repeat(10_000));
}

#[test]
fn names_are_made_of_any_text() {
    // AFL-4-3
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    for (text, name) in
        [("Article%20Summary!", "article-summary"), ("__", "skill"), ("A--B", "a-b"), ("a.b", "ab")]
    {
        let made = ada.get(&format!("/skills/normalize?name={text}")).json();
        assert_eq!(made, json!({ "name": name }), "{text}");
    }
    assert_eq!(ada.get("/skills/normalize").problem().0, 404);
}

#[test]
fn a_text_is_checked_and_rendered_while_it_is_written() {
    let studio = TestStudio::start();
    let ada = studio.user("ada");
    let checked =
        ada.post("/check", &json!({ "content": "---\ndescription: x\n---\n{{who}}" })).json();
    let rules: Vec<&Value> =
        checked["diagnostics"].as_array().expect("a list").iter().map(|it| &it["rule"]).collect();
    assert!(rules.contains(&&json!("undeclared-placeholder")), "{rules:?}");
    assert_eq!(checked["limit"], 51_200);
    let render = |inputs: Value| {
        ada.post("/render", &json!({ "content": ARTICLE_SUMMARY, "inputs": inputs })).json()
    };
    assert_eq!(render(json!({}))["missing"], json!(["article"]));
    assert_eq!(
        render(json!({ "article": "<b>{{style}}</b>" }))["prompt"],
        "Please summarize the following article in a concise and professional tone:\n\n<b>{{style}}</b>"
    );
}
