use super::*;

fn refuses(line: &str) -> bool {
    let words: Vec<&str> = line.split(' ').collect();
    refused(words[0], &words[1..]).is_some()
}

#[test]
fn every_spelling_of_a_refused_form_is_refused() {
    for line in [
        "gh api -XDELETE repos/a/b",
        "gh api -X DELETE repos/a/b",
        "gh api -X=DELETE repos/a/b",
        "gh api --method=delete repos/a/b",
        "gh api repos/a/b --method DELETE",
        "gh -R a/b api --method PUT x",
        "gh --unknown value api -XDELETE x",
        "gh api repos/a/b/issues -f title=x",
        "/usr/bin/gh api -XPATCH x",
        "gh auth token",
        "gh repo delete a/b --yes",
        "git push -f",
        "git push origin +main",
        "git push origin :main",
        "git push -uf origin main",
        "git -C /x push --force origin main",
        "git -c alias.x=!sh x",
        "git -c core.sshCommand=sh fetch",
        "git clone ext::sh",
        "git config --global user.name x",
        "git config core.hooksPath x",
        "npm publish --access public",
        "docker run --privileged x",
        "docker run -v /:/host x",
        "docker run --pid=host x",
        "kubectl -n prod delete pod x",
        "kubectl get secret x -o yaml",
        "aws s3 rb s3://x --force",
        "aws --profile p sts get-session-token",
        "ssh -oProxyCommand=sh host",
        "ssh -o ProxyCommand=sh host",
    ] {
        assert!(refuses(line), "{line}");
    }
}

#[test]
fn ordinary_forms_are_allowed() {
    for line in [
        "gh issue list",
        "gh api repos/a/b",
        "gh api -X GET search/issues -f q=x",
        "gh pr create --title delete",
        "gh issue list --search auth",
        "git push origin main",
        "git push --force-with-lease origin main",
        "git config user.name x",
        "git -c color.ui=never log",
        "git commit -m push",
        "git log -p",
        "npm install x",
        "npm run publish",
        "docker run --rm -v /work:/work x",
        "kubectl get pods -n prod",
        "aws s3 ls",
        "ssh -p 22 host",
        "cargo test --config net.offline=true",
        "curl -X DELETE https://a.example",
        "unknown auth token",
    ] {
        assert!(!refuses(line), "{line}");
    }
}

#[test]
fn shells_and_wrappers_are_looked_through() {
    for (program, arguments) in [
        ("sh", &["-c", "cd x && gh api -XDELETE repos/a/b"][..]),
        ("bash", &["-euc", "git push --force"]),
        ("sudo", &["-E", "git", "push", "--force"]),
        ("env", &["A=b", "gh", "auth", "token"]),
        ("xargs", &["-n1", "gh", "repo", "delete"]),
    ] {
        assert!(refused_command(program, arguments).is_some(), "{program} {arguments:?}");
    }
    assert!(refused_command("sh", &["-c", "gh issue list"]).is_none());
    assert!(refused_command("sh", &["script.sh", "-c"]).is_none());
}

#[test]
fn a_refusal_names_the_form_and_the_reason() {
    let refused = refused("gh", &["api", "-XDELETE", "x"]).expect("refused");
    assert_eq!(
        refused.to_string(),
        "`gh api -X`, which sends a request that changes data on the server"
    );
}

#[test]
fn names_and_subcommands_are_lower_case_words() {
    for program in PROGRAMS {
        for form in program.forms {
            assert!(!form.why.is_empty() && form.why.starts_with(char::is_lowercase));
            for word in form.subcommand {
                assert!(
                    word.bytes().all(|byte| byte.is_ascii_lowercase()
                        || byte.is_ascii_digit()
                        || byte == b'-'),
                    "{word}"
                );
            }
            for starts in match form.when {
                Condition::ValueStarts(_, starts) | Condition::ArgumentStarts(starts) => starts,
                _ => &[],
            } {
                assert_eq!(*starts, starts.to_lowercase());
            }
        }
    }
}
