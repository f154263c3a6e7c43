use prowess_engine::Reply;
use prowess_policy::Remember;

use super::reply;

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
