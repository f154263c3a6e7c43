use prowess_engine::ApprovalReply;
use prowess_policy::Remember;

use super::{Answer, Choices};
use crate::terminal::wrap::wrap;

#[test]
fn only_a_clear_yes_is_a_yes() {
    let (tool, skill, once, no) = (
        Some(Answer::Reply(ApprovalReply::Yes(Remember::Tool))),
        Some(Answer::Reply(ApprovalReply::Yes(Remember::Skill))),
        Some(Answer::Reply(ApprovalReply::Yes(Remember::Once))),
        Some(Answer::Reply(ApprovalReply::No)),
    );
    for (line, remembered, not_remembered) in [
        ("y\n", tool, once),
        (" YES \n", tool, once),
        ("a\n", skill, None),
        ("once\n", once, None),
        ("\n", no, no),
        ("n\n", no, no),
        ("d\n", None, None),
        ("yess\n", None, None),
        ("\u{1b}[Ay\n", None, None),
    ] {
        let read = |can_remember| Choices { can_remember, has_diff: false }.read(line);
        assert_eq!(read(true), remembered, "{line:?}");
        assert_eq!(read(false), not_remembered, "{line:?}");
    }
    let choices = Choices { can_remember: false, has_diff: true };
    assert_eq!(choices.read("d\n"), Some(Answer::ShowDiff));
}

#[test]
fn the_question_fits_into_a_narrow_terminal() {
    for (can_remember, has_diff) in [(true, true), (true, false), (false, true), (false, false)] {
        let choices = Choices { can_remember, has_diff };
        let asked = wrap(&choices.prompt(), 2, Some(30));
        assert!(asked.lines().all(|line| line.chars().count() <= 30), "{asked}");
        assert!(asked.ends_with(": "), "the answer is typed after it: {asked:?}");
        assert!(choices.prompt().len() <= 78, "one line of a usual terminal");
    }
}
