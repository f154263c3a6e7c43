//! Patterns of tools against calls of them, one row per clause of Claude Code's documentation ("Configure permissions").

use insta::assert_snapshot;
use prowess_format::tool_pattern::{PatternList, ToolPattern};
use prowess_policy::tool_rules::{
    RuleEffect, ToolDecision, ToolFolders, ToolRules, ToolUse, is_search_or_comparison, matches,
};
use serde_json::{Value, json};

const FOLDERS: ToolFolders<'_> =
    ToolFolders { working: "/project/app", project: "/project", home: Some("/home/ana") };

fn pattern(text: &str) -> ToolPattern {
    text.parse().expect("the tests have valid patterns")
}

fn is_match(text: &str, effect: RuleEffect, tool: &str, input: &Value) -> bool {
    matches(&pattern(text), effect, &ToolUse { tool, input, folders: FOLDERS })
}

/// Compares a pattern with commands: whether it allows each and whether it denies each.
#[track_caller]
fn commands(text: &str, rows: &[(&str, bool, bool)]) {
    for (command, allows, denies) in rows {
        let input = json!({ "command": command });
        let both = [RuleEffect::Allow, RuleEffect::Restrict]
            .map(|effect| is_match(text, effect, "Bash", &input));
        assert_eq!(both, [*allows, *denies], "{text} against {command:?}: allows, denies");
    }
}

#[test]
fn commands_with_wildcards() {
    // `Bash` and `Bash(*)` match all commands.
    for whole in ["Bash", "Bash(*)", "Bash(:*)"] {
        commands(whole, &[("ls", true, true), ("a && b", true, true), ("echo $(id)", true, true)]);
    }
    // Without a wildcard the command is exact.
    commands(
        "Bash(npm run build)",
        &[
            ("npm run build", true, true),
            ("npm run build --watch", false, false),
            ("npm  run build", false, true),
        ],
    );
    // A space before the last `*` is a word boundary, and `:*` is the same as ` *`.
    for git in ["Bash(git *)", "Bash(git:*)"] {
        commands(
            git,
            &[
                ("git", true, true),
                ("git log --oneline --all", true, true),
                ("gitk", false, false),
                ("git-lfs pull", false, false),
            ],
        );
    }
    commands("Bash(ls*)", &[("ls -la", true, true), ("lsof", true, true), ("als", false, false)]);
    // A wildcard can be anywhere, and spans several words.
    commands("Bash(* install)", &[("npm install", true, true), ("npm install x", false, false)]);
    commands(
        "Bash(git * main)",
        &[
            ("git checkout main", true, true),
            ("git push origin main", true, true),
            ("git push main now", false, false),
        ],
    );
    commands("Bash(* --help *)", &[("npm --help", true, true), ("npm --help run", true, true)]);
    // `:*` counts at the end only; elsewhere the colon is a colon.
    commands("Bash(git:* push)", &[("git push", false, false), ("git: push", true, true)]);
}

#[test]
fn each_part_of_a_compound_command() {
    for separator in ["&&", "||", ";", "|", "|&", "&", "\n"] {
        commands(
            "Bash(safe *)",
            &[
                (&format!("safe a {separator} safe b"), true, true),
                (&format!("safe a {separator} other b"), false, true),
                (&format!("other a {separator} other b"), false, false),
            ],
        );
    }
    // Different patterns may allow the parts.
    let rules = rules(&[], &[], &["Bash(git status *)", "Bash(npm test *)"]);
    assert_eq!(decide(&rules, "git status && npm test"), ToolDecision::Allow);
    assert_eq!(decide(&rules, "git status && npm publish"), ToolDecision::Unlisted);
}

