//! The table as data: programs, forms of their command lines, and why each is refused.

/// A program with the forms that are refused.
pub(super) struct ProgramPolicy {
    /// Its names.
    pub(super) names: &'static [&'static str],
    /// The options whose value is the next word, or glued to a short one.
    pub(super) valued: &'static [&'static str],
    /// The forms.
    pub(super) forms: &'static [Form],
}

/// A form of a command line.
pub(super) struct Form {
    /// The first words that are not options.
    pub(super) subcommand: &'static [&'static str],
    /// What else makes the form.
    pub(super) when: Condition,
    /// What it does, as the rest of a sentence about it.
    pub(super) why: &'static str,
}

/// What a form depends on beside its subcommand.
#[derive(Clone, Copy)]
pub(super) enum Condition {
    /// On nothing.
    Always,
    /// One of these options is there.
    Option(&'static [&'static str]),
    /// One of these options has a value that is none of those.
    ValueOtherThan(&'static [&'static str], &'static [&'static str]),
    /// One of the first options is there, and none of the second has one of these values.
    OptionUnless(&'static [&'static str], &'static [&'static str], &'static [&'static str]),
    /// One of these options has a value that begins with one of these texts, in lower case.
    ValueStarts(&'static [&'static str], &'static [&'static str]),
    /// A word that is no option begins with one of these texts, in lower case.
    ArgumentStarts(&'static [&'static str]),
}

use Condition::{
    Always, ArgumentStarts, Option as HasOption, OptionUnless, ValueOtherThan, ValueStarts,
};

const DELETES: &str = "deletes what can't be restored";
const PRINTS_CREDENTIAL: &str = "prints a credential of yours";
const CHANGES_CREDENTIAL: &str = "changes who can use your account";
const PUBLISHES: &str = "publishes in your name";
const RUNS_OPTION: &str = "runs a program that an option names";
const CHANGES_SERVER: &str = "sends a request that changes data on the server";
const SETTINGS: &str = "changes settings that other programs of yours obey";
const LEAVES_CONTAINER: &str = "gives a container control over this machine";

/// A form with nothing but a subcommand.
const fn always(subcommand: &'static [&'static str], why: &'static str) -> Form {
    Form { subcommand, when: Always, why }
}

/// A form with a condition.
const fn when(subcommand: &'static [&'static str], when: Condition, why: &'static str) -> Form {
    Form { subcommand, when, why }
}

/// Settings of git whose value git starts, in lower case.
const GIT_PROGRAM_SETTINGS: &[&str] = &[
    "alias.",
    "core.editor",
    "core.fsmonitor",
    "core.gitproxy",
    "core.hookspath",
    "core.pager",
    "core.sshcommand",
    "credential.helper",
    "diff.external",
    "difftool.",
    "filter.",
    "gpg.program",
    "mergetool.",
    "pager.",
    "protocol.ext",
    "sequence.editor",
];

