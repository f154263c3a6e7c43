//! Which changes of a run are applied, mentioned, asked about or refused.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use prowess_policy::changes::{
    ChangeContext, ChangeVerdict, HARMLESS_HIDDEN, ProposedChange, ProposedEntry, examine,
};

const PROJECT: &str = "/home/ada/project";

fn is_dot_git(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git") || name == b"git~1"
}

fn verdict_of(path: &str, after: Option<ProposedEntry<'_>>, git: bool) -> ChangeVerdict {
    let writable = [PathBuf::from(PROJECT)];
    let search_path = [PathBuf::from("/usr/bin"), PathBuf::from("/home/ada/project/tools")];
    let named_by_git = [PathBuf::from("/home/ada/project/scripts/hooks")];
    let bare = [PathBuf::from("/home/ada/project/mirror")];
    let environments = [PathBuf::from("/home/ada/project/env")];
    let context = ChangeContext {
        home: Path::new("/home/ada"),
        search_path: &search_path,
        writable: &writable,
        named_by_git: &named_by_git,
        bare_repositories: &bare,
        environments: &environments,
        may_start_git: git,
        is_dot_git,
    };
    let change = ProposedChange {
        folder: Path::new(PROJECT),
        path: Path::new(path),
        after,
        was_executable: false,
    };
    examine(&change, &context)
}

const FILE: Option<ProposedEntry<'static>> = Some(ProposedEntry::File { mode: 0o644 });
const FOLDER: Option<ProposedEntry<'static>> = Some(ProposedEntry::Folder);

fn word(verdict: ChangeVerdict) -> &'static str {
    match verdict {
        ChangeVerdict::Apply => "apply",
        ChangeVerdict::Mention(_) => "mention",
        ChangeVerdict::Ask(_) => "ask",
        ChangeVerdict::Refuse(_) => "refuse",
    }
}

#[test]
fn the_repository_of_a_linked_worktree_is_one_too() {
    let folders = [PathBuf::from("/repo/.git/worktrees/w"), PathBuf::from("/repo/.git/objects")];
    let verdict = |folder: usize, path: &str, after, may_start_git| {
        let context = ChangeContext {
            home: Path::new("/home/ada"),
            search_path: &[],
            writable: &folders,
            named_by_git: &[],
            bare_repositories: &[],
            environments: &[],
            may_start_git,
            is_dot_git,
        };
        let folder = &folders[folder];
        let change = ProposedChange { folder, path: Path::new(path), after, was_executable: false };
        word(examine(&change, &context))
    };
    for path in ["index", "HEAD", "logs/HEAD", "COMMIT_EDITMSG"] {
        assert_eq!(verdict(0, path, FILE, true), "apply", "{path}");
        assert_eq!(verdict(0, path, FILE, false), "ask", "{path}");
    }
    assert_eq!(verdict(0, "commondir", FILE, true), "ask");
    assert_eq!(verdict(1, "ab/cdef", FILE, true), "apply");
    assert_eq!(verdict(1, "info/alternates", FILE, true), "ask");
    let link = Some(ProposedEntry::Link(Path::new("/etc/passwd")));
    assert_eq!(verdict(0, "logs/HEAD", link, true), "refuse");
}

#[test]
fn ordinary_files_are_applied_and_others_asked_about() {
    let cases = [
        ("src/main.rs", "apply"),
        ("package.json", "mention"),
        ("Makefile", "mention"),
        ("target/debug/.fingerprint/x", "apply"),
        (".gitignore", "apply"),
        (".pytest_cache/v/x", "apply"),
        // What others start or obey.
        (".vscode/tasks.json", "ask"),
        ("sub/.envrc", "ask"),
        (".claude/settings.json", "ask"),
        ("a/.cargo/config.toml", "ask"),
        ("x.code-workspace", "ask"),
        (".venv/pyvenv.cfg", "ask"),
        ("venv/lib/python3.12/site-packages/x.pth", "ask"),
        ("lib/sitecustomize.py", "ask"),
        ("rust-toolchain.toml", "ask"),
        ("mise.toml", "ask"),
        (".npmrc", "ask"),
        (".yarnrc.yml", "ask"),
        ("tools/new", "ask"),
        ("scripts/hooks/pre-commit", "ask"),
        // Hidden and on no list.
        (".brand-new-tool", "ask"),
        ("a/.brand-new-tool/settings", "ask"),
        // Of a repository.
        (".git/index", "ask"),
        (".git", "ask"),
        ("sub/.GIT/config", "ask"),
        ("git~1/config", "ask"),
    ];
    for (path, expected) in cases {
        assert_eq!(word(verdict_of(path, FILE, false)), expected, "{path}");
    }
}

