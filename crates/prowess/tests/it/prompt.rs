//! `prowess prompt`.

use insta::assert_snapshot;

use crate::scene;

#[test]
fn tools_are_listed_for_every_reader() {
    let scene = scene()
        .copy("examples/git-insights", "git-insights")
        .copy("examples/word-count", "word-count")
        .copy("examples/release-notes", "release-notes");
    // GIB-7.1-1
    assert_snapshot!(scene.run_with(
        &["prompt", "git-insights", "word-count", "--native", "typer=Type text at cursor"],
        ""
    ));
    for format in ["openai", "anthropic", "json"] {
        assert_snapshot!(scene.run(&format!("prompt word-count --format {format}")));
    }
    assert_snapshot!(scene.run("prompt release-notes"));
    assert_snapshot!(scene.run("prompt word-count --native typer"));
    assert_snapshot!(scene.run("prompt nowhere"));
}

#[test]
fn of_many_paths_each_skill_is_listed_once_and_the_rest_is_left_out() {
    let scene = scene().copy("examples", "examples").file("notes/todo.txt", "Nothing\n");
    // What a shell makes of `examples/*`, and a skill once more by its file.
    let mut paths: Vec<String> = std::fs::read_dir(scene.path().join("examples"))
        .expect("it is there")
        .map(|entry| format!("examples/{}", entry.expect("it is read").file_name().display()))
        .collect();
    paths.sort();
    paths.extend(["examples/word-count/SKILL.md".to_owned(), "./examples/word-count".to_owned()]);
    paths.push("notes".to_owned());
    assert_snapshot!(scene.run(&format!("prompt {}", paths.join(" "))));
    // Alone it was meant.
    assert!(scene.run("prompt notes").starts_with("exit 3"));
}

#[test]
fn a_model_gets_the_start_of_a_description_that_is_too_long() {
    // GIB-9.2-1: the warnings are those of `check`.
    let long = "ü".repeat(300);
    let skill = |description: &str, text: &str| {
        format!(
            "---\nname: state\nversion: 1.0.0\ndescription: {description}\ncolour: red\n---\n\n### show_state\n\n{text}\n\n#### Command\n\n```bash\ngit status\n```\n"
        )
    };
    let scene = scene()
        .file("own/state/SKILL.md", skill("Show the state", &long))
        .file("inherited/state/SKILL.md", skill(&long, ""));
    for folder in ["own", "inherited"] {
        let prompt = scene.stdout(&format!("prompt {folder}/state"));
        let line = prompt.lines().last().unwrap_or_default();
        assert_eq!(line, format!("- show_state: {}", "ü".repeat(256)), "{folder}");
    }
    let warnings = scene.run("check inherited/state --format concise");
    for rule in ["unknown-field", "missing-parameters-section", "description-over-limit"] {
        assert!(warnings.contains(&format!("warning[{rule}]")), "{warnings}");
    }
    assert!(warnings.starts_with("exit 0"), "{warnings}");
}

const DEPLOY: &str = "---\nname: deploy\ndescription: Deploys <the app> & \"more\"\nargument-hint: \"[target]\"\ndisable-model-invocation: true\n---\n\nDeploy $ARGUMENTS now.\n";
const STYLE: &str = "---\nname: style\ndescription: Our rules for prose, it's <b>\nuser-invocable: false\n---\n\nWrite short sentences.\n";
const FOCUS: &str =
    "---\nname: focus\ndescription: Answers in one line\nmode: true\n---\n\nBe brief.\n";

/// Skills of instructions in a folder `all`.
fn instructions() -> prowess_testkit::Scene {
    scene()
        .file("all/deploy/SKILL.md", DEPLOY)
        .file("all/style/SKILL.md", STYLE)
        .file("all/focus/SKILL.md", FOCUS)
        .file("all/style/references/words.md", "Use plain words.\n")
}

