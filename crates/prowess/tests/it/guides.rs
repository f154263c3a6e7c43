//! The commands that README.md and the guides show do what these pages say.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use prowess_testkit::{
    Answer, Published, Recorded, Reply, Scene, Script, ScriptedProvider, TestRegistry, repository,
};

use crate::guide::{Tally, page_scene, prepare, run_page};
use crate::{scene, skill};

fn page(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).expect("the page is there")
}

/// Runs a guide, and asserts how many of its fences are not run.
fn guide(name: &str, scene: &Scene, not_run: usize) {
    let path = format!("docs/guides/{name}.md");
    let Tally { run, not_run: reasons } = run_page(&path, &page(&path), scene);
    assert!(run > 0, "{path} has commands");
    assert_eq!(reasons.len(), not_run, "{path}: {reasons:#?}");
}

/// Instructions for an agent, with a version.
fn greet() -> &'static str {
    "---\nname: greet\ndescription: Greets people. Use when somebody says hello.\nmetadata:\n  version: 1.0.0\n---\n\n# Greet\n\nSay hello.\n"
}

/// A model that lists itself and always gives the same answer.
fn model(answer: &'static str) -> ScriptedProvider {
    let list = serde_json::json!({ "object": "list", "data": [{ "id": "llama3.2" }] });
    let script = Script::by(move |_: &Recorded| Reply::answer(Answer::text([answer])));
    ScriptedProvider::start(script.page("/v1/models", Reply::json(200, &list)))
}

/// A skill whose tool prints a key that it was given.
const ISSUES: &str = "---\nname: issues\ndescription: Looks at issues\nversion: 1.0.0\nauthor: Ada\nmodes: [Dev, Global]\nread_only: true\npermissions: [\"env:read:GITHUB_TOKEN\"]\n---\n\n# Issues\n\n### whoami\n\nSays who asks.\n\n#### Parameters\n\nNone.\n\n#### Command\n\n```bash\n./scripts/whoami.sh\n```\n";
/// A script that would call programs which nobody declared.
const REPORT: &str =
    "#!/bin/sh\nif grep -q ERROR \"$1\"; then\n  curl https://example.com\n  git log -1\nfi\n";
/// A skill that needs a package without saying so.
const SEARCH: &str = "---\nname: search\ndescription: Searches\nversion: 1.0.0\nlicense: MIT\nauthor: Ada\nsecurity_tier: experimental\npermissions: []\ntools:\n  - name: search_web\n    description: Searches the web\n    parameters:\n      query: {type: string, required: true}\n---\n\n# Search\n";
const SEARCH_TOOLS: &str = "import requests\nfrom gaia.agents.base.tools import tool\n\n\n@tool(atomic=True)\ndef search_web(query: str) -> dict:\n    \"\"\"Search the web.\"\"\"\n    return {}\n";
const COMMITS: &str = "fix: a crash on empty files\nfeat: read PDF files\n";
/// One commit, so that tools have a history to show.
const HISTORY: &str = "git init -q && git add . && git -c user.name=Ada -c user.email=ada@example.com commit -qm 'Add the examples'";

#[test]
fn studio() {
    guide("studio", &page_scene(&[]), 5);
}

#[test]
fn manifests() {
    guide("manifests", &page_scene(&[]), 0);
}

#[test]
fn publish() {
    guide("publish", &page_scene(&[]), 4);
}

#[test]
fn run_a_registry() {
    guide("run-a-registry", &page_scene(&[]), 10);
}

#[test]
fn quiz() {
    guide("quiz", &page_scene(&[]), 0);
}

#[test]
fn the_readme() {
    let provider = model("Dogs are welcome in the garden, and guide dogs everywhere [1].");
    let scene = page_scene(&[("OLLAMA_HOST", provider.url())]);
    prepare(&scene, HISTORY);
    let tally = run_page("README.md", &page("README.md"), &scene);
    assert!(tally.run > 20, "{tally:?}");
    // The first build and two servers that run until they are stopped, which have guides and tests of their own.
    assert_eq!(tally.not_run.len(), 3, "{tally:?}");
}

