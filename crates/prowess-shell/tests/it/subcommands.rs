//! Command lines that are split for rules: strict, because a rule that allows must match each part.

use insta::assert_snapshot;
use prowess_shell::{Subcommand, split, without_wrappers};

/// The subcommands, or why the line is too complex.
fn parts(text: &str) -> String {
    let show = |part: &Subcommand| {
        let mut shown = part.text.clone();
        for name in &part.assigned {
            shown = format!("[{name}=] {shown}");
        }
        for target in &part.writes {
            let computed = if target.is_literal { "" } else { "?" };
            shown = format!("{shown} [> {}{computed}]", target.path);
        }
        let inner = without_wrappers(&part.words);
        if inner > 0 {
            shown = format!("{shown} [runs {}]", part.words[inner].text);
        }
        shown
    };
    match split(text) {
        Ok(parts) => parts.iter().map(show).collect::<Vec<_>>().join("\n"),
        Err(reason) => format!("error: {reason}"),
    }
}

#[test]
fn every_separator_splits() {
    assert_snapshot!(parts("a 1 && b 2 || c 3; d 4 | e 5 |& f 6 & g 7\nh 8"), @r"
    a 1
    b 2
    c 3
    d 4
    e 5
    f 6
    g 7
    h 8
    ");
}

#[test]
fn quotes_hide_separators() {
    assert_snapshot!(parts(r#"git commit -m "a && b; c | d" && echo 'x & y' \; z"#), @r#"
    git commit -m "a && b; c | d"
    echo 'x & y' \; z
    "#);
}

#[test]
fn assignments_and_redirections_are_apart() {
    assert_snapshot!(parts("NODE_ENV=test A=1 npm test > out.txt 2>&1; ls 2>/dev/null; x >> \"$f\"; y > ~/a; cat < in"), @r#"
    [A=] [NODE_ENV=] npm test [> out.txt]
    ls [> /dev/null]
    x [> $f?]
    y [> ~/a?]
    cat
    "#);
}

#[test]
fn wrappers_with_known_options_are_looked_through() {
    assert_snapshot!(parts("timeout 30 npm test\ntimeout -k 5 --signal=KILL 10 nice -n 5 make\ntime -p ls\nstdbuf -oL grep x\ncommand ls\ncommand -v ls\nxargs grep x\nxargs -n1 grep x\ntimeout --odd 30 x"), @r"
    timeout 30 npm test [runs npm]
    timeout -k 5 --signal=KILL 10 nice -n 5 make [runs make]
    time -p ls [runs ls]
    stdbuf -oL grep x [runs grep]
    command ls [runs ls]
    command -v ls
    xargs grep x [runs grep]
    xargs -n1 grep x
    timeout --odd 30 x
    ");
}

#[test]
fn what_is_computed_is_too_complex() {
    let lines = [
        "echo $(id)",
        "echo `id`",
        "echo \"$(id)\"",
        "diff <(a) <(b)",
        "echo $((a[0]))",
        "echo ${x@P}",
        "echo ${x:-y}",
        "(rm -rf x)",
        "{ rm -rf x; }",
        "for f in a; do rm $f; done",
        "if a; then b; fi",
        "f() { rm x; }",
        "[[ -f x ]]",
        "echo 'unclosed",
        "a > out b",
        "> out a b",
        "cat <<E && rm x\ntext\nE\n",
        "cat <<E\n$(id)\nE\n",
        "echo $'a\\'; id'",
        "a \\\n&& b",
        "a\r\nb",
        "&& a",
    ];
    let shown: Vec<String> = lines
        .iter()
        .map(|line| format!("{line:?}: {}", parts(line).replace('\n', " / ")))
        .collect();
    assert_snapshot!(shown.join("\n"));
}