/// SKL-L2-2 SKL-L2-3
#[test]
fn the_model_and_the_user_see_different_skills() {
    let scene = instructions();
    let manifest = scene.stdout("prompt all --format xml");
    assert!(!manifest.contains("deploy"), "{manifest}");
    assert!(manifest.contains("\nstyle\n"), "{manifest}");
    assert_snapshot!(scene.run("prompt all --menu"));
    // The user invokes it by its name.
    assert!(scene.stdout("render all/deploy --arguments now").contains("Deploy now now."));
    let whole: serde_json::Value =
        serde_json::from_str(&scene.stdout("prompt all --format json")).expect("JSON");
    let names: Vec<&str> = whole["skills"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|skill| skill["name"].as_str())
        .collect();
    assert_eq!(names, ["focus", "style"]);
    assert_eq!(whole["menu"]["commands"][0]["command"], "/deploy");
    assert_eq!(whole["menu"]["commands"][0]["model_invocable"], false);
}

/// SKL-L2-4
#[test]
fn a_mode_is_listed_among_the_mode_commands() {
    let scene = instructions();
    assert_snapshot!(scene.run("prompt all"));
    let menu = scene.stdout("prompt all --menu");
    assert!(menu.starts_with("Mode Commands\n  /focus: Answers in one line\n"), "{menu}");
}

/// The reference implementation `skills-ref` prints exactly this with `agentskills to-prompt`.
#[test]
fn the_xml_is_that_of_the_reference() {
    let scene = instructions();
    let root = scene.path().canonicalize().expect("it is there");
    let expected = format!(
        "<available_skills>\n<skill>\n<name>\nstyle\n</name>\n<description>\nOur rules for prose, it&#x27;s &lt;b&gt;\n</description>\n<location>\n{}/all/style/SKILL.md\n</location>\n</skill>\n</available_skills>\n",
        root.display()
    );
    assert_eq!(scene.stdout("prompt all/style --format xml"), expected);
    let nothing = scene.stdout("prompt all/deploy --format xml");
    assert_eq!(nothing, "<available_skills>\n</available_skills>\n");
}

/// SKL-PD-1
#[test]
fn each_level_discloses_more() {
    let scene = instructions();
    let level = |level: u8| {
        let text = scene.stdout(&format!("prompt all/style --level {level} --format json"));
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        value["skills"][0].clone()
    };
    let keys = |skill: &serde_json::Value| -> Vec<String> {
        skill.as_object().expect("a skill").keys().cloned().collect()
    };
    assert_eq!(keys(&level(1)), ["name", "description"]);
    assert_eq!(keys(&level(2)), ["name", "description", "body", "tokens"]);
    let third = level(3);
    assert_eq!(third["files"][0]["path"], "references/words.md");
    assert_eq!(third["files"][0]["bytes"], 17);
    assert!(third["files"][0]["tokens"].as_u64().is_some_and(|tokens| tokens > 0));
    let texts = [1, 2, 3].map(|level| scene.stdout(&format!("prompt all/style --level {level}")));
    let shows = |text: &str| texts.each_ref().map(|it| it.contains(text));
    assert_eq!(shows("Our rules"), [true, true, true]);
    assert_eq!(shows("Write short sentences."), [false, true, true]);
    assert_eq!(shows("references/words.md"), [false, false, true]);
    assert_eq!(shows("Use plain words."), [false, false, false]);
    let file = "prompt all/style --file references/words.md";
    assert_eq!(scene.stdout(file), "Use plain words.\n");
    for wrong in ["../deploy/SKILL.md", "SKILL.md", "references", "none.md", "/etc/passwd", ""] {
        let answer = scene.run_with(&["prompt", "all/style", "--file", wrong], "");
        assert!(answer.starts_with("exit 3"), "{wrong}: {answer}");
    }
    assert!(scene.run("prompt all --file references/words.md").starts_with("exit 2"));
    assert!(scene.run("prompt all --level 2 --format openai").starts_with("exit 2"));
}