#[test]
fn agent_manifests() {
    let tool = "---\nname: NAME\ndescription: Does it\nversion: VERSION\nlicense: MIT\nauthor: Ada\npermissions: []\ntools:\n  - name: look\n    description: Looks\n---\n\n# It\n";
    let with = |name: &str, version: &str| tool.replace("NAME", name).replace("VERSION", version);
    let code = "from gaia.agents.base.tools import tool\n\n\n@tool(atomic=True)\ndef look() -> dict:\n    \"\"\"Look.\"\"\"\n    return {}\n";
    let scene = page_scene(&[])
        .file("work/our-skills/notes/SKILL.md", with("notes", "1.2.0"))
        .file("work/our-skills/notes/tools.py", code)
        .file("work/our-skills/mail/SKILL.md", with("mail", "2.1.0"))
        .file("work/our-skills/mail/tools.py", code);
    guide("agent-manifests", &scene, 1);
}

/// A model that calls a tool first, and answers when it has the result.
fn calling_model() -> ScriptedProvider {
    let script = Script::by(|request: &Recorded| {
        let body = request.json();
        let last = body["messages"].as_array().and_then(|all| all.last()).cloned();
        let is_result = last.is_some_and(|message| message["role"] == "tool");
        Reply::answer(if is_result {
            Answer::text(["It has 20 lines."]).usage(200, 10)
        } else {
            let arguments = "{\"file\": \"examples/README.md\"}";
            Answer::text([]).usage(100, 10).call("call_1", "count", [arguments])
        })
    });
    ScriptedProvider::start(script)
}

#[test]
fn agent_run() {
    let provider = calling_model();
    guide("agent-run", &page_scene(&[("OLLAMA_HOST", provider.url())]), 0);
}

#[test]
fn agents() {
    let lock =
        r#"{"version": 1, "skills": {"hello": {"source": "./theirs", "sourceType": "local"}}}"#;
    let scene = page_scene(&[])
        .file("work/greet/SKILL.md", greet())
        .file("work/skills-lock.json", lock)
        .file("work/theirs/hello/SKILL.md", skill("hello"));
    guide("agents", &scene, 0);
}

#[test]
fn check() {
    let scene = page_scene(&[])
        .file("work/SKILL.md", skill("work"))
        .file("work/skills/pdf/SKILL.md", skill("pdf"));
    guide("check", &scene, 0);
}

#[test]
fn scan() {
    let scene = page_scene(&[])
        .file("work/SKILL.md", skill("work"))
        .file("work/skills/pdf/SKILL.md", skill("pdf"));
    guide("scan", &scene, 1);
}

#[test]
fn ci() {
    let scene = page_scene(&[]).file("work/skills/pdf/SKILL.md", skill("pdf"));
    guide("ci", &scene, 1);
}

#[test]
fn convert() {
    guide("convert", &page_scene(&[]), 0);
}

#[test]
fn install() {
    let registry = TestRegistry::start();
    for version in ["1.2.0", "1.3.0", "2.0.0"] {
        let text = greet().replace("greet", "minutes").replace("1.0.0", version);
        let author = page_scene(&[]).file("work/minutes/SKILL.md", text);
        prepare(&author, "prowess pack minutes --output minutes.tar.gz");
        let archive = author.bytes("work/minutes.tar.gz");
        registry.publish(Published::new("acme", "minutes", version, archive));
    }
    let scene =
        page_scene(&[("PROWESS_REGISTRY", registry.url())]).file("work/greet/SKILL.md", greet());
    let scene = (1..12).fold(scene, |scene, number| {
        let name = format!("azure-{number}");
        scene.file(&format!("work/skills/{name}/SKILL.md"), skill(&name))
    });
    let scene = scene.file("work/skills/azure-cli/SKILL.md", skill("Azure CLI"));
    guide("install", &scene, 3);
}

#[test]
fn a_frozen_lock_file_installs_in_ci_where_nobody_has_agreed_before() {
    let text = page("docs/guides/install.md");
    let line = text.lines().find(|line| line.contains("--frozen") && line.contains("# in CI"));
    let scene = page_scene(&[]).file("work/greet/SKILL.md", greet());
    prepare(&scene, "prowess install --project ./greet --allow-experimental --yes");
    prepare(
        &scene,
        &format!(
            "export HOME=\"$PWD/../runner\"; mkdir \"$HOME\"; rm -r .prowess/skills\n{}\ntest -f .prowess/skills/greet/SKILL.md",
            line.expect("the guide has a line for CI")
        ),
    );
}

