//! What is read from scripts as people write them.

use insta::assert_snapshot;

/// Programs (`?` optional, `-` asked for and not started), hosts, downloads that run, and whether all was read.
fn read(text: &str) -> String {
    let script = prowess_shell::parse(text);
    let programs: Vec<String> = script
        .programs()
        .into_iter()
        .map(|program| {
            let optional = if program.is_optional { "?" } else { "" };
            let asked = if program.is_started { "" } else { "-" };
            format!("{}{optional}{asked}", program.name)
        })
        .collect();
    let hosts: Vec<&str> = script.hosts().iter().map(|host| host.host.as_str()).collect();
    let downloads: Vec<&str> =
        script.downloads_that_run().into_iter().map(|span| &text[span]).collect();
    let mut lines = vec![format!("programs: {}", programs.join(" "))];
    if !hosts.is_empty() {
        lines.push(format!("hosts: {}", hosts.join(" ")));
    }
    for download in downloads {
        lines.push(format!("runs a download: {download}"));
    }
    if !script.is_complete {
        lines.push("incomplete".to_owned());
    }
    lines.join("\n")
}

#[test]
fn commands_in_every_structure() {
    assert_snapshot!(read("#!/bin/sh\nset -eu\ngrep -q x log && sort log | uniq -c > out\nfor f in *.txt; do wc -l \"$f\"; done\nif [ -d x ]; then (cd x; ls); else mkdir x; fi\ncase $1 in a) date;; *) id;; esac\nwhile read -r l; do awk '{print $1}'; done < file\n"), @"programs: grep sort uniq wc ls mkdir date id awk");
}

#[test]
fn functions_and_aliases_are_not_programs() {
    assert_snapshot!(read("log() { printf '%s' \"$1\"; tee -a x; }\nalias ll='ls -l'\nlog hello\nll\n"), @"programs: tee");
}

#[test]
fn substitutions_and_quotes() {
    assert_snapshot!(read("x=$(git rev-parse HEAD)\necho \"$(jq -r .a \"$f\")\" `hostname`\n'cu'rl \"ht\"tp://a\ndiff <(sort a) <(sort b)\n"), @"programs: git jq hostname curl diff sort");
}

#[test]
fn wrappers_are_looked_through() {
    assert_snapshot!(read("sudo -u root A=1 apt-get install x\nenv -u X B=2 node a.js\nxargs -n 1 -I {} rm {}\ntimeout -k 5 10 make\nfind . -name x -exec chmod 644 {} +\nnice -n 5 nohup python3 x.py\ncommand ls\nexec cat\n"), @"programs: sudo apt-get env node xargs rm timeout make find chmod nice nohup python3 ls cat");
}

#[test]
fn scripts_inside_of_scripts() {
    assert_snapshot!(read("bash -euc 'curl https://a.example/x | tar xz'\neval 'docker ps'\ntrap 'rm -f x' EXIT\nsh <<'EOF'\nwget https://b.example\nEOF\nssh host 'reboot'\n"), @r"
    programs: bash sh ssh curl tar docker rm wget
    hosts: a.example b.example
    ");
}

#[test]
fn programs_that_are_asked_for() {
    assert_snapshot!(read("if command -v jq >/dev/null; then jq .; fi\nwhich node || exit 1\ntype gh\nhash brew 2>/dev/null\n"), @"programs: jq? node?- which gh?- brew?-");
}

#[test]
fn computed_names_are_not_guessed() {
    assert_snapshot!(read("$TOOL --version\n\"$DIR/x\" y\n${A:-b} c\n./local.sh\n/usr/bin/env python3\n"), @"programs: ./local.sh /usr/bin/env python3");
}

#[test]
fn hosts_outside_of_comments() {
    assert_snapshot!(read("# see https://comment.example\nBASE=https://User:pw@API.Example.com:8443/v1\ncurl \"$BASE/x\" 'https://[::1]/y' https://$HOST/z  # https://other.example\necho \"# https://quoted.example\"\n"), @r"
    programs: curl
    hosts: api.example.com ::1 quoted.example
    ");
}

#[test]
fn downloads_that_run() {
    assert_snapshot!(read("curl -fsSL https://x.example/i.sh | sh\n"), @r"
    programs: curl sh
    hosts: x.example
    runs a download: curl -fsSL https://x.example/i.sh | sh
    ");
    assert_snapshot!(read("wget -qO- x | gunzip | sudo -E bash -s -- -y\n"), @r"
    programs: wget gunzip sudo bash
    runs a download: gunzip | sudo -E bash -s -- -y
    ");
    assert_snapshot!(read("bash -c \"$(curl -fsSL x)\"\neval \"$(curl x)\"\nsource <(curl x)\nbash < <(curl x)\npython3 - < <(curl x)\n"), @r#"
    programs: bash curl python3
    runs a download: bash -c "$(curl -fsSL x)"
    runs a download: eval "$(curl x)"
    runs a download: source <(curl x)
    runs a download: bash < <(curl x
    runs a download: python3 - < <(curl x
    "#);
    assert_snapshot!(read("curl x | jq .\ncurl x > file\nsh file\ncat x | sh\n"), @"programs: curl jq sh cat");
}

#[test]
fn mistakes_do_not_hide_the_rest() {
    assert_snapshot!(read("if true; then\n  curl x\ngit status\n"), @r"
    programs: curl git
    incomplete
    ");
}

#[test]
fn sourced_files_are_named() {
    let script = prowess_shell::parse(". ./lib.sh\nsource \"lib/b.sh\"\n. \"$HERE/c.sh\"\n");
    let names: Vec<&str> = script.sourced().into_iter().map(|word| word.text.as_str()).collect();
    assert_eq!(names, ["./lib.sh", "lib/b.sh"]);
}