#[test]
fn a_budget_cuts_by_its_rule_and_says_so() {
    let long = |name: &str| {
        let words = "many words about it ".repeat(20);
        format!("---\nname: {name}\ndescription: {words}\n---\n\n{}\n", "Body. ".repeat(50))
    };
    let scene = scene().file("all/a/SKILL.md", long("a")).file("all/b/SKILL.md", long("b"));
    let cuts = |budget: u32| -> Vec<String> {
        let command = format!("prompt all --format json --level 2 --budget {budget}");
        let value: serde_json::Value = serde_json::from_str(&scene.stdout(&command)).expect("JSON");
        assert!(value["tokens"].as_u64().expect("a number") <= u64::from(budget), "{value}");
        let cuts = value["cut"].as_array().expect("a list").iter();
        cuts.map(|cut| format!("{} {}", cut["skill"], cut["part"]).replace('"', "")).collect()
    };
    assert_eq!(cuts(10_000), [""; 0]);
    assert_eq!(cuts(320), ["b body"]);
    assert_eq!(cuts(200), ["a body", "b body"]);
    assert_eq!(cuts(100), ["a body", "a description", "b body", "b description"]);
    assert_eq!(cuts(12), ["a body", "a description", "b entry"]);
    assert_snapshot!(scene.run("prompt all --format json --level 1 --budget 60"));
    assert!(scene.run("prompt all --format xml --budget 1").contains("too small"));
}

#[test]
fn without_paths_it_is_about_every_skill_that_is_visible_here() {
    let scene = crate::machine()
        .file("work/.claude/skills/style/SKILL.md", STYLE)
        .file("work/.claude/skills/wrong/SKILL.md", "---\nname: wrong\n---\nNothing\n")
        .file("home/.agents/skills/style/SKILL.md", STYLE)
        .file("home/.agents/skills/focus/SKILL.md", FOCUS);
    assert_snapshot!(scene.run("prompt --format xml"));
    assert_eq!(
        scene.stdout("prompt --user --format xml"),
        "<available_skills>\n</available_skills>\n"
    );
}

#[test]
fn tools_have_the_names_of_each_format() {
    // GAIA-5.2-1
    let skill = |name: &str| {
        format!(
            "---\nname: {name}\nversion: 1.0.0\ndescription: Searches\n---\n\n### search_web\n\nSearch the web\n\n#### Parameters\n\n| Name | Type | Required | Description |\n|---|---|---|---|\n| query | string | yes | What |\n\n#### Command\n\n```bash\necho {{{{query}}}}\n```\n"
        )
    };
    let scene =
        scene().file("all/web/SKILL.md", skill("web")).file("all/other/SKILL.md", skill("other"));
    assert_snapshot!(scene.run("prompt all/web --format gaia"));
    assert_snapshot!(scene.run("prompt all/web --format functiongemma-full"));
    let both: serde_json::Value =
        serde_json::from_str(&scene.stdout("prompt all --format gaia")).expect("JSON");
    assert_eq!(both["web/search_web"]["name"], "web/search_web");
    assert_eq!(both["other/search_web"]["skill"], "other");
}

#[test]
fn a_quiz_gate_withholds_the_body_and_the_files() {
    let scene = scene().copy("examples/api-onboarding", "api-onboarding");
    let text = std::fs::read_to_string(scene.path().join("api-onboarding/SKILL.md")).expect("text");
    let (_, body) = text.rsplit_once("\n---\n").expect("front matter");
    let line = body.lines().find(|line| line.len() > 40).expect("a sentence");
    for command in ["--level 3", "--level 3 --format json", "--format json"] {
        let shown = scene.stdout(&format!("prompt api-onboarding {command}"));
        assert!(shown.contains("quiz"), "{shown}");
        for secret in [line, "references/", "correct"] {
            assert!(!shown.contains(secret), "{command} {secret}: {shown}");
        }
    }
    let file = scene.run("prompt api-onboarding --file SKILL.md");
    assert!(file.contains("withheld until its quiz is passed"), "{file}");
}

#[cfg(unix)]
#[test]
fn links_are_neither_listed_nor_read() {
    let scene = instructions().file("secret.txt", "A secret\n");
    let folder = scene.path().join("all/style");
    std::os::unix::fs::symlink("../../secret.txt", folder.join("link.md")).expect("a link");
    std::os::unix::fs::symlink("../..", folder.join("up")).expect("a link");
    let listed = scene.stdout("prompt all/style --level 3");
    assert!(!listed.contains("link.md") && !listed.contains("secret"), "{listed}");
    for path in ["link.md", "up/secret.txt"] {
        let answer = scene.run(&format!("prompt all/style --file {path}"));
        assert!(answer.starts_with("exit 3") && !answer.contains("A secret"), "{answer}");
    }
}