#[test]
fn knowledge() {
    let scene = page_scene(&[])
        .file("home/papers/flow.txt", "Boundary layer control delays the separation of the flow.\n")
        .file("work/notes/wings.md", "# Wings\n\nHeated wings in a slipstream gain lift.\n");
    guide("knowledge", &scene, 2);
}

#[test]
fn mcp_is_as_described() {
    guide("mcp", &page_scene(&[]), 4);
}

#[test]
fn migrate_from_openclaw() {
    let scene = page_scene(&[])
        .file("work/archive/skills/ann/weather/SKILL.md", skill("weather"))
        .file("work/archive/skills/bob/weather/SKILL.md", "# Weather\n\nTells the weather.\n")
        .file("work/archive/skills/bob/torn/SKILL.md", "---\n[{name: torn\n---\n\n# T\n");
    guide("migrate-from-openclaw", &scene, 0);
}

#[test]
fn models() {
    let provider = model("Hi.");
    let scene = page_scene(&[("OLLAMA_HOST", provider.url())])
        .file("home/.config/prowess/work.key", "sk-1234567890\n");
    prepare(&scene, "chmod 644 ~/.config/prowess/work.key");
    guide("models", &scene, 0);
}

#[test]
fn prompts() {
    let provider = model("Dogs are welcome in the garden [1].");
    let scene = page_scene(&[("OLLAMA_HOST", provider.url())]).file("work/commits.txt", COMMITS);
    guide("prompts", &scene, 0);
}

#[test]
fn run() {
    let scene = page_scene(&[("GITHUB_TOKEN", "ghp_0123456789abcdef")])
        .copy("fixtures/gibberish/8.1/git", "work/skills/git")
        .copy("examples/word-count", "work/skills/word-count")
        .file("work/a.txt", "one two\n")
        .file("work/skills/pdf/SKILL.md", skill("pdf"))
        .script(
            "work/skills/pdf/scripts/fields.py",
            "#!/usr/bin/env python3\nimport sys\nprint(sys.argv[1:])\n",
        )
        .file("work/form.pdf", "%PDF-1.7\n")
        .file("work/costs.csv", "total,3\n")
        .file("work/skills/logs/SKILL.md", skill("logs"))
        .script("work/skills/logs/scripts/report.sh", REPORT)
        .file("work/app.log", "started\n")
        .file("work/skills/issues/SKILL.md", ISSUES)
        .script(
            "work/skills/issues/scripts/whoami.sh",
            "#!/bin/sh\necho \"using token $GITHUB_TOKEN\"\n",
        )
        .file("work/skills/search/SKILL.md", SEARCH)
        .file("work/skills/search/tools.py", SEARCH_TOOLS)
        .file("work/skills/logs/SKILL.md", crate::skill("logs"))
        .file(
            "work/skills/logs/scripts/report.sh",
            "echo \"$(grep -c error \"$1\") errors\"\nperl -e 1 2>/dev/null\ngit log 2>/dev/null\nexit 0\n",
        )
        .file("work/app.log", "error\n".repeat(7));
    prepare(&scene, HISTORY);
    prepare(&scene, "prowess install ./skills/pdf --allow-experimental --yes");
    guide("run", &scene, 2);
}

#[test]
fn sign() {
    let scene = page_scene(&[]).file("work/greet/SKILL.md", greet());
    // The keys of others come from other machines.
    prepare(
        &scene,
        "export HOME=\"$PWD/../others\"; mkdir -p \"$HOME\"
         for name in ada lab; do prowess key new $name; prowess key export $name > $name.pub; done
         prowess key new acme --kind p256; prowess key export acme --pem > acme.pem",
    );
    guide("sign", &scene, 0);
}

#[test]
fn workflows() {
    let provider = model("Fewer crashes.");
    let variables = [("OLLAMA_HOST", provider.url()), ("PROWESS_MODEL", "ollama/llama3.2")];
    let scene = page_scene(&variables).file("work/commits.txt", COMMITS);
    guide("workflows", &scene, 1);
}

#[test]
fn write_a_skill() {
    guide("write-a-skill", &page_scene(&[]), 0);
}

