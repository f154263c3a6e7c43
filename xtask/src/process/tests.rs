use super::{command, describe, workspace_root};

#[test]
fn shows_a_command_as_it_would_be_typed() {
    let mut shown = command("rustdoc");
    shown
        .env("RUSTDOCFLAGS", "-D warnings")
        .arg("--out")
        .arg(workspace_root().join("target/x"))
        .arg("it's");
    assert_eq!(describe(&shown), r"RUSTDOCFLAGS='-D warnings' rustdoc --out target/x 'it'\''s'");
}
