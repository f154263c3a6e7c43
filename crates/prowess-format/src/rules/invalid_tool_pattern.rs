//! `invalid-tool-pattern`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::span::Spanned;
use crate::specification::CLAUDE_CODE;
use crate::text::shorten;
use crate::tool_pattern::{IneffectivePattern, PatternList, ToolPattern};

rule! {
    /// ## What it does
    /// Flags patterns in `allowed-tools` and `disallowed-tools` that match nothing.
    ///
    /// Such as a parenthesis that is not closed, `:*` inside of a command, `WebFetch` without `domain:`, and a path after a
    /// tool whose paths are never compared.
    ///
    /// ## Why is this bad?
    /// The client ignores such a pattern without a message. A tool that should be allowed asks, and one that should be
    /// denied is not.
    ///
    /// ## Example
    /// `Bash(git:* push)` becomes `Bash(git * push)`, and `Write(docs/**)` becomes `Edit(docs/**)`.
    INVALID_TOOL_PATTERN = "invalid-tool-pattern", Warning / Warning, check;
    CLAUDE_CODE.at("Frontmatter reference")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let skill = subject.skill;
    patterns("allowed-tools", &skill.allowed_tools, PatternList::Allow, findings);
    patterns("disallowed-tools", &skill.disallowed_tools, PatternList::Deny, findings);
}

fn patterns(field: &str, texts: &[Spanned<String>], list: PatternList, findings: &mut Findings) {
    for text in texts {
        let shown = shorten(text, 60);
        match text.parse::<ToolPattern>() {
            Err(error) => findings.push(
                INVALID_TOOL_PATTERN
                    .at(text.span, format!("`{shown}` in `{field}` is not a pattern: {error}"))
                    .help("patterns look like `Read`, `Bash(git *)` or `mcp__server__tool`"),
            ),
            Ok(pattern) => {
                let Some(reason) = pattern.ineffective(list) else { continue };
                let message = format!("`{shown}` in `{field}` has no effect: {reason}");
                let finding = INVALID_TOOL_PATTERN.at(text.span, message);
                findings.push(match instead(&pattern, &reason) {
                    Some(instead) => finding.help(format!("did you mean `{instead}`?")),
                    None => finding,
                });
            }
        }
    }
}

/// The pattern that was probably meant.
fn instead(pattern: &ToolPattern, reason: &IneffectivePattern) -> Option<String> {
    let specifier = pattern.specifier.as_deref().unwrap_or_default();
    match reason {
        IneffectivePattern::UnanchoredName => None,
        IneffectivePattern::ColonInside => {
            Some(format!("{}({})", pattern.tool, specifier.replace(":* ", " * ")))
        }
        IneffectivePattern::ContentParameter { .. } => {
            let value = pattern.parameter()?.1;
            Some(format!("{}({value})", pattern.tool))
        }
        IneffectivePattern::WrongPathTool { instead } => Some(format!("{instead}({specifier})")),
        IneffectivePattern::NoDomain => {
            let host = specifier.split("://").last()?.split('/').next()?;
            Some(format!("WebFetch(domain:{host})"))
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use crate::{ReadOptions, check};

    fn findings(tools: &str) -> String {
        let text = format!("---\nname: a\ndescription: Does a thing\n{tools}\n---\n\nText.\n");
        let checked = check(&text, ReadOptions::DETECT);
        let own = checked.diagnostics.iter().filter(|it| it.rule.name == "invalid-tool-pattern");
        own.map(|it| format!("{} ({})", it.message, it.help.as_deref().unwrap_or("no help")))
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn patterns_that_match_something_are_fine() {
        for tools in [
            "allowed-tools: Read Grep, Bash(git *) Bash(npm run test:*)",
            "allowed-tools: [mcp__github__get_*, mcp__github, \"WebFetch(domain:a.example)\"]",
            "allowed-tools:\n  - Bash(${CLAUDE_SKILL_DIR}/scripts/render.sh *)\n  - Skill(commit *)",
            "disallowed-tools: \"mcp__* Agent(model:opus) Write\"",
        ] {
            assert_eq!(findings(tools), "", "{tools}");
        }
    }

    #[test]
    fn patterns_that_match_nothing_are_named() {
        assert_snapshot!(findings("allowed-tools: Bash(git"), @"`Bash(git` in `allowed-tools` is not a pattern: its parenthesis is not closed (patterns look like `Read`, `Bash(git *)` or `mcp__server__tool`)");
        assert_snapshot!(findings("allowed-tools: Bash(git:* push) Write(docs/**) WebFetch(https://a.example/x)"), @r"
        `Bash(git:* push)` in `allowed-tools` has no effect: `:*` is a wildcard only at the end of a pattern (did you mean `Bash(git * push)`?)
        `WebFetch(https://a.example/x)` in `allowed-tools` has no effect: addresses are only compared with `domain:HOST` (did you mean `WebFetch(domain:a.example)`?)
        `Write(docs/**)` in `allowed-tools` has no effect: paths are only compared with `Edit(…)` (did you mean `Edit(docs/**)`?)
        ");
        assert_snapshot!(findings("allowed-tools: \"*\"\ndisallowed-tools: Bash(command:rm *)"), @r"
        `*` in `allowed-tools` has no effect: a list that allows tools takes `*` in a name only after `mcp__SERVER__` (no help)
        `Bash(command:rm *)` in `disallowed-tools` has no effect: `command:` can't be matched, because a compound command would get around it (did you mean `Bash(rm *)`?)
        ");
    }
}
