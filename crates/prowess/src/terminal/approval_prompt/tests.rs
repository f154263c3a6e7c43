use prowess_engine::ApprovalReply;
use prowess_policy::Remember;

use super::{prompt, reply};
use crate::terminal::wrap::wrap;

#[test]
fn only_a_clear_yes_is_a_yes() {
    for (line, remembered, once) in [
        ("y\n", Some(ApprovalReply::Yes(Remember::Tool)), Some(ApprovalReply::Yes(Remember::Once))),
        (
            " YES \n",
            Some(ApprovalReply::Yes(Remember::Tool)),
            Some(ApprovalReply::Yes(Remember::Once)),
        ),
        ("a\n", Some(ApprovalReply::Yes(Remember::Skill)), None),
        ("once\n", Some(ApprovalReply::Yes(Remember::Once)), None),
        ("\n", Some(ApprovalReply::No), Some(ApprovalReply::No)),
        ("n\n", Some(ApprovalReply::No), Some(ApprovalReply::No)),
        ("yess\n", None, None),
        ("\u{1b}[Ay\n", None, None),
    ] {
        assert_eq!(reply(line, true), remembered, "{line:?}");
        assert_eq!(reply(line, false), once, "{line:?}");
    }
}

#[test]
fn the_question_fits_into_a_narrow_terminal() {
    for can_remember in [true, false] {
        let asked = wrap(prompt(can_remember), 2, Some(30));
        assert!(asked.lines().all(|line| line.chars().count() <= 30), "{asked}");
        assert!(asked.ends_with(": "), "the answer is typed after it: {asked:?}");
    }
}