/// Ways to leave something that another program of the user starts or obeys. Most hidden ones are on no list.
const TRAPS: &str = "
    .envrc .env .env.local .direnv/bin/x .autoenv .in .out .inputrc .bashrc .profile .zshrc .tmux.conf .netrc .curlrc .wgetrc
    .vimrc .exrc .nvim.lua .lvimrc _vimrc .dir-locals.el .dir-locals-2.el .helix/config.toml .zed/tasks.json x.sublime-project
    .idea/workspace.xml .vscode/settings.json .fleet/run.json .clangd .ycm_extra_conf.py .luarc.json rust-analyzer.toml
    .devcontainer/devcontainer.json a/b/x.code-workspace omnisharp.json .project .settings/x .metals/x
    .claude/settings.json .claude/skills/x/SKILL.md .mcp.json .cursor/mcp.json .cursorrules .clinerules .goosehints
    .agents/skills/x/SKILL.md .amp/settings.json CLAUDE.md sub/AGENTS.md GEMINI.md opencode.jsonc .aider.conf.yml
    .npmrc .yarnrc.yml .yarn/releases/yarn.cjs .pnpmfile.cjs .pnp.cjs pnpm-workspace.yaml .babelrc .eslintrc.js .swcrc
    .husky/pre-commit lefthook.yml lefthook-local.yml .pre-commit-config.yaml prek.toml .overcommit.yml .lintstagedrc
    commitlint.config.js .github/workflows/x.yml .gitlab-ci.yml .circleci/config.yml .gitmodules sub/.gitattributes
    .venv/bin/python env/bin/python env/lib/x.py lib/python3.12/site-packages/x.py a.pth __editable__.x.pth sitecustomize.py
    python312._pth pip.conf uv.toml poetry.toml .condarc conda-meta/state etc/conda/activate.d/x.sh pip.py venv/__main__.py
    json.py jupyter_server_config.py ipython_config.py .python-version .pdbrc .pryrc .irbrc .gemrc .bundle/config .rspec
    .Rprofile .Renviron .ghci .ocamlinit .iex.exs .erlang .perltidyrc .user.ini php.ini startup.m .octaverc
    .cargo/config.toml rust-toolchain .bazelrc tools/bazel .mvn/extensions.xml gradle/wrapper/gradle-wrapper.properties
    gradle.properties local.properties .sdkmanrc .nvmrc .tool-versions mise.toml mise/config.toml .config/mise.toml .volta
    devbox.json flake.nix shell.nix devenv.nix global.json NuGet.config NUGET.CONFIG docker-compose.override.yml
    compose.override.yaml override.tf net_override.tf ansible.cfg .terraformrc .kube/config .aws/config .docker/config.json
    .config/systemd/user/x.service .config/autostart/x.desktop x.desktop autorun.inf .ssh/authorized_keys
    .hg/hgrc .jj/repo/config.toml .svn/config _darcs/prefs/prefs .git .git/config sub/.git/hooks/x .GIT/config git~1/config
    mirror mirror/config mirror/hooks/post-update mirror/HEAD tools/cargo scripts/hooks/pre-commit
";

/// What builds, formatters and reports leave.
const ORDINARY: &str = "
    src/main.rs src/lib/json.py docs/report.html report.md out.csv target/debug/deps/x.d target/.rustc_info.json
    target/debug/.fingerprint/x/y target/debug/.cargo-lock target/CACHEDIR.TAG dist/app.js dist/app.js.map node_modules/x/index.js
    build/lib/x.o __pycache__/x.cpython-312.pyc .pytest_cache/v/cache/lastfailed .mypy_cache/3.12/x.json .ruff_cache/0.1/x
    .coverage .coverage.host.123 htmlcov/index.html .eslintcache .parcel-cache/x .turbo/x .cache/x .gitignore sub/.gitkeep
    .editorconfig .prettierignore .dockerignore .DS_Store Cargo.toml Cargo.lock package-lock.json go.mod requirements.txt
    README.md CHANGELOG.md Dockerfile data.sqlite image.png scripts/deploy.sh bin/tool config.toml settings.json
    environments/prod.yaml mirrors/x gitconfig agents.md.txt hooks/useThing.ts .nojekyll
";

#[test]
fn what_other_programs_start_or_obey_is_never_applied_without_a_question() {
    for path in TRAPS.split_whitespace() {
        assert_eq!(word(verdict_of(path, FILE, false)), "ask", "{path}");
        // Git is no reason to trust what else is left.
        let is_of_git = ["mirror/HEAD"].contains(&path);
        assert!(is_of_git || word(verdict_of(path, FILE, true)) == "ask", "{path}");
        // Neither by another name.
        let target = PathBuf::from(PROJECT).join(path);
        let link = Some(ProposedEntry::Link(&target));
        assert_eq!(word(verdict_of("notes.txt", link, true)), "ask", "{path}");
    }
}

#[test]
fn ordinary_work_is_applied_without_a_question() {
    for path in ORDINARY.split_whitespace() {
        assert_eq!(word(verdict_of(path, FILE, false)), "apply", "{path}");
        let target = PathBuf::from(PROJECT).join(path);
        let link = Some(ProposedEntry::Link(&target));
        assert_eq!(word(verdict_of("latest", link, false)), "apply", "{path}");
    }
    // Sources that builds and tests run are mentioned.
    for path in ["Makefile", "sub/conftest.py", "package.json", "build.rs", "eslint.config.mjs"] {
        assert_eq!(word(verdict_of(path, FILE, false)), "mention", "{path}");
    }
}