#[test]
fn what_cannot_be_split_is_never_allowed_and_always_denied() {
    let lines = [
        "git log $(rm -rf x)",
        "git log `id`",
        "git diff <(id)",
        "git log \"$(id)\"",
        "(git log)",
        "for x in a; do git log; done",
        "git log 'unclosed",
        "git log $((x))",
        "git log ${x@P}",
        "git log\r\nrm x",
    ];
    for line in lines {
        commands("Bash(git *)", &[(line, false, true)]);
        // The whole tool is allowed whatever the command is.
        commands("Bash", &[(line, true, true)]);
    }
    let long = format!("git log {}", "x".repeat(10_000));
    commands("Bash(git *)", &[(&long, false, true)]);
    // The exact text was written by the author of the rule.
    commands("Bash(echo $(date))", &[("echo $(date)", true, true)]);
}

#[test]
fn wrappers_and_variables_before_a_command() {
    commands(
        "Bash(npm test *)",
        &[
            ("timeout 30 npm test", true, true),
            ("time npm test", true, true),
            ("nice -n 5 npm test", true, true),
            ("nohup npm test", true, true),
            ("stdbuf -oL npm test", true, true),
            ("command npm test", true, true),
            ("builtin npm test", true, true),
            ("noglob npm test", true, true),
            ("nocorrect npm test", false, false),
            ("command -v npm test", false, false),
            // A variable that is known to be harmless; a rule that denies looks past every variable.
            ("NODE_ENV=test npm test", true, true),
            ("LD_PRELOAD=x npm test", false, true),
            ("sudo npm test", false, false),
            ("npx npm test", false, false),
        ],
    );
    commands("Bash(grep *)", &[("xargs grep x", true, true), ("xargs -n1 grep x", false, false)]);
    // Programs that run their words are not allowed by a pattern with a wildcard.
    commands("Bash(watch *)", &[("watch ls", false, true)]);
    commands("Bash(watch ls)", &[("watch ls", true, true)]);
    commands(
        "Bash(find *)",
        &[
            ("find . -name x", true, true),
            ("find . -delete", false, true),
            ("find . -exec rm {} +", false, true),
        ],
    );
    // A rule that denies also finds what a script inside of the command runs.
    commands("Bash(rm *)", &[("sh -c 'ls; rm -rf x'", false, true), ("eval 'rm x'", false, true)]);
}

#[test]
fn redirections_write_files() {
    commands(
        "Bash(git *)",
        &[
            ("git log 2>&1", true, true),
            ("git log 2> /dev/null", true, true),
            ("git log > out.txt", false, true),
            ("git log >> ~/.bashrc", false, true),
            ("git log < in.txt", true, true),
        ],
    );
    let with = |edit: &str| rules(&[], &[], &["Bash(git *)", edit]);
    assert_eq!(decide(&with("Edit(*.txt)"), "git log > out.txt"), ToolDecision::Allow);
    assert_eq!(decide(&with("Edit(docs/**)"), "git log > out.txt"), ToolDecision::Unlisted);
    assert_eq!(decide(&with("Edit"), "git log > ~/x"), ToolDecision::Unlisted);
    assert_eq!(decide(&with("Edit"), "git log > \"$x\""), ToolDecision::Unlisted);
    let mut denied = with("Edit");
    denied.deny.push(pattern("Edit(out.txt)"));
    assert_eq!(decide(&denied, "git log > out.txt"), ToolDecision::Unlisted);
}

#[test]
fn powershell_ignores_case_and_is_not_split() {
    let rows = [
        ("PowerShell(Get-ChildItem *)", "get-childitem .", true, true),
        ("PowerShell(Get-ChildItem *)", "Get-ChildItem . | Remove-Item", false, true),
        ("PowerShell(git:*)", "git status", true, true),
        ("PowerShell", "anything; at all", true, true),
    ];
    for (text, command, allows, denies) in rows {
        let input = json!({ "command": command });
        assert_eq!(is_match(text, RuleEffect::Allow, "PowerShell", &input), allows, "{command}");
        assert_eq!(is_match(text, RuleEffect::Restrict, "PowerShell", &input), denies, "{command}");
    }
}

