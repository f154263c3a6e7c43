//! `prowess mcp` through the real binary: clients of both generations, over stdio and over HTTP.

mod client;
mod conformance;
mod http;
mod quiz;

use std::time::{Duration, Instant};

use prowess_testkit::{Answer, Scene, ScriptedProvider};
use serde_json::{Value, json};

use crate::scene;
use client::Session;

const ELICITATION: &str = "elicitation";

/// A project with three skills in `skills`: a tool that ends, one that does not, and instructions with a script.
fn project() -> Scene {
    let tool = |name: &str, parameters: &str, command: &str| {
        format!(
            "---\nname: {name}\nversion: 1.0.0\ndescription: For tests\npermissions: [\"shell:execute:echo,sleep\"]\n---\n\n### {name}\n\nDoes it.\n\n{parameters}#### Command\n\n```bash\n{command}\n```\n"
        )
    };
    let text = "#### Parameters\n\n| Name | Type | Required | Description |\n|---|---|---|---|\n| text | string | yes | What to say |\n\n";
    scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .file("repo/.git/HEAD", "ref: refs/heads/main\n")
        .file("repo/skills/say/SKILL.md", tool("say", text, "echo {{text}}"))
        .file("repo/skills/nap/SKILL.md", tool("nap", "", "sleep 3617"))
        .file(
            "repo/skills/notes/SKILL.md",
            "---\nname: notes\ndescription: Keeps notes. Use for notes.\n---\n\n# Notes\n\nRead `references/how.md`.\n",
        )
        .file("repo/skills/notes/references/how.md", "Write them down.\n")
        .file("repo/skills/notes/scripts/all-notes.sh", "#!/bin/sh\necho notes \"$@\"\n")
        .inside("repo")
}

fn with_forms() -> Value {
    json!({ ELICITATION: {} })
}

/// Whether a process with this argument runs anywhere.
fn is_running(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("the processes");
    processes.flatten().any(|process| {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes())
    })
}

fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !is_true() {
        assert!(Instant::now() < until, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn tools_files_and_skills_are_listed_and_read() {
    let scene = project();
    let mut session = Session::greeted(&scene, &["skills"], &json!({}));
    assert_eq!(session.tools(), ["nap__nap", "notes__all_notes", "say__say"]);
    let tools = session.request("tools/list", &json!({}));
    let say = &tools["result"]["tools"][2];
    assert_eq!(
        say["inputSchema"],
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": { "text": { "type": "string", "description": "What to say" } },
            "required": ["text"],
            "additionalProperties": false,
        })
    );
    assert_eq!(say["annotations"]["openWorldHint"], false);
    let read = |session: &mut Session, uri: &str| {
        session.request("resources/read", &json!({ "uri": uri }))
    };
    let how = read(&mut session, "skill://notes/references/how.md");
    assert_eq!(how["result"]["contents"][0]["text"], "Write them down.\n");
    for outside in ["skill://notes/../say/SKILL.md", "skill://notes/%2e%2e", "file:///etc/passwd"] {
        assert_eq!(read(&mut session, outside)["error"]["code"], -32002, "{outside}");
    }
    let skill = session.request("skills/get", &json!({ "uri": "skill://notes/SKILL.md" }));
    let skill = &skill["result"]["skill"];
    assert_eq!(skill["frontmatter"]["name"], "notes");
    let files: Vec<&str> = skill["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["uri"].as_str().unwrap())
        .collect();
    assert_eq!(
        files,
        [
            "skill://notes/SKILL.md",
            "skill://notes/references/how.md",
            "skill://notes/scripts/all-notes.sh"
        ]
    );
    let folder = session.request("resources/directory/read", &json!({ "uri": "skill://notes" }));
    assert_eq!(folder["result"]["resources"][1]["mimeType"], "inode/directory");
    let (status, said) = session.leave();
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
}

/// GIB-6.3-3
#[test]
fn a_call_is_refused_with_the_command_that_asks_and_runs_after_that() {
    let scene = project();
    let mut session = Session::greeted(&scene, &["skills"], &json!({}));
    let (text, is_error) = session.call("say__say", &json!({ "text": "hello `world`" }));
    assert!(is_error, "{text}");
    let command = text.rsplit('\n').next().unwrap().trim_matches('`');
    assert!(command.starts_with("prowess run "), "{text}");
    assert!(text.contains("a person has to approve it"), "{text}");
    // A lasting yes on a terminal counts for the server that is running.
    let reference = scene.path().join("repo/skills/say/say").display().to_string();
    let asked = ["run", &reference, "--input", "text=x"];
    let shown = scene.run_on_terminal(&asked, "y\n");
    assert!(shown.contains("wants to run"), "{shown}");
    assert_eq!(session.call("say__say", &json!({ "text": "hi" })), ("hi\n".to_owned(), false));
    // A changed file voids it.
    let file = scene.path().join("repo/skills/say/SKILL.md");
    let changed = std::fs::read_to_string(&file).unwrap().replace("For tests", "For other tests");
    std::fs::write(&file, changed).unwrap();
    let (text, is_error) = session.call("say__say", &json!({ "text": "hi" }));
    assert!(is_error, "{text}");
}

/// GIB-6.3-1
#[test]
fn a_client_with_forms_shows_the_question_of_the_terminal() {
    let scene = project();
    let mut session = Session::greeted(&scene, &["skills"], &with_forms());
    for (answer, is_run) in [
        (json!({ "action": "decline" }), false),
        (json!({ "action": "cancel" }), false),
        (json!({ "action": "accept" }), false),
        (json!({ "action": "accept", "content": { "answer": "no" } }), false),
        (json!({ "action": "accept", "content": { "answer": "yes please" } }), false),
        (json!({ "action": "accept", "content": { "answer": "once" } }), true),
        // A yes for one run is no basis for the next one.
        (json!({ "action": "decline" }), false),
        (json!({ "action": "accept", "content": { "answer": "tool" } }), true),
        // From now on nobody is asked.
        (json!({ "action": "decline" }), true),
    ] {
        session.answer = answer.clone();
        let (text, is_error) = session.call("say__say", &json!({ "text": "hi" }));
        assert_eq!(!is_error, is_run, "{answer}: {text}");
        assert_eq!(
            text.contains("on a terminal, with `prowess run "),
            is_error,
            "{answer}: {text}"
        );
    }
    let asked = |it: &&Value| it["method"] == "elicitation/create";
    let question = session.others.iter().find(asked).expect("a question");
    let message = question["params"]["message"].as_str().unwrap();
    for part in [
        "say/say wants to run",
        "about    For tests",
        "command  echo hi",
        "may not use the network",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(session.others.iter().filter(asked).count(), 8);
}

#[test]
fn changes_are_in_the_result_and_accepted_by_the_client() {
    let file = "---\nname: write\nversion: 1.0.0\ndescription: For tests\npermissions: [\"filesystem:write:./**\"]\n---\n\n### write\n\nDoes it.\n\n#### Command\n\n```bash\n./write.sh\n```\n";
    let scene = project().file("repo/skills/write/SKILL.md", file).script(
        "repo/skills/write/write.sh",
        "#!/bin/sh\necho x > ordinary; echo x > .npmrc; echo done\n",
    );
    let there = |name: &str| scene.path().join("repo").join(name).exists();
    let mut session = Session::greeted(&scene, &["skills"], &with_forms());
    // The tool may run, and its changes are not accepted.
    session.answer = json!({ "action": "accept", "content": { "answer": "tool", "apply": "no" } });
    let params = json!({ "name": "write__write", "arguments": {} });
    let answer = session.request("tools/call", &params);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let changes = &answer["result"]["_meta"]["prowess/changes"];
    assert_eq!(
        (&changes["state"], changes["changes"].as_array().map(Vec::len)),
        (&json!("pending"), Some(2)),
        "{answer}"
    );
    assert!(!there("ordinary") && !there(".npmrc"));
    let asked = |it: &&Value| it["method"] == "elicitation/create";
    let question = session.others.iter().rfind(asked).expect("a question");
    let question = question["params"]["message"].to_string();
    assert!(question.contains(".npmrc (package managers run"), "{question}");
    // Now they are.
    session.answer = json!({ "action": "accept", "content": { "apply": "apply" } });
    let answer = session.request("tools/call", &params);
    assert_eq!(answer["result"]["content"][0]["text"], "done\n", "{answer}");
    assert_eq!(answer["result"]["_meta"]["prowess/changes"]["state"], "applied", "{answer}");
    assert!(there("ordinary") && there(".npmrc"));
}

#[test]
fn a_client_without_a_session_repeats_its_call_with_the_answer() {
    let scene = project();
    let mut session = Session::start(&scene, &["skills"]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": with_forms(),
    });
    let found = session.request("server/discover", &json!({ "_meta": meta }));
    assert_eq!(
        found["result"]["capabilities"]["extensions"]["io.modelcontextprotocol/skills"],
        json!({ "directoryRead": true }),
        "{found}"
    );
    let mut params = json!({ "_meta": meta, "name": "say__say", "arguments": { "text": "hi" } });
    let asked = session.request("tools/call", &params);
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let state = asked["result"]["requestState"].clone();
    params["requestState"] = state.clone();
    params["inputResponses"] =
        json!({ "approval": { "action": "accept", "content": { "answer": "once" } } });
    // The answer belongs to this call and no other.
    let mut other = params.clone();
    other["arguments"]["text"] = "something else".into();
    assert_eq!(session.request("tools/call", &other)["error"]["code"], -32602);
    let done = session.request("tools/call", &params);
    assert_eq!(done["result"]["content"][0]["text"], "hi\n", "{done}");
    // It counts once.
    let again = session.request("tools/call", &params);
    assert_eq!(again["result"]["isError"], true, "{again}");
}

#[test]
fn a_cancelled_call_and_a_client_that_leaves_end_the_tool() {
    let scene = project();
    let mut session = Session::greeted(&scene, &["skills"], &with_forms());
    session.answer = json!({ "action": "accept", "content": { "answer": "tool" } });
    let params = json!({ "name": "nap__nap", "_meta": { "progressToken": "p" } });
    let number = session.begin("tools/call", &params);
    let started = session.wait(|message| message["method"] == "notifications/progress");
    assert_eq!(started["params"]["message"], "nap/nap has started");
    wait_until("it runs", || is_running("3617"));
    let reason = json!({ "requestId": number, "reason": "enough" });
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": reason });
    session.send(&cancelled);
    wait_until("it has ended", || !is_running("3617"));
    session.begin("tools/call", &params);
    wait_until("it runs again", || is_running("3617"));
    let (status, _) = session.leave();
    assert_eq!(status.code(), Some(0));
    assert!(!is_running("3617"));
}

#[test]
fn wrong_input_gets_an_error_and_the_next_request_an_answer() {
    let scene = project();
    let mut session = Session::greeted(&scene, &["skills"], &json!({}));
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    for line in [
        "{",
        "[]",
        "null",
        "\u{0}\u{1}",
        r#"{"jsonrpc":"2.0","id":900,"method":"tools/call","params":7}"#,
        r#"{"jsonrpc":"1.0","id":901,"method":"tools/list"}"#,
        &format!(r#"{{"jsonrpc":"2.0","id":902,"method":"tools/call","params":{deep}}}"#),
    ] {
        session.line(line);
        assert_eq!(session.request("ping", &json!({}))["result"], json!({}), "{line}");
    }
    // A request that has an id gets an answer with that id: a client would wait for it forever.
    for (line, id, code) in [
        (r#"{"jsonrpc":"2.0","id":910,"method":"tools/call","params":7}"#, 910, -32602),
        (r#"{"jsonrpc":"2.0","id":911,"method":"resources/read","params":{"uri":7}}"#, 911, -32602),
        (r#"{"jsonrpc":"1.0","id":912,"method":"tools/list"}"#, 912, -32600),
        (
            &format!(r#"{{"jsonrpc":"2.0","id":913,"method":"tools/call","params":{deep}}}"#),
            913,
            -32602,
        ),
    ] {
        session.line(line);
        let answer = session.wait(|message| message["id"] == id);
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
    }
    for (tool, values, code) in [("nope", json!({}), -32602), ("", json!({}), -32602)] {
        let params = json!({ "name": tool, "arguments": values });
        assert_eq!(session.request("tools/call", &params)["error"]["code"], code, "{tool}");
    }
    for (values, said) in [
        (json!({}), "the required parameter `text` is missing"),
        (json!({ "text": 7 }), "text"),
        (json!({ "text": "x", "more": 1 }), "no parameter is called `more`"),
        (json!({ "text": "x".repeat(10 << 20) }), ""),
    ] {
        let (text, is_error) = session.call("say__say", &values);
        assert!(is_error && text.contains(said), "{said}: {}", &text[..text.len().min(500)]);
    }
    let unknown = &session.request("no/such", &json!({}))["error"];
    assert_eq!(
        (&unknown["code"], &unknown["message"]),
        (&json!(-32601), &json!("there is no method `no/such`"))
    );
    assert_eq!(session.leave().0.code(), Some(0));
}

#[test]
fn changes_are_noticed_and_broken_skills_reported_once() {
    let scene = project();
    let mut session = Session::greeted(&scene, &["skills"], &json!({}));
    assert_eq!(session.tools().len(), 3);
    let skills = scene.path().join("repo/skills");
    let is_change = |message: &Value| message["method"] == "notifications/tools/list_changed";
    let text = std::fs::read_to_string(skills.join("say/SKILL.md")).unwrap();
    std::fs::create_dir(skills.join("tell")).unwrap();
    let other = text.replace("name: say", "name: tell").replace("### say", "### tell");
    std::fs::write(skills.join("tell/SKILL.md"), other).unwrap();
    session.wait(is_change);
    assert_eq!(session.tools(), ["nap__nap", "notes__all_notes", "say__say", "tell__tell"]);
    std::fs::write(skills.join("say/SKILL.md"), text.replace("version: 1.0.0", "version: ["))
        .unwrap();
    session.wait(is_change);
    assert_eq!(session.tools(), ["nap__nap", "notes__all_notes", "tell__tell"]);
    std::fs::remove_dir_all(skills.join("tell")).unwrap();
    session.wait(is_change);
    assert_eq!(session.tools(), ["nap__nap", "notes__all_notes"]);
    let (_, said) = session.leave();
    assert_eq!(said.matches("left out").count(), 1, "{said}");
}

#[test]
fn a_folder_that_is_replaced_is_watched_again() {
    let scene = project();
    let mut session = Session::greeted(&scene, &["skills"], &json!({}));
    assert_eq!(session.tools().len(), 3);
    let repository = scene.path().join("repo");
    // The folder may be read while it is replaced, and is read again then.
    let wait_for_tools = |session: &mut Session, expected: &[&str]| {
        while session.tools() != expected {
            session.wait(|message| message["method"] == "notifications/tools/list_changed");
        }
    };
    let text = std::fs::read_to_string(repository.join("skills/say/SKILL.md")).expect("a skill");
    std::fs::create_dir_all(repository.join("other/say")).expect("a folder");
    std::fs::write(repository.join("other/say/SKILL.md"), &text).expect("written");
    // As when another branch is checked out.
    std::fs::rename(repository.join("skills"), repository.join("former")).expect("moved");
    std::fs::rename(repository.join("other"), repository.join("skills")).expect("moved");
    wait_for_tools(&mut session, &["say__say"]);
    let file = repository.join("skills/say/SKILL.md");
    std::fs::write(file, text.replace("### say", "### tell")).expect("written");
    wait_for_tools(&mut session, &["say__tell"]);
}

#[test]
fn a_prompt_is_filled_in() {
    let scene = project().copy("examples/release-notes", "repo/skills/release-notes");
    let mut session = Session::greeted(&scene, &["skills"], &json!({}));
    let prompts = session.request("prompts/list", &json!({}));
    assert_eq!(prompts["result"]["prompts"][0]["name"], "release-notes");
    assert_eq!(prompts["result"]["prompts"][0]["arguments"][0]["name"], "commits");
    let arguments = json!({ "commits": "fix the door", "product": "House", "version": "2.0" });
    let params = json!({ "name": "release-notes", "arguments": arguments });
    let filled = session.request("prompts/get", &params);
    let text = filled["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("fix the door") && text.contains("House"), "{text}");
    let params = json!({ "name": "release-notes", "arguments": {} });
    assert_eq!(session.request("prompts/get", &params)["error"]["code"], -32602);
}

/// GIB-7.2-1
#[test]
fn skills_of_another_mode_are_left_out_and_served_in_theirs() {
    let text = "---\nname: drafts\nversion: 1.0.0\ndescription: For tests\nmodes: [Dev]\npermissions: [\"shell:execute:echo\"]\n---\n\n### draft\n\nDoes it.\n\n#### Command\n\n```bash\necho drafted\n```\n";
    let scene = project().file("repo/skills/drafts/SKILL.md", text);
    let mut session = Session::greeted(&scene, &["skills"], &json!({}));
    assert!(!session.tools().contains(&"drafts__draft".to_owned()));
    let listed = session.request("skills/list", &json!({})).to_string();
    assert!(listed.contains("skill://say/") && !listed.contains("skill://drafts/"), "{listed}");
    let (_, said) = session.leave();
    assert!(
        said.contains("it is only available in the mode Dev") && said.contains("`--mode Dev`"),
        "{said}"
    );
    let mut session = Session::greeted(&scene, &["skills", "--mode", "Dev"], &json!({}));
    let (refused, is_error) = session.call("drafts__draft", &json!({}));
    let command = refused.rsplit('\n').next().unwrap_or_default().trim_matches('`').to_owned();
    assert!(is_error && command.contains(" --mode Dev "), "{refused}");
    // The command is typed as it is given.
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let shown = scene.run_on_terminal(&words, "y\n");
    assert!(shown.contains("drafted"), "{shown}");
    assert_eq!(session.call("drafts__draft", &json!({})), ("drafted\n".to_owned(), false));
}

#[test]
fn variables_of_the_host_are_filled_in() {
    let text = "---\nname: where\ndescription: For tests\nargument-hint: \"[x]\"\n---\n\n${CLAUDE_SKILL_DIR} ${CLAUDE_SESSION_ID} $0\n";
    let scene = project().file("repo/skills/where/SKILL.md", text);
    let told = |session: &mut Session| {
        let params = json!({ "name": "where", "arguments": { "arguments": "tea" } });
        let filled = session.request("prompts/get", &params);
        filled["result"]["messages"][0]["content"]["text"].as_str().expect("a text").to_owned()
    };
    let mut one = Session::greeted(&scene, &["skills"], &json!({}));
    let mut other = Session::greeted(&scene, &["skills"], &json!({}));
    let text = told(&mut one);
    let folder = scene.path().join("repo/skills/where").display().to_string();
    assert!(text.contains(&folder) && text.ends_with(" tea") && !text.contains('$'), "{text}");
    assert_eq!(text, told(&mut one), "a session has one name");
    assert_ne!(text, told(&mut other));
}

#[test]
fn calls_are_bounded_in_time_and_output_and_wait_for_their_turn() {
    let tool = |name: &str, more: &str, command: &str| {
        format!(
            "---\nname: {name}\nversion: 1.0.0\ndescription: For tests\n{more}permissions: [\"shell:execute:sleep,seq\"]\n---\n\n### {name}\n\nDoes it.\n\n#### Command\n\n```bash\n{command}\n```\n"
        )
    };
    let scene = project()
        .file("repo/skills/slow/SKILL.md", tool("slow", "timeout: 1\n", "sleep 3631"))
        .file("repo/skills/loud/SKILL.md", tool("loud", "", "seq 1 1000000"));
    let mut session = Session::greeted(&scene, &["skills"], &with_forms());
    session.answer = json!({ "action": "accept", "content": { "answer": "tool" } });
    let (text, is_error) = session.call("slow__slow", &json!({}));
    assert!(is_error && text.contains("timed out"), "{text}");
    wait_until("it has ended", || !is_running("3631"));
    let (text, is_error) = session.call("loud__loud", &json!({}));
    assert!(!is_error && text.len() < 10_000, "{} bytes", text.len());
    // All at once: those that find no room wait for it.
    session.call("say__say", &json!({ "text": "first" }));
    let mut asked = Vec::new();
    for number in 0..40 {
        let params = json!({ "name": "say__say", "arguments": { "text": format!("n{number}") } });
        asked.push((number, session.begin("tools/call", &params)));
    }
    let mut answers = std::collections::BTreeMap::new();
    while answers.len() < asked.len() {
        let answer = session.wait(|message| message.get("result").is_some());
        answers.insert(answer["id"].as_u64(), answer["result"]["content"][0]["text"].clone());
    }
    for (number, id) in asked {
        assert_eq!(answers[&Some(id)], format!("n{number}\n"));
    }
}

/// SKL-L2-7
#[test]
fn commands_in_a_prompt_run_where_a_person_has_approved_them() {
    let text = "---\nname: status\ndescription: For tests\nargument-hint: \"[topic]\"\n---\n\nAbout $ARGUMENTS: !`echo ready $0`\n";
    let scene = project().file("repo/skills/status/SKILL.md", text);
    let mut session = Session::greeted(&scene, &["skills"], &with_forms());
    let mut get = |topic: &str| {
        let params = json!({ "name": "status", "arguments": { "arguments": topic } });
        session.request("prompts/get", &params)
    };
    let refused = get("tea");
    let message = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("`echo ready tea`"), "{refused}");
    assert!(
        message.contains("`prowess render ") && message.contains(" --run-commands`"),
        "{refused}"
    );
    let render = ["render", "skills/status", "--run-commands", "--arguments", "tea"];
    let approved = scene.run_on_terminal(&render, "y\n");
    assert!(approved.starts_with("exit 0"), "{approved}");
    let filled = get("rain");
    let text = filled["result"]["messages"][0]["content"]["text"].as_str().unwrap_or_default();
    assert_eq!(text, "About rain: ready rain", "{filled}");
    // What a model says never becomes another command.
    let refused = get("'x; touch made'");
    assert!(refused["error"]["message"].as_str().is_some(), "{refused}");
    assert!(!scene.path().join("repo/made").exists());
}

/// SKL-L2-9
#[test]
fn hooks_around_a_tool_refuse_and_ask_through_the_client() {
    let skill = "---\nname: guarded\nversion: 1.0.0\ndescription: For tests\npermissions: [\"shell:execute:echo\"]\nhooks:\n  PreToolUse:\n    - hooks:\n        - {type: command, command: ./check.sh}\n---\n\n### guarded\n\nDoes it.\n\n#### Command\n\n```bash\necho made\n```\n";
    let with = |line: &str| {
        let script = format!("#!/bin/sh\ncat > /dev/null\n{line}\n");
        project()
            .file("repo/skills/guarded/SKILL.md", skill)
            .script("repo/skills/guarded/check.sh", script)
    };
    let called = |scene: &Scene| {
        let mut session = Session::greeted(scene, &["skills"], &with_forms());
        session.answer = json!({ "action": "accept", "content": { "answer": "once" } });
        let result = session.call("guarded__guarded", &json!({}));
        let is_question = |it: &&Value| it["method"] == "elicitation/create";
        let questions = session.others.iter().filter(is_question);
        let messages = questions.map(|it| it["params"]["message"].to_string());
        (result, messages.collect::<Vec<_>>())
    };
    let ((text, is_error), questions) = called(&with("echo 'not on a Friday' >&2; exit 2"));
    assert!(is_error && text.contains("not on a Friday"), "{text}");
    assert!(questions.len() == 1 && questions[0].contains("./check.sh"), "{questions:?}");
    let ask = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "ask",
        "permissionDecisionReason": "it is late",
    } });
    let (result, questions) = called(&with(&format!("echo '{ask}'")));
    assert_eq!(result, ("made\n".to_owned(), false));
    assert!(questions.len() == 2 && questions[1].contains("it is late"), "{questions:?}");
}

#[test]
fn hooks_and_commands_surround_a_prompt_that_a_client_calls() {
    let provider = ScriptedProvider::start(Answer::text(["Fine."]));
    let text = "---\nname: sum-up\ndescription: Sums up.\ninputs:\n  - name: topic\n    type: text\n    required: true\nhooks:\n  UserPromptSubmit:\n    - hooks:\n        - {type: command, command: 'echo Be brief.'}\n---\n\nAbout {{topic}}: !`echo notes`\n";
    let scene = project()
        .file("repo/skills/sum-up/SKILL.md", text)
        .variable("OPENAI_BASE_URL", &format!("{}/v1", provider.url()))
        .variable("OPENAI_API_KEY", "sk-secret-of-the-test")
        .variable("PROWESS_MODEL", "openai/test-model");
    let values = json!({ "topic": "tea" });
    let mut session = Session::greeted(&scene, &["skills"], &json!({}));
    let (refused, is_error) = session.call("sum-up__run", &values);
    let place = scene.path().join("repo/skills/sum-up").display().to_string();
    assert!(is_error && refused.contains("a person has to approve its hooks"), "{refused}");
    assert!(refused.contains(&format!("`prowess run {place} --inputs ")), "{refused}");
    assert_eq!(session.leave().0.code(), Some(0));

    let mut session = Session::greeted(&scene, &["skills"], &with_forms());
    let (refused, is_error) = session.call("sum-up__run", &values);
    assert!(is_error && refused.contains("was not approved"), "{refused}");
    session.answer = json!({ "action": "accept", "content": { "answer": "once" } });
    // No model gets half a text: commands run where a person has approved them, and nowhere else.
    let (refused, is_error) = session.call("sum-up__run", &values);
    assert!(is_error && refused.contains(" --run-commands`"), "{refused}");
    assert!(provider.requests().is_empty());
    let render = ["render", "skills/sum-up", "--run-commands", "--input", "topic=tea"];
    let approved = scene.run_on_terminal(&render, "y\n");
    assert!(approved.starts_with("exit 0"), "{approved}");
    assert_eq!(session.call("sum-up__run", &values), ("Fine.".to_owned(), false));
    let body = provider.request(0).json();
    assert_eq!(body["messages"][1]["content"], "About tea: notes\n\nBe brief.");
    let asked = |it: &&Value| it["method"] == "elicitation/create";
    let question = session.others.iter().find(asked).expect("a question");
    let message = question["params"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("echo Be brief."), "{message}");
}

#[test]
fn a_prompt_skill_is_a_tool_whose_answer_is_told_while_it_is_written() {
    let answer = Answer::text(["Milk ", "becomes", " cheese."]).usage(20, 4);
    let provider = ScriptedProvider::start(answer);
    let scene = project()
        .file(
            "repo/skills/sum-up/SKILL.md",
            "---\nname: sum-up\ndescription: Sums up.\ninputs:\n  - name: article\n    type: textarea\n    required: true\n---\n\nSum up:\n\n{{article}}\n",
        )
        .variable("OPENAI_BASE_URL", &format!("{}/v1", provider.url()))
        .variable("OPENAI_API_KEY", "sk-secret-of-the-test")
        .variable("PROWESS_MODEL", "openai/test-model");
    let mut session = Session::greeted(&scene, &["skills"], &json!({}));
    let params = json!({
        "name": "sum-up__run",
        "arguments": { "article": "About cheese" },
        "_meta": { "progressToken": 7 },
    });
    let answer = session.request("tools/call", &params);
    assert_eq!(answer["result"]["content"][0]["text"], "Milk becomes cheese.", "{answer}");
    let told = session.others.iter().filter(|it| it["params"]["progressToken"] == 7);
    let told: String = told.filter_map(|it| it["params"]["message"].as_str()).collect();
    assert!(told.ends_with("Milk becomes cheese."), "{told}");
    let (text, is_error) = session.call("sum-up__run", &json!({}));
    assert!(is_error && text.contains("article"), "{text}");
}
