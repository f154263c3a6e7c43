use prowess_engine::Reply;
use prowess_policy::Remember;

use super::{prompt, reply};
use crate::terminal::wrap::wrap;

#[test]
fn only_a_clear_yes_is_a_yes() {
    for (line, remembered, once) in [
        ("y\n", Some(Reply::Yes(Remember::Tool)), Some(Reply::Yes(Remember::Once))),
        (" YES \n", Some(Reply::Yes(Remember::Tool)), Some(Reply::Yes(Remember::Once))),
        ("a\n", Some(Reply::Yes(Remember::Skill)), None),
        ("once\n", Some(Reply::Yes(Remember::Once)), None),
        ("\n", Some(Reply::No), Some(Reply::No)),
        ("n\n", Some(Reply::No), Some(Reply::No)),
        ("yess\n", None, None),
        ("\u{1b}[Ay\n", None, None),
    ] {
        assert_eq!(reply(line, true), remembered, "{line:?}");
        assert_eq!(reply(line, false), once, "{line:?}");
    }
}

#[test]
fn the_question_fits_a_narrow_terminal() {
    for can_remember in [true, false] {
        let asked = wrap(prompt(can_remember), 2, Some(30));
        assert!(asked.lines().all(|line| line.chars().count() <= 30), "{asked}");
        assert!(asked.ends_with(": "), "the answer is typed behind it: {asked:?}");
    }
}