#[test]
fn paths_as_in_gitignore_below_an_anchor() {
    // Pattern, path of the call, whether a rule allows it, whether a rule denies it.
    let rows = [
        ("Read(./.env)", ".env", true, true),
        ("Read(./.env)", "sub/.env", false, false),
        ("Read(.env)", "sub/deep/.env", true, true),
        ("Read(.env)", "../.env", false, false),
        ("Read(*.env)", "a.env", true, true),
        ("Read(//home/ana/secrets/**)", "/home/ana/secrets/a/b", true, true),
        ("Read(//home/ana/secrets/**)", "/home/ana/secretsx", false, false),
        ("Read(//**/.env)", "/anywhere/at/all/.env", true, true),
        ("Read(~/Documents/*.pdf)", "/home/ana/Documents/x.pdf", true, true),
        ("Read(~/Documents/*.pdf)", "/home/ana/Documents/a/x.pdf", false, false),
        ("Read(/src/**/*.ts)", "/project/src/a/b/c.ts", true, true),
        ("Read(/src/**/*.ts)", "/project/src/c.ts", true, true),
        ("Read(/src/**/*.ts)", "/src/c.ts", false, false),
        ("Read(src/**)", "src/app.ts", true, true),
        ("Read(src/**)", "src", true, true),
        // One folder alone: only there to allow, at any depth to deny.
        ("Read(src/**)", "vendor/pkg/src/lib.js", false, true),
        ("Read(**/src/**)", "vendor/pkg/src/lib.js", true, true),
        ("Read(src/components/**)", "x/src/components/a", false, false),
        // A pattern that matches a folder matches what is in it.
        ("Read(docs)", "docs/a/b.md", true, true),
        ("Read(a/../b)", "b", false, true),
        ("Read(../other/**)", "../other/x", true, true),
        ("Read(../other/**)", "other/x", false, false),
        ("Read(src/../../etc/**)", "x", false, true),
        ("Read(src/**)", "src/../../secret", false, false),
        ("Read([ab]?.txt)", "b1.txt", true, true),
        ("Read([!ab]?.txt)", "b1.txt", false, false),
        (r"Read(\[x\].txt)", "[x].txt", true, true),
    ];
    for (text, path, allows, denies) in rows {
        let input = json!({ "file_path": path });
        assert_eq!(
            is_match(text, RuleEffect::Allow, "Read", &input),
            allows,
            "{text} allows {path}"
        );
        assert_eq!(
            is_match(text, RuleEffect::Restrict, "Read", &input),
            denies,
            "{text} denies {path}"
        );
    }
}

#[test]
fn rules_for_read_and_edit_are_about_all_tools_that_do_so() {
    let rows = [
        ("Read(src/**)", "Grep", json!({"pattern": "x", "path": "src"}), true),
        ("Read(src/**)", "Grep", json!({"pattern": "x"}), false),
        ("Read(src/**)", "Glob", json!({"pattern": "*", "path": "src/a"}), true),
        ("Edit(src/**)", "Write", json!({"file_path": "src/a"}), true),
        ("Edit(src/**)", "NotebookEdit", json!({"notebook_path": "src/a"}), true),
        ("Edit(src/**)", "Read", json!({"file_path": "src/a"}), false),
        // The client never consults a path after `Write`.
        ("Write(src/**)", "Write", json!({"file_path": "src/a"}), false),
        ("Write", "Write", json!({"file_path": "src/a"}), true),
        ("Read", "Grep", json!({"pattern": "x"}), false),
    ];
    for (text, tool, input, allows) in rows {
        assert_eq!(
            is_match(text, RuleEffect::Allow, tool, &input),
            allows,
            "{text} allows {tool} {input}"
        );
    }
}