pub(super) const PROGRAMS: &[ProgramPolicy] = &[
    ProgramPolicy {
        names: &["gh"],
        valued: &[
            "-R",
            "--repo",
            "--hostname",
            "-X",
            "--method",
            "-f",
            "--raw-field",
            "-F",
            "--field",
            "-H",
            "--header",
            "--input",
            "-q",
            "--jq",
            "-t",
            "--template",
            "--cache",
            "-p",
            "--preview",
        ],
        forms: &[
            when(&["api"], ValueOtherThan(&["-X", "--method"], &["GET", "HEAD"]), CHANGES_SERVER),
            when(
                &["api"],
                OptionUnless(
                    &["-f", "--raw-field", "-F", "--field", "--input"],
                    &["-X", "--method"],
                    &["GET", "HEAD"],
                ),
                CHANGES_SERVER,
            ),
            always(&["repo", "delete"], DELETES),
            always(&["repo", "archive"], CHANGES_SERVER),
            when(&["repo", "edit"], HasOption(&["--visibility"]), CHANGES_SERVER),
            always(&["release", "delete"], DELETES),
            always(&["issue", "delete"], DELETES),
            always(&["gist", "delete"], DELETES),
            always(&["run", "delete"], DELETES),
            always(&["cache", "delete"], DELETES),
            always(&["auth", "token"], PRINTS_CREDENTIAL),
            when(&["auth", "status"], HasOption(&["--show-token", "-t"]), PRINTS_CREDENTIAL),
            always(&["auth", "refresh"], CHANGES_CREDENTIAL),
            always(&["auth", "logout"], CHANGES_CREDENTIAL),
            always(&["auth", "setup-git"], SETTINGS),
            always(&["secret", "set"], CHANGES_CREDENTIAL),
            always(&["secret", "delete"], CHANGES_CREDENTIAL),
            always(&["secret", "remove"], CHANGES_CREDENTIAL),
            always(&["variable", "delete"], DELETES),
            always(&["ssh-key", "add"], CHANGES_CREDENTIAL),
            always(&["ssh-key", "delete"], CHANGES_CREDENTIAL),
            always(&["gpg-key", "add"], CHANGES_CREDENTIAL),
            always(&["gpg-key", "delete"], CHANGES_CREDENTIAL),
            always(&["repo", "deploy-key"], CHANGES_CREDENTIAL),
            always(&["alias", "set"], RUNS_OPTION),
            always(&["alias", "import"], RUNS_OPTION),
            always(&["extension", "install"], RUNS_OPTION),
            always(&["extension", "exec"], RUNS_OPTION),
            always(&["config", "set"], SETTINGS),
        ],
    },
    ProgramPolicy {
        names: &["glab"],
        valued: &[
            "-R",
            "--repo",
            "-X",
            "--method",
            "-f",
            "--raw-field",
            "-F",
            "--field",
            "-H",
            "--header",
            "--input",
        ],
        forms: &[
            when(&["api"], ValueOtherThan(&["-X", "--method"], &["GET", "HEAD"]), CHANGES_SERVER),
            when(
                &["api"],
                OptionUnless(
                    &["-f", "--raw-field", "-F", "--field", "--input"],
                    &["-X", "--method"],
                    &["GET", "HEAD"],
                ),
                CHANGES_SERVER,
            ),
            always(&["repo", "delete"], DELETES),
            always(&["release", "delete"], DELETES),
            always(&["variable", "set"], CHANGES_CREDENTIAL),
            always(&["variable", "get"], PRINTS_CREDENTIAL),
            always(&["token"], CHANGES_CREDENTIAL),
            always(&["ssh-key", "add"], CHANGES_CREDENTIAL),
            always(&["alias", "set"], RUNS_OPTION),
            always(&["config", "set"], SETTINGS),
        ],
    },
    ProgramPolicy {
        names: &["git"],
        valued: &[
            "-C",
            "-c",
            "--git-dir",
            "--work-tree",
            "--namespace",
            "--exec-path",
            "--config-env",
            "--config",
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "-o",
            "--push-option",
            "--open-files-in-pager",
            "-x",
        ],
        forms: &[
            when(&[], ValueStarts(&["-c", "--config-env"], GIT_PROGRAM_SETTINGS), RUNS_OPTION),
            when(&[], HasOption(&["--exec-path", "--upload-pack", "--receive-pack"]), RUNS_OPTION),
            when(&[], ArgumentStarts(&["ext::"]), RUNS_OPTION),
            when(&["clone"], ValueStarts(&["--config"], GIT_PROGRAM_SETTINGS), RUNS_OPTION),
            when(&["grep"], HasOption(&["--open-files-in-pager"]), RUNS_OPTION),
            when(
                &["push"],
                HasOption(&["--force", "-f", "--mirror", "--delete", "-d", "--prune"]),
                "replaces or deletes what others have fetched",
            ),
            when(
                &["push"],
                ArgumentStarts(&["+", ":"]),
                "replaces or deletes what others have fetched",
            ),
            when(&["config"], HasOption(&["--global", "--system"]), SETTINGS),
            when(&["config"], ArgumentStarts(GIT_PROGRAM_SETTINGS), SETTINGS),
            always(&["filter-branch"], "rewrites the whole history"),
            always(&["filter-repo"], "rewrites the whole history"),
            always(&["credential"], PRINTS_CREDENTIAL),
            always(&["daemon"], "opens this machine to others"),
            when(&["reflog", "expire"], HasOption(&["--all", "--expire"]), DELETES),
        ],
    },
    ProgramPolicy {
        names: &["npm", "pnpm", "yarn"],
        valued: &["--registry", "--prefix", "-C", "--dir", "--cwd", "-w", "--workspace"],
        forms: &[
            always(&["publish"], PUBLISHES),
            always(&["npm", "publish"], PUBLISHES),
            always(&["unpublish"], DELETES),
            always(&["deprecate"], PUBLISHES),
            always(&["dist-tag"], PUBLISHES),
            always(&["token"], CHANGES_CREDENTIAL),
            always(&["adduser"], CHANGES_CREDENTIAL),
            always(&["login"], CHANGES_CREDENTIAL),
            always(&["logout"], CHANGES_CREDENTIAL),
            always(&["owner"], CHANGES_CREDENTIAL),
            always(&["access"], CHANGES_CREDENTIAL),
            always(&["config", "set"], SETTINGS),
            always(&["set"], SETTINGS),
        ],
    },
    ProgramPolicy {
        names: &["pip", "pip3", "uv", "poetry", "twine", "hatch", "flit"],
        valued: &["--index-url", "-i", "--extra-index-url", "--directory", "--project", "-C"],
        forms: &[
            always(&["upload"], PUBLISHES),
            always(&["publish"], PUBLISHES),
            always(&["config", "set"], SETTINGS),
        ],
    },
    ProgramPolicy {
        names: &["cargo"],
        valued: &["--config", "-C", "-Z", "--manifest-path", "--color"],
        forms: &[
            always(&["publish"], PUBLISHES),
            always(&["yank"], PUBLISHES),
            always(&["owner"], CHANGES_CREDENTIAL),
            always(&["login"], CHANGES_CREDENTIAL),
            always(&["logout"], CHANGES_CREDENTIAL),
            when(
                &[],
                ValueStarts(
                    &["--config"],
                    &["build.rustc", "target.", "alias.", "registry", "source.", "host."],
                ),
                RUNS_OPTION,
            ),
        ],
    },
    ProgramPolicy {
        names: &["gem"],
        valued: &["--host", "-k", "--key"],
        forms: &[
            always(&["push"], PUBLISHES),
            always(&["yank"], PUBLISHES),
            always(&["owner"], CHANGES_CREDENTIAL),
            always(&["signin"], CHANGES_CREDENTIAL),
        ],
    },
    ProgramPolicy {
        names: &["docker", "podman", "nerdctl"],
        valued: &[
            "-H",
            "--host",
            "--context",
            "--config",
            "-l",
            "--log-level",
            "-v",
            "--volume",
            "--mount",
            "--pid",
            "--ipc",
            "--uts",
            "--userns",
            "--net",
            "--network",
            "--cap-add",
            "--device",
            "--security-opt",
            "-e",
            "--env",
            "--name",
            "-p",
            "--publish",
            "-w",
            "--workdir",
            "-u",
            "--user",
            "--entrypoint",
        ],
        forms: &[
            when(&["run"], HasOption(&["--privileged", "--device"]), LEAVES_CONTAINER),
            when(&["create"], HasOption(&["--privileged", "--device"]), LEAVES_CONTAINER),
            when(&["exec"], HasOption(&["--privileged"]), LEAVES_CONTAINER),
            when(
                &["run"],
                ValueStarts(
                    &["--pid", "--ipc", "--uts", "--userns", "--net", "--network"],
                    &["host"],
                ),
                LEAVES_CONTAINER,
            ),
            when(
                &["run"],
                ValueStarts(&["--cap-add"], &["all", "sys_", "cap_sys_", "dac_", "net_admin"]),
                LEAVES_CONTAINER,
            ),
            when(
                &["run"],
                ValueStarts(
                    &["-v", "--volume"],
                    &[
                        "/:",
                        "/etc",
                        "/root",
                        "/proc",
                        "/sys",
                        "/var/run/docker.sock",
                        "/run/docker.sock",
                        "/home:",
                        "/boot",
                    ],
                ),
                LEAVES_CONTAINER,
            ),
            when(
                &["run"],
                ValueStarts(
                    &["--security-opt"],
                    &["seccomp=unconfined", "apparmor=unconfined", "label=disable"],
                ),
                LEAVES_CONTAINER,
            ),
            when(&[], HasOption(&["-H", "--host"]), "talks to another machine"),
            always(&["login"], CHANGES_CREDENTIAL),
            always(&["push"], PUBLISHES),
            always(&["image", "push"], PUBLISHES),
            always(&["system", "prune"], DELETES),
            always(&["volume", "rm"], DELETES),
            always(&["volume", "prune"], DELETES),
        ],
    },
    ProgramPolicy {
        names: &["kubectl", "oc"],
        valued: &[
            "-n",
            "--namespace",
            "--context",
            "--cluster",
            "--kubeconfig",
            "--user",
            "-s",
            "--server",
            "--token",
            "--as",
            "-o",
            "--output",
        ],
        forms: &[
            always(&["delete"], DELETES),
            always(&["drain"], "stops what runs for others"),
            always(&["exec"], "runs commands on other machines"),
            always(&["cp"], "copies files from and to other machines"),
            always(&["get", "secret"], PRINTS_CREDENTIAL),
            always(&["get", "secrets"], PRINTS_CREDENTIAL),
            always(&["create", "token"], PRINTS_CREDENTIAL),
            when(&["config", "view"], HasOption(&["--raw"]), PRINTS_CREDENTIAL),
            always(&["config", "set-credentials"], CHANGES_CREDENTIAL),
            always(&["create", "clusterrolebinding"], CHANGES_CREDENTIAL),
        ],
    },
    ProgramPolicy {
        names: &["helm"],
        valued: &["-n", "--namespace", "--kube-context", "--kubeconfig"],
        forms: &[
            always(&["uninstall"], DELETES),
            always(&["delete"], DELETES),
            always(&["plugin", "install"], RUNS_OPTION),
            always(&["push"], PUBLISHES),
        ],
    },
    ProgramPolicy {
        names: &["aws"],
        valued: &[
            "--profile",
            "--region",
            "--output",
            "--query",
            "--endpoint-url",
            "--ca-bundle",
            "--color",
        ],
        forms: &[
            when(&["s3", "rm"], HasOption(&["--recursive"]), DELETES),
            when(&["s3", "rb"], HasOption(&["--force"]), DELETES),
            when(&["s3", "sync"], HasOption(&["--delete"]), DELETES),
            always(&["iam", "create-access-key"], CHANGES_CREDENTIAL),
            always(&["iam", "create-user"], CHANGES_CREDENTIAL),
            always(&["iam", "create-login-profile"], CHANGES_CREDENTIAL),
            always(&["iam", "attach-user-policy"], CHANGES_CREDENTIAL),
            always(&["iam", "attach-role-policy"], CHANGES_CREDENTIAL),
            always(&["iam", "put-user-policy"], CHANGES_CREDENTIAL),
            always(&["sts", "get-session-token"], PRINTS_CREDENTIAL),
            always(&["sts", "assume-role"], PRINTS_CREDENTIAL),
            always(&["secretsmanager", "get-secret-value"], PRINTS_CREDENTIAL),
            always(&["configure", "export-credentials"], PRINTS_CREDENTIAL),
            always(&["configure", "get"], PRINTS_CREDENTIAL),
            always(&["ec2", "terminate-instances"], DELETES),
            always(&["rds", "delete-db-instance"], DELETES),
            always(&["cloudformation", "delete-stack"], DELETES),
        ],
    },
    ProgramPolicy {
        names: &["gcloud"],
        valued: &["--project", "--account", "--configuration", "--format", "--region", "--zone"],
        forms: &[
            always(&["auth", "print-access-token"], PRINTS_CREDENTIAL),
            always(&["auth", "print-identity-token"], PRINTS_CREDENTIAL),
            always(&["auth", "application-default", "print-access-token"], PRINTS_CREDENTIAL),
            always(&["iam", "service-accounts", "keys", "create"], CHANGES_CREDENTIAL),
            always(&["projects", "delete"], DELETES),
            always(&["projects", "add-iam-policy-binding"], CHANGES_CREDENTIAL),
            always(&["sql", "instances", "delete"], DELETES),
            always(&["compute", "instances", "delete"], DELETES),
        ],
    },
    ProgramPolicy {
        names: &["az"],
        valued: &[
            "--subscription",
            "-g",
            "--resource-group",
            "-n",
            "--name",
            "-o",
            "--output",
            "--query",
        ],
        forms: &[
            always(&["account", "get-access-token"], PRINTS_CREDENTIAL),
            always(&["ad", "sp", "create-for-rbac"], CHANGES_CREDENTIAL),
            always(&["role", "assignment", "create"], CHANGES_CREDENTIAL),
            always(&["keyvault", "secret", "show"], PRINTS_CREDENTIAL),
            always(&["group", "delete"], DELETES),
            always(&["vm", "delete"], DELETES),
        ],
    },
    ProgramPolicy {
        names: &["terraform", "tofu", "pulumi"],
        valued: &["-chdir", "--cwd", "-s", "--stack"],
        forms: &[
            always(&["destroy"], DELETES),
            when(&["apply"], HasOption(&["-destroy", "--destroy"]), DELETES),
            always(&["stack", "rm"], DELETES),
        ],
    },
    ProgramPolicy {
        names: &["ssh", "scp", "sftp"],
        valued: &[
            "-o", "-F", "-i", "-p", "-P", "-l", "-J", "-L", "-R", "-D", "-W", "-b", "-c", "-e",
            "-E", "-I", "-m", "-O", "-Q", "-S", "-w",
        ],
        forms: &[
            when(
                &[],
                ValueStarts(
                    &["-o"],
                    &["proxycommand", "localcommand", "permitlocalcommand", "knownhostscommand"],
                ),
                RUNS_OPTION,
            ),
            when(&[], HasOption(&["-R"]), "opens this machine to others"),
            when(&[], HasOption(&["-F"]), RUNS_OPTION),
        ],
    },
    ProgramPolicy {
        names: &["security"],
        valued: &["-a", "-s", "-l"],
        forms: &[
            always(&["dump-keychain"], PRINTS_CREDENTIAL),
            always(&["export"], PRINTS_CREDENTIAL),
            when(&["find-generic-password"], HasOption(&["-w", "-g"]), PRINTS_CREDENTIAL),
            when(&["find-internet-password"], HasOption(&["-w", "-g"]), PRINTS_CREDENTIAL),
        ],
    },
];