#[test]
fn tools_that_start_git_may_change_what_git_keeps() {
    let cases = [
        (".git/index", FILE, "apply"),
        (".git/refs/heads/main", FILE, "apply"),
        (".git/objects/ab/cdef", FILE, "apply"),
        (".git/logs/HEAD", FILE, "apply"),
        (".git/rebase-merge/git-rebase-todo", FILE, "apply"),
        ("vendor/x/.git", FOLDER, "apply"),
        ("vendor/x/.git/hooks/pre-commit.sample", FILE, "apply"),
        ("vendor/x/.git/info/exclude", FILE, "apply"),
        // Settings, hooks, other repositories.
        (".git/config", FILE, "ask"),
        (".git/hooks/pre-commit", FILE, "ask"),
        (".git/objects/info/alternates", FILE, "ask"),
        (".git/commondir", FILE, "ask"),
        (".git/unknown", FILE, "ask"),
        (".git/info/attributes", FILE, "ask"),
        (".git/info/grafts", FILE, "ask"),
        // Linked worktrees have an index and logs of their own; where they lead is examined elsewhere.
        (".git/info/refs", FILE, "apply"),
        (".git/worktrees", FOLDER, "apply"),
        (".git/worktrees/w", FOLDER, "apply"),
        (".git/worktrees/w/index", FILE, "apply"),
        (".git/worktrees/w/logs/HEAD", FILE, "apply"),
        (".git/worktrees/w/gitdir", FILE, "ask"),
        (".git/worktrees/w/commondir", FILE, "ask"),
        (".git/worktrees/w/config.worktree", FILE, "ask"),
        (".git/worktrees", FILE, "ask"),
        // A repository by another name.
        ("mirror/refs/heads/main", FILE, "apply"),
        ("mirror/config", FILE, "ask"),
        ("mirror/hooks/update", FILE, "ask"),
        ("mirror/hooks/update.sample", FILE, "apply"),
        ("mirror/refs/x", Some(ProposedEntry::Link(Path::new("y"))), "refuse"),
        ("sub/.git", FILE, "ask"),
        (".GIT/index", FILE, "ask"),
        // Git writes through links.
        (".git/logs/HEAD", Some(ProposedEntry::Link(Path::new("../../.profile"))), "refuse"),
        (".git/index", Some(ProposedEntry::Link(Path::new("index2"))), "refuse"),
        // Deleting a repository is asked about, deleting a branch is not.
        (".git", None, "ask"),
        (".git/refs/heads/old", None, "apply"),
    ];
    for (path, after, expected) in cases {
        assert_eq!(word(verdict_of(path, after, true)), expected, "{path} {after:?}");
    }
}

#[test]
fn links_that_lead_out_are_asked_about() {
    let cases = [
        ("a/link", "b", "apply"),
        ("a/link", "../b/c", "apply"),
        ("a/link", "/home/ada/project/x", "apply"),
        ("a/link", "../..", "ask"),
        ("link", "../other", "ask"),
        ("link", "/etc/passwd", "ask"),
        ("link", "a/../../x", "ask"),
        ("link", "/home/ada/project2", "ask"),
    ];
    for (path, target, expected) in cases {
        let after = Some(ProposedEntry::Link(Path::new(target)));
        assert_eq!(word(verdict_of(path, after, false)), expected, "{path} {target}");
    }
}

#[test]
fn deletions_and_executables() {
    assert_eq!(word(verdict_of("a", None, false)), "apply");
    assert_eq!(word(verdict_of(".vscode/tasks.json", None, false)), "apply");
    assert_eq!(word(verdict_of(".git/hooks/x", None, false)), "ask");
    assert_eq!(word(verdict_of("tools/program", None, false)), "ask");
    let executable = Some(ProposedEntry::File { mode: 0o755 });
    assert_eq!(word(verdict_of("build/program", executable, false)), "mention");
    assert_eq!(word(verdict_of(".git/index", executable, false)), "ask");
}

#[test]
fn reasons_can_stand_after_because() {
    for path in [".vscode/x", ".git/config", ".unknown", "tools/x", "mise.toml"] {
        let reason = verdict_of(path, FILE, true).reason().expect("there is one");
        assert!(reason.starts_with(|first: char| first.is_lowercase()) && !reason.ends_with('.'));
    }
}

proptest! {
    /// A hidden name that is on no list is never applied without a question, wherever it is.
    #[test]
    fn what_is_hidden_and_unknown_is_asked_about(
        above in prop::collection::vec("[a-z]{1,8}", 0..4),
        name in "\\.[a-z]{1,12}",
        below in prop::collection::vec("[a-z.]{1,8}", 0..3),
    ) {
        prop_assume!(!HARMLESS_HIDDEN.contains(&name.as_str()) && name != ".git");
        prop_assume!(!below.iter().any(|part| part == "." || part == ".."));
        let path: PathBuf = above.iter().chain([&name]).chain(&below).collect();
        let path = path.to_str().expect("text");
        prop_assert_eq!(word(verdict_of(path, FILE, true)), "ask");
        prop_assert_eq!(word(verdict_of(path, FOLDER, false)), "ask");
    }
}