#[test]
fn hosts_of_web_fetch() {
    let rows = [
        ("WebFetch(domain:example.com)", "https://example.com/a", true),
        ("WebFetch(domain:example.com)", "https://EXAMPLE.com./a", true),
        ("WebFetch(domain:example.com)", "https://api.example.com", false),
        ("WebFetch(domain:example.com)", "https://example.com.evil.org", false),
        ("WebFetch(domain:*.example.com)", "https://a.b.example.com", true),
        ("WebFetch(domain:*.example.com)", "https://example.com", false),
        ("WebFetch(domain:*)", "https://anything.test", true),
        ("WebFetch(domain:example.*)", "https://example.org", true),
        ("WebFetch(domain:example.*)", "https://example.evil.com", false),
        ("WebFetch", "https://anything.test", true),
        ("WebFetch(example.com)", "https://example.com", false),
        ("WebFetch(domain:example.com)", "https://user@evil.test#example.com", false),
    ];
    for (text, url, allows) in rows {
        let input = json!({ "url": url });
        assert_eq!(is_match(text, RuleEffect::Allow, "WebFetch", &input), allows, "{text} {url}");
    }
}

#[test]
fn names_of_tools_skills_agents_and_servers() {
    // Pattern, tool, input, allows, denies.
    let rows = [
        ("mcp__github", "mcp__github__get_issue", json!({}), true, true),
        ("mcp__github", "mcp__githubber__x", json!({}), false, false),
        ("mcp__github__*", "mcp__github__get_issue", json!({}), true, true),
        ("mcp__github__get_*", "mcp__github__get_issue", json!({}), true, true),
        ("mcp__github__get_*", "mcp__github__delete", json!({}), false, false),
        ("mcp__github__get_issue", "mcp__github__get_issue", json!({}), true, true),
        // A wildcard in a name denies, but allows only after the name of a server.
        ("mcp__*", "mcp__github__x", json!({}), false, true),
        ("*", "Bash", json!({"command": "ls"}), false, true),
        ("B*", "Bash", json!({"command": "ls"}), false, true),
        ("Skill(commit)", "Skill", json!({"skill": "commit"}), true, true),
        ("Skill(commit)", "Skill", json!({"skill": "commit", "args": "now"}), false, false),
        ("Skill(commit *)", "Skill", json!({"skill": "commit", "args": "now"}), true, true),
        ("Skill(commit *)", "Skill", json!({"skill": "commit"}), true, true),
        ("Skill(commit *)", "Skill", json!({"skill": "commit-all"}), false, false),
        ("Agent(Explore)", "Agent", json!({"subagent_type": "Explore"}), true, true),
        ("Agent(Explore)", "Task", json!({"subagent_type": "Explore"}), true, true),
        ("Task(Explore)", "Agent", json!({"subagent_type": "Plan"}), false, false),
        ("WebSearch", "WebSearch", json!({"query": "x"}), true, true),
        ("bash", "Bash", json!({"command": "ls"}), false, false),
    ];
    for (text, tool, input, allows, denies) in rows {
        assert_eq!(
            is_match(text, RuleEffect::Allow, tool, &input),
            allows,
            "{text} allows {tool} {input}"
        );
        assert_eq!(
            is_match(text, RuleEffect::Restrict, tool, &input),
            denies,
            "{text} denies {tool} {input}"
        );
    }
}

#[test]
fn parameters_are_matched_by_rules_that_deny() {
    let rows = [
        ("Agent(model:opus)", "Agent", json!({"model": "opus", "subagent_type": "x"}), true),
        ("Agent(model:opus)", "Agent", json!({"model": "claude-opus-4"}), false),
        ("Agent(model : *)", "Agent", json!({"model": "any"}), true),
        ("Agent(model:*)", "Agent", json!({"subagent_type": "x"}), false),
        (
            "Bash(run_in_background:true)",
            "Bash",
            json!({"command": "ls", "run_in_background": true}),
            true,
        ),
        ("Bash(run_in_background:true)", "Bash", json!({"command": "ls"}), false),
        ("Bash(command:rm *)", "Bash", json!({"command": "rm x"}), false),
    ];
    for (text, tool, input, denies) in rows {
        assert_eq!(
            is_match(text, RuleEffect::Restrict, tool, &input),
            denies,
            "{text} denies {input}"
        );
        assert!(!is_match(text, RuleEffect::Allow, tool, &input), "{text} never allows {input}");
    }
}

