//! Base utilities: programs that scripts may start without a declaration, with the reason for each
//! group.
//!
//! A program is a base utility if it only computes on what it is given: files, arguments, standard
//! input, other programs. Inside a sandbox such a program adds no access, because a script could do
//! the same itself. Programs with a reach of their own have to be declared, although a sandbox
//! confines them too: what they are for should be seen by whoever approves the skill. These are
//! programs that talk to servers or daemons (`curl`, `git`, `ssh`, `docker`, `gh`, cloud tools),
//! install software (`npm`, `pip`, `apt`), change the machine (`mount`, `systemctl`), use keys
//! (`gpg`, `openssl`), and interpreters that the skill did not ask for.

use prowess_format::skill::{Tool, ToolKind};

use crate::grants::program_of;
use crate::scope::Program;

/// Base utilities of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UtilityGroup {
    /// What they are for, as the subject of a sentence.
    pub what: &'static str,
    /// Why they add no access.
    pub why: &'static str,
    /// Their names.
    pub names: &'static [&'static str],
}

/// The base utilities.
pub const GROUPS: &[UtilityGroup] = &[
    UtilityGroup {
        what: "text filters",
        why: "they read what they are given and print something else",
        names: &[
            "awk", "base32", "base64", "basenc", "cat", "cmp", "col", "colrm", "column", "comm",
            "csplit", "cut", "diff", "diff3", "egrep", "expand", "fgrep", "fmt", "fold", "gawk",
            "grep", "head", "hexdump", "iconv", "join", "jq", "look", "mawk", "nawk", "nl", "od",
            "paste", "patch", "pr", "ptx", "rev", "sdiff", "sed", "shuf", "sort", "split",
            "strings", "tac", "tail", "tee", "tr", "tsort", "unexpand", "uniq", "wc", "xxd",
        ],
    },
    UtilityGroup {
        what: "file utilities",
        why: "they see and change only the files that the sandbox shows",
        names: &[
            "chmod", "cp", "dd", "df", "dir", "du", "file", "find", "install", "link", "ln", "ls",
            "mkdir", "mkfifo", "mktemp", "mv", "readlink", "realpath", "rm", "rmdir", "shred",
            "stat", "sync", "touch", "tree", "truncate", "unlink", "vdir",
        ],
    },
    UtilityGroup {
        what: "archivers and checksums",
        why: "they turn files into files, and files into numbers",
        names: &[
            "b2sum",
            "bunzip2",
            "bzcat",
            "bzip2",
            "cksum",
            "cpio",
            "gunzip",
            "gzip",
            "md5sum",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "shasum",
            "sum",
            "tar",
            "unxz",
            "unzip",
            "unzstd",
            "xz",
            "xzcat",
            "zcat",
            "zip",
            "zipinfo",
            "zstd",
            "zstdcat",
        ],
    },
    UtilityGroup {
        what: "values and conditions",
        why: "they compute from their arguments",
        names: &[
            "[", "basename", "bc", "cal", "dc", "dirname", "echo", "expr", "factor", "false",
            "getopt", "numfmt", "pathchk", "printf", "seq", "sleep", "test", "true", "uuidgen",
            "yes",
        ],
    },
    UtilityGroup {
        what: "facts about the sandbox",
        why: "what they report is visible inside anyway",
        names: &[
            "arch", "date", "env", "getconf", "groups", "hostname", "id", "locale", "logname",
            "nproc", "printenv", "ps", "pwd", "tput", "tty", "uname", "which", "whoami",
        ],
    },
    UtilityGroup {
        what: "starters",
        why: "they start only programs that the sandbox provides",
        names: &[
            "bash", "dash", "flock", "kill", "nice", "nohup", "parallel", "sh", "stdbuf", "time",
            "timeout", "xargs",
        ],
    },
];

/// The names of all base utilities.
pub fn names() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|group| group.names.iter().copied())
}

/// Whether a program is a base utility.
///
/// A path is one only where the system keeps its programs: a file of the same name elsewhere may
/// be anything.
pub fn contain(program: &Program) -> bool {
    match program {
        Program::Named(name) => names().any(|known| known == name),
        Program::At(path) => path.rsplit_once('/').is_some_and(|(folder, name)| {
            FOLDERS.contains(&folder) && names().any(|known| known == name)
        }),
        Program::Own(_) => false,
    }
}

/// The folders in which systems keep their own programs. Only root can write there, so what is
/// found needs no approval of its own.
pub const FOLDERS: &[&str] = &["/usr/bin", "/bin", "/run/current-system/sw/bin"];

/// Shells, whose scripts are made of other programs.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "ash"];

/// Whether a tool gets the base utilities: one that runs a file of the skill or a shell, or a
/// command line of the user's. A command that starts one program of the system gets that program.
pub fn are_given_to(tool: &Tool) -> bool {
    are_for(tool.kind, program_of(tool).as_deref())
}

pub(crate) fn are_for(kind: ToolKind, program: Option<&str>) -> bool {
    let of_command = || match program.map(Program::of_command) {
        Some(Ok(Program::Own(_))) => true,
        Some(Ok(Program::Named(name))) => SHELLS.contains(&name.as_str()),
        Some(Ok(Program::At(path))) => {
            path.rsplit('/').next().is_some_and(|name| SHELLS.contains(&name))
        }
        Some(Err(_)) | None => false,
    };
    match kind {
        ToolKind::Script | ToolKind::CommandLine => true,
        ToolKind::Command => of_command(),
        ToolKind::Python | ToolKind::Handler | ToolKind::McpTool => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_utility_has_one_group() {
        let all: Vec<&str> = names().collect();
        let unique: BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(all.len(), unique.len());
    }

    #[test]
    fn programs_with_a_reach_of_their_own_are_no_utilities() {
        for name in [
            "aws",
            "apt",
            "apt-get",
            "brew",
            "cargo",
            "crontab",
            "curl",
            "docker",
            "gcloud",
            "gh",
            "git",
            "gpg",
            "kubectl",
            "mount",
            "nc",
            "node",
            "npm",
            "npx",
            "openssl",
            "perl",
            "pip",
            "podman",
            "psql",
            "python",
            "python3",
            "rsync",
            "ruby",
            "scp",
            "ssh",
            "su",
            "sudo",
            "systemctl",
            "uv",
            "wget",
        ] {
            let program = Program::parse(name).unwrap();
            assert!(!contain(&program), "{name}");
        }
    }

    #[test]
    fn only_files_of_the_system_are_utilities() {
        for (path, expected) in [
            ("sort", true),
            ("/usr/bin/sort", true),
            ("/bin/sh", true),
            ("/home/me/bin/sort", false),
            ("/usr/local/bin/sort", false),
        ] {
            assert_eq!(contain(&Program::parse(path).unwrap()), expected, "{path}");
        }
        assert!(!contain(&Program::of_command("./sort").unwrap()));
    }

    #[test]
    fn shells_and_files_of_the_skill_get_utilities() {
        for (kind, program, expected) in [
            (ToolKind::Script, Some("./scripts/x.py"), true),
            (ToolKind::CommandLine, Some("git"), true),
            (ToolKind::Command, Some("./scripts/x.sh"), true),
            (ToolKind::Command, Some("bash"), true),
            (ToolKind::Command, Some("/bin/sh"), true),
            (ToolKind::Command, Some("git"), false),
            (ToolKind::Command, Some("../x"), false),
            (ToolKind::Command, None, false),
            (ToolKind::Python, None, false),
            (ToolKind::Handler, None, false),
        ] {
            assert_eq!(are_for(kind, program), expected, "{kind:?} {program:?}");
        }
    }
}