/// The pages that people read, without the reference, which is generated.
fn pages() -> Vec<PathBuf> {
    let root = repository();
    let is_page = |name: &str| Path::new(name).extension().is_some_and(|kind| kind == "md");
    let folders = ["docs/guides", "docs/concepts"];
    let mut pages = vec![root.join("README.md")];
    pages.extend(
        folders
            .iter()
            .flat_map(|folder| prowess_testkit::files_below(&root.join(folder), &is_page)),
    );
    pages
}

#[test]
fn every_guide_is_run_by_a_test_and_linked_from_the_readme() {
    let own = include_str!("guides.rs");
    let readme = page("README.md");
    for path in prowess_testkit::files_below(&repository().join("docs/guides"), &|_| true) {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(own.contains(&format!("guide(\"{name}\"")), "no test runs docs/guides/{name}.md");
        let link = format!("](docs/guides/{name}.md)");
        assert!(readme.contains(&link), "README.md has no link to docs/guides/{name}.md");
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut count = 0;
    for path in pages() {
        let text = std::fs::read_to_string(&path).expect("a page");
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            if file.contains("://") || file.contains(char::is_whitespace) {
                continue;
            }
            count += 1;
            let folder = path.parent().expect("a folder");
            let linked = if file.is_empty() { path.clone() } else { folder.join(file) };
            assert!(linked.exists(), "{}: `{target}` does not exist", path.display());
            if !anchor.is_empty() {
                let linked = std::fs::read_to_string(&linked).expect("a page");
                let has = linked
                    .lines()
                    .filter(|line| line.starts_with('#'))
                    .any(|line| slug(line) == anchor);
                assert!(has, "{}: `{target}` has no such heading", path.display());
            }
        }
    }
    assert!(count > 40, "{count}");
}

/// The anchor of a heading.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|one| one.is_alphanumeric() || matches!(one, ' ' | '-' | '_'));
    kept.collect::<String>().replace(' ', "-")
}

/// Commands within sentences can't be run, but their verbs and options exist.
#[test]
fn commands_in_sentences_have_verbs_and_options_that_exist() {
    let scene = scene();
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for path in pages() {
        let text = std::fs::read_to_string(&path).expect("a page");
        for command in inline_commands(&text) {
            if !seen.insert(command.clone()) {
                continue;
            }
            let words: Vec<&str> = command.split_whitespace().skip(1).collect();
            let verb = words.first().copied().unwrap_or_default();
            let is_verb = |word: &str| {
                !word.is_empty()
                    && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            };
            if !is_verb(verb) || verb.starts_with('-') {
                continue;
            }
            let mut help = scene.run(&format!("{verb} --help"));
            let inner = words
                .get(1)
                .copied()
                .filter(|word| is_verb(word) && help.contains(&format!("\n  {word} ")));
            if let Some(inner) = inner {
                help = scene.run(&format!("{verb} {inner} --help"));
            }
            let page =
                path.strip_prefix(repository()).expect("a page of ours").display().to_string();
            if !help.starts_with("exit 0") {
                wrong.push(format!("{page}: `{command}`: there is no verb `{verb}`"));
                continue;
            }
            let options = words.iter().filter(|word| word.starts_with("--") && word.len() > 2);
            for option in options {
                let name = option.split('=').next().unwrap_or_default();
                let name = name.trim_end_matches(|one: char| !one.is_alphanumeric());
                if !help
                    .split(|one: char| !(one.is_alphanumeric() || one == '-'))
                    .any(|word| word == name)
                {
                    wrong.push(format!("{page}: `{command}`: `{verb}` has no `{name}`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen.len() > 40, "{}", seen.len());
}

/// Texts in backticks that begin with `prowess `, outside fences; they may be broken between lines.
fn inline_commands(text: &str) -> Vec<String> {
    let mut prose = String::new();
    let mut fence: Option<String> = None;
    for line in text.lines() {
        let marks: String = line.chars().take_while(|one| *one == '`').collect();
        match &fence {
            Some(open) if line == open => fence = None,
            Some(_) => {}
            None if marks.len() >= 3 => fence = Some(marks),
            None => {
                prose.push_str(line);
                prose.push('\n');
            }
        }
    }
    let paragraphs = prose.split("\n\n");
    let spans = paragraphs.flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2));
    let commands = spans.filter(|span| span.starts_with("prowess "));
    commands.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}