fn rules(deny: &[&str], ask: &[&str], allow: &[&str]) -> ToolRules {
    let read = |texts: &[&str]| texts.iter().map(|text| pattern(text)).collect();
    ToolRules { deny: read(deny), ask: read(ask), allow: read(allow) }
}

fn decide(rules: &ToolRules, command: &str) -> ToolDecision {
    let input = json!({ "command": command });
    rules.decide(&ToolUse { tool: "Bash", input: &input, folders: FOLDERS })
}

#[test]
fn deny_comes_before_ask_and_ask_before_allow() {
    // A narrower pattern in a later list changes nothing.
    let all = rules(&["Bash(aws *)"], &["Bash(git push *)"], &["Bash(aws s3 ls)", "Bash(git *)"]);
    assert_eq!(decide(&all, "aws s3 ls"), ToolDecision::Deny(pattern("Bash(aws *)")));
    assert_eq!(decide(&all, "git push origin"), ToolDecision::Ask(pattern("Bash(git push *)")));
    assert_eq!(decide(&all, "git status"), ToolDecision::Allow);
    assert_eq!(decide(&all, "ls"), ToolDecision::Unlisted);
    assert_eq!(decide(&all, "git status && aws s3 ls"), ToolDecision::Deny(pattern("Bash(aws *)")));
}

#[test]
fn folders_are_known_inside_of_commands() {
    let rules = rules(
        &[],
        &[],
        &["Bash(${CLAUDE_SKILL_DIR}/scripts/render.sh *)", "Read(${CLAUDE_SKILL_DIR}/x)"],
    );
    let expanded = rules.with_folders(Some("/skills/a"), None);
    assert_eq!(decide(&expanded, "/skills/a/scripts/render.sh x"), ToolDecision::Allow);
    assert_eq!(expanded.allow[1].to_string(), "Read(${CLAUDE_SKILL_DIR}/x)");
}

#[test]
fn patterns_that_are_not_valid_or_do_nothing() {
    let texts = [
        "Read",
        "Bash(git *)",
        "Bash( git * )",
        "Bash(*)",
        "Bash(python -c \"print(1)\")",
        "",
        "(git *)",
        "Bash(git",
        "Bash)",
        "Bash(git) x",
        "Bash()",
        "Bash;rm",
        "my tool",
        "mcp__a-b__c.d",
        "*",
        "B*",
        "mcp__*",
        "mcp__a__*",
        "Bash(git:* push)",
        "Bash(command:rm *)",
        "Write(docs/**)",
        "Glob(src/**)",
        "WebFetch(https://a.example)",
        "WebFetch(domain:a.example)",
        "Read(src/(a)/b)",
        "Bash(npm run test:*)",
        "Bash(git:*)",
    ];
    let shown: Vec<String> = texts
        .iter()
        .map(|text| match text.parse::<ToolPattern>() {
            Ok(pattern) => match pattern.ineffective(PatternList::Allow) {
                Some(reason) => format!("{text} → ignored: {reason}"),
                None => format!("{text} → {pattern}"),
            },
            Err(error) => format!("{text} → error: {error}"),
        })
        .collect();
    assert_snapshot!(shown.join("\n"));
}

#[test]
fn commands_whose_exit_code_1_is_a_result() {
    let rows = [
        ("grep x y", true),
        ("rg x", true),
        ("diff a b", true),
        ("cmp a b", true),
        ("test -f x", true),
        ("[ -f x ]", true),
        ("find . -name x", true),
        ("git diff --exit-code", true),
        ("git grep x", true),
        ("cat a | grep x", true),
        ("timeout 5 grep x", true),
        ("grep x | wc -l", false),
        ("npm test", false),
        ("git log", false),
        ("grep $(x)", false),
        ("", false),
    ];
    for (line, is_search) in rows {
        assert_eq!(is_search_or_comparison(line), is_search, "{line}");
    }
}
