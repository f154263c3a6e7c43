//! Protected locations that wider grants do not include: stored keys, and files that are executed
//! later on someone's behalf. Each entry has a reason.

/// A location that wider grants do not include.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protected {
    /// A path below every home directory.
    BelowHome(&'static str),
    /// Consecutive path components at any depth; a name that begins with `*` matches every name
    /// with that suffix, and one that ends with `*` every longer name with that prefix.
    AnyDepth(&'static str),
    /// An absolute path.
    Machine(&'static str),
}

/// A protected location, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProtectedPlace {
    /// The location.
    pub protected: Protected,
    /// The reason, as a clause: "because …".
    pub why: &'static str,
}

impl ProtectedPlace {
    const fn home(place: &'static str, why: &'static str) -> Self {
        Self { protected: Protected::BelowHome(place), why }
    }

    const fn row(place: &'static str, why: &'static str) -> Self {
        Self { protected: Protected::AnyDepth(place), why }
    }

    const fn machine(place: &'static str, why: &'static str) -> Self {
        Self { protected: Protected::Machine(place), why }
    }
}

/// Locations of keys and passwords. A grant only opens one by naming it: `~/**` and `/etc/**` do
/// not. Reading them requires a confirmation by a person.
pub const SECRET_PLACES: &[ProtectedPlace] = &[
    // Of every user.
    ProtectedPlace::home(".ssh", SSH_KEYS),
    ProtectedPlace::home(".gnupg", KEYS),
    ProtectedPlace::home(".password-store", KEYS),
    ProtectedPlace::home(".local/share/keyrings", KEYS),
    ProtectedPlace::home("Library/Keychains", KEYS),
    ProtectedPlace::home(".aws", CLOUD_KEYS),
    ProtectedPlace::home(".azure", CLOUD_KEYS),
    ProtectedPlace::home(".kube", CLOUD_KEYS),
    ProtectedPlace::home(".docker", CLOUD_KEYS),
    ProtectedPlace::home(".config/gcloud", CLOUD_KEYS),
    ProtectedPlace::home(".netrc", LOGINS),
    ProtectedPlace::home(".git-credentials", LOGINS),
    ProtectedPlace::home(".npmrc", LOGINS),
    ProtectedPlace::home(".pypirc", LOGINS),
    ProtectedPlace::home(".cargo/credentials.toml", LOGINS),
    ProtectedPlace::home(".config/gh", LOGINS),
    ProtectedPlace::home(".config/op", LOGINS),
    ProtectedPlace::home(".mozilla", BROWSERS),
    ProtectedPlace::home(".config/google-chrome", BROWSERS),
    ProtectedPlace::home(".config/chromium", BROWSERS),
    ProtectedPlace::home(".config/BraveSoftware", BROWSERS),
    ProtectedPlace::home(".config/microsoft-edge", BROWSERS),
    ProtectedPlace::home(".config/vivaldi", BROWSERS),
    ProtectedPlace::home(".config/opera", BROWSERS),
    ProtectedPlace::home(".thunderbird", BROWSERS),
    ProtectedPlace::home(".config/Signal", BROWSERS),
    ProtectedPlace::home(".config/Slack", BROWSERS),
    ProtectedPlace::home(".config/discord", BROWSERS),
    ProtectedPlace::home(".pgpass", LOGINS),
    ProtectedPlace::home(".my.cnf", LOGINS),
    ProtectedPlace::home(".mylogin.cnf", LOGINS),
    ProtectedPlace::home(".vault-token", LOGINS),
    ProtectedPlace::home(".config/git/credentials", LOGINS),
    ProtectedPlace::home(".config/hub", LOGINS),
    ProtectedPlace::home(".config/glab-cli", LOGINS),
    ProtectedPlace::home(".config/github-copilot", LOGINS),
    ProtectedPlace::home(".claude.json", LOGINS),
    ProtectedPlace::home(".claude/.credentials.json", LOGINS),
    ProtectedPlace::home(".codex/auth.json", LOGINS),
    ProtectedPlace::home(".gemini/oauth_creds.json", LOGINS),
    ProtectedPlace::home(".local/share/opencode/auth.json", LOGINS),
    ProtectedPlace::home(".cache/huggingface/token", LOGINS),
    ProtectedPlace::home(".gem/credentials", LOGINS),
    ProtectedPlace::home(".m2/settings.xml", LOGINS),
    ProtectedPlace::home(".gradle/gradle.properties", LOGINS),
    ProtectedPlace::home(".composer/auth.json", LOGINS),
    ProtectedPlace::home(".terraform.d/credentials.tfrc.json", LOGINS),
    ProtectedPlace::home(".terraformrc", LOGINS),
    ProtectedPlace::home(".config/rclone", CLOUD_KEYS),
    ProtectedPlace::home(".config/doctl", CLOUD_KEYS),
    ProtectedPlace::home(".config/sops", CLOUD_KEYS),
    ProtectedPlace::home(".oci", CLOUD_KEYS),
    ProtectedPlace::home(".s3cfg", CLOUD_KEYS),
    ProtectedPlace::home(".boto", CLOUD_KEYS),
    ProtectedPlace::home(".fly", CLOUD_KEYS),
    ProtectedPlace::home(".bash_history", HISTORIES),
    ProtectedPlace::home(".zsh_history", HISTORIES),
    ProtectedPlace::home(".histfile", HISTORIES),
    ProtectedPlace::home(".local/share/fish/fish_history", HISTORIES),
    ProtectedPlace::home(".python_history", HISTORIES),
    ProtectedPlace::home(".node_repl_history", HISTORIES),
    ProtectedPlace::home(".psql_history", HISTORIES),
    ProtectedPlace::home(".mysql_history", HISTORIES),
    ProtectedPlace::home(".sqlite_history", HISTORIES),
    ProtectedPlace::home(".rediscli_history", HISTORIES),
    ProtectedPlace::home(".lesshst", HISTORIES),
    ProtectedPlace::home(".viminfo", HISTORIES),
    // Of every project.
    ProtectedPlace::row(".env", ENVIRONMENT_KEYS),
    ProtectedPlace::row(".env.*", ENVIRONMENT_KEYS),
    // System-wide. Most of it is only readable by root, but root runs tools too.
    ProtectedPlace::machine("/etc/shadow", PASSWORDS),
    ProtectedPlace::machine("/etc/shadow-", PASSWORDS),
    ProtectedPlace::machine("/etc/gshadow", PASSWORDS),
    ProtectedPlace::machine("/etc/gshadow-", PASSWORDS),
    ProtectedPlace::machine("/etc/security/opasswd", PASSWORDS),
    ProtectedPlace::machine("/etc/master.passwd", PASSWORDS),
    ProtectedPlace::machine("/etc/sudoers", POWERS),
    ProtectedPlace::machine("/etc/sudoers.d", POWERS),
    ProtectedPlace::machine("/etc/doas.conf", POWERS),
    ProtectedPlace::machine("/etc/ssh", HOST_KEYS),
    ProtectedPlace::machine("/etc/ssl/private", HOST_KEYS),
    ProtectedPlace::machine("/etc/pki/tls/private", HOST_KEYS),
    ProtectedPlace::machine("/etc/letsencrypt", HOST_KEYS),
    ProtectedPlace::machine("/etc/krb5.keytab", HOST_KEYS),
    ProtectedPlace::machine("/var/lib/sss", HOST_KEYS),
    ProtectedPlace::machine("/etc/wireguard", NETWORK_KEYS),
    ProtectedPlace::machine("/etc/openvpn", NETWORK_KEYS),
    ProtectedPlace::machine("/etc/ipsec.secrets", NETWORK_KEYS),
    ProtectedPlace::machine("/etc/ppp", NETWORK_KEYS),
    ProtectedPlace::machine("/etc/wpa_supplicant", NETWORK_KEYS),
    ProtectedPlace::machine("/etc/NetworkManager/system-connections", NETWORK_KEYS),
    ProtectedPlace::machine("/var/lib/iwd", NETWORK_KEYS),
    ProtectedPlace::machine("/etc/kubernetes", CLOUD_KEYS),
    ProtectedPlace::machine("/etc/rancher", CLOUD_KEYS),
    ProtectedPlace::machine("/var/lib/kubelet", CLOUD_KEYS),
    ProtectedPlace::machine("/run/secrets", CLOUD_KEYS),
    ProtectedPlace::machine("/var/run/secrets", CLOUD_KEYS),
    ProtectedPlace::machine("/root", ROOT),
    ProtectedPlace::machine("/var/root", ROOT),
    ProtectedPlace::machine("/private/var/root", ROOT),
];

/// Names that look like a location of keys and hold examples.
pub const WITHOUT_SECRETS: &[&str] = &[".env.example", ".env.sample", ".env.template"];

/// Locations whose files are executed later, on someone else's behalf (attack sandbox-A10).
pub const NEVER_WRITE: &[ProtectedPlace] = &[
    ProtectedPlace::row(".git/hooks", GIT),
    ProtectedPlace::row(".git/config", GIT),
    ProtectedPlace::row(".git/modules", GIT),
    // Where git looks for other parts of a repository, and more settings that name programs.
    ProtectedPlace::row(".git/commondir", GIT),
    ProtectedPlace::row(".git/config.worktree", GIT),
    ProtectedPlace::row(".git/worktrees", GIT),
    // Hooks in a project, and settings of other version control systems.
    ProtectedPlace::row(".githooks", HOOKS),
    ProtectedPlace::row(".husky", HOOKS),
    ProtectedPlace::row(".hg/hgrc", HOOKS),
    ProtectedPlace::row(".jj/repo/config.toml", HOOKS),
    // Editors: tasks and settings that name programs, run when the folder is opened.
    ProtectedPlace::row(".vscode", EDITORS),
    ProtectedPlace::row("*.code-workspace", EDITORS),
    ProtectedPlace::row(".idea", EDITORS),
    ProtectedPlace::row(".zed", EDITORS),
    ProtectedPlace::row(".fleet", EDITORS),
    ProtectedPlace::row(".nova", EDITORS),
    ProtectedPlace::row(".vs", EDITORS),
    ProtectedPlace::row(".devcontainer", EDITORS),
    ProtectedPlace::row(".devcontainer.json", EDITORS),
    ProtectedPlace::row(".exrc", EDITORS),
    ProtectedPlace::row(".vimrc", EDITORS),
    ProtectedPlace::row(".nvimrc", EDITORS),
    ProtectedPlace::row(".nvim.lua", EDITORS),
    ProtectedPlace::row(".dir-locals.el", EDITORS),
    // Agents: servers and hooks that they start.
    ProtectedPlace::row(".mcp.json", AGENTS),
    ProtectedPlace::row(".claude", AGENTS),
    ProtectedPlace::row(".cursor", AGENTS),
    ProtectedPlace::row(".windsurf", AGENTS),
    ProtectedPlace::row(".gemini", AGENTS),
    ProtectedPlace::row(".codex", AGENTS),
    ProtectedPlace::row(".kiro", AGENTS),
    ProtectedPlace::row(".qwen", AGENTS),
    ProtectedPlace::row(".roo", AGENTS),
    ProtectedPlace::row(".continue", AGENTS),
    ProtectedPlace::row(".amazonq", AGENTS),
    ProtectedPlace::row(".junie", AGENTS),
    ProtectedPlace::row(".trae", AGENTS),
    ProtectedPlace::row(".opencode", AGENTS),
    ProtectedPlace::row("opencode.json", AGENTS),
    ProtectedPlace::row(".aider.conf.yml", AGENTS),
    ProtectedPlace::row(".prowess", AGENTS),
    // Shells, debuggers and interpreters that read a file of the folder they are started in, and Cargo's choice of programs.
    ProtectedPlace::row(".envrc", SHELLS),
    ProtectedPlace::row(".gdbinit", INTERPRETERS),
    ProtectedPlace::row(".lldbinit", INTERPRETERS),
    ProtectedPlace::row(".pdbrc", INTERPRETERS),
    ProtectedPlace::row(".irbrc", INTERPRETERS),
    ProtectedPlace::row(".pryrc", INTERPRETERS),
    ProtectedPlace::row(".Rprofile", INTERPRETERS),
    ProtectedPlace::row(".cargo/config.toml", BUILDS),
    ProtectedPlace::row(".cargo/config", BUILDS),
    // Start files of shells and sessions, of every home.
    ProtectedPlace::home(".bashrc", SHELLS),
    ProtectedPlace::home(".bash_profile", SHELLS),
    ProtectedPlace::home(".bash_login", SHELLS),
    ProtectedPlace::home(".bash_logout", SHELLS),
    ProtectedPlace::home(".bash_aliases", SHELLS),
    ProtectedPlace::home(".bash_completion", SHELLS),
    ProtectedPlace::home(".profile", SHELLS),
    ProtectedPlace::home(".zshrc", SHELLS),
    ProtectedPlace::home(".zshenv", SHELLS),
    ProtectedPlace::home(".zprofile", SHELLS),
    ProtectedPlace::home(".zlogin", SHELLS),
    ProtectedPlace::home(".zlogout", SHELLS),
    ProtectedPlace::home(".zsh", SHELLS),
    ProtectedPlace::home(".oh-my-zsh", SHELLS),
    ProtectedPlace::home(".kshrc", SHELLS),
    ProtectedPlace::home(".mkshrc", SHELLS),
    ProtectedPlace::home(".cshrc", SHELLS),
    ProtectedPlace::home(".tcshrc", SHELLS),
    ProtectedPlace::home(".login", SHELLS),
    ProtectedPlace::home(".logout", SHELLS),
    ProtectedPlace::home(".config/fish", SHELLS),
    ProtectedPlace::home(".config/nushell", SHELLS),
    ProtectedPlace::home(".config/zsh", SHELLS),
    ProtectedPlace::home(".config/bash", SHELLS),
    ProtectedPlace::home(".config/direnv", SHELLS),
    ProtectedPlace::home(".config/mise", SHELLS),
    ProtectedPlace::home(".config/starship.toml", SHELLS),
    ProtectedPlace::home(".local/share/bash-completion", SHELLS),
    ProtectedPlace::home(".cargo/env", SHELLS),
    ProtectedPlace::home(".pam_environment", SESSION),
    ProtectedPlace::home(".xprofile", SESSION),
    ProtectedPlace::home(".xsession", SESSION),
    ProtectedPlace::home(".xsessionrc", SESSION),
    ProtectedPlace::home(".xinitrc", SESSION),
    ProtectedPlace::home(".Xresources", SESSION),
    ProtectedPlace::home(".config/environment.d", SESSION),
    ProtectedPlace::home(".config/autostart", SESSION),
    ProtectedPlace::home(".config/plasma-workspace", SESSION),
    ProtectedPlace::home(".config/systemd", SESSION),
    ProtectedPlace::home(".config/i3", SESSION),
    ProtectedPlace::home(".config/sway", SESSION),
    ProtectedPlace::home(".config/hypr", SESSION),
    ProtectedPlace::home(".local/share/systemd", SESSION),
    ProtectedPlace::home(".local/share/dbus-1", SESSION),
    ProtectedPlace::home(".local/share/applications", SESSION),
    ProtectedPlace::home(".local/share/xdg-desktop-portal", SESSION),
    ProtectedPlace::home(".config/mimeapps.list", SESSION),
    ProtectedPlace::home("Library/LaunchAgents", SESSION),
    ProtectedPlace::home(".inputrc", TERMINALS),
    ProtectedPlace::home(".tmux.conf", TERMINALS),
    ProtectedPlace::home(".config/tmux", TERMINALS),
    ProtectedPlace::home(".screenrc", TERMINALS),
    ProtectedPlace::home(".lessfilter", TERMINALS),
    ProtectedPlace::home(".config/kitty", TERMINALS),
    ProtectedPlace::home(".config/alacritty", TERMINALS),
    ProtectedPlace::home(".config/ghostty", TERMINALS),
    ProtectedPlace::home(".config/wezterm", TERMINALS),
    ProtectedPlace::home(".wezterm.lua", TERMINALS),
    // Programs on PATH, and what interpreters and builds load automatically.
    ProtectedPlace::home(".local/bin", PROGRAMS),
    ProtectedPlace::home(".cargo/bin", PROGRAMS),
    ProtectedPlace::home(".docker/cli-plugins", PROGRAMS),
    ProtectedPlace::home(".rustup", PROGRAMS),
    ProtectedPlace::home(".nvm", PROGRAMS),
    ProtectedPlace::home(".pyenv", PROGRAMS),
    ProtectedPlace::home(".rbenv", PROGRAMS),
    ProtectedPlace::home(".asdf", PROGRAMS),
    ProtectedPlace::home(".sdkman", PROGRAMS),
    ProtectedPlace::home(".deno/bin", PROGRAMS),
    ProtectedPlace::home(".bun/bin", PROGRAMS),
    ProtectedPlace::home("go/bin", PROGRAMS),
    ProtectedPlace::home(".dotnet/tools", PROGRAMS),
    ProtectedPlace::home(".local/share/mise", PROGRAMS),
    ProtectedPlace::home(".local/lib", INTERPRETERS),
    ProtectedPlace::home(".pythonrc.py", INTERPRETERS),
    ProtectedPlace::home(".pythonrc", INTERPRETERS),
    ProtectedPlace::home(".pystartup", INTERPRETERS),
    ProtectedPlace::home(".ipython", INTERPRETERS),
    ProtectedPlace::home(".jupyter", INTERPRETERS),
    ProtectedPlace::home(".perldb", INTERPRETERS),
    ProtectedPlace::home(".Renviron", INTERPRETERS),
    ProtectedPlace::home(".node_modules", INTERPRETERS),
    ProtectedPlace::home(".node_libraries", INTERPRETERS),
    ProtectedPlace::home(".config/pip", BUILDS),
    ProtectedPlace::home(".pip", BUILDS),
    ProtectedPlace::home(".config/uv", BUILDS),
    ProtectedPlace::home(".npmrc", BUILDS),
    ProtectedPlace::home(".yarnrc", BUILDS),
    ProtectedPlace::home(".yarnrc.yml", BUILDS),
    ProtectedPlace::home(".bunfig.toml", BUILDS),
    ProtectedPlace::home(".gemrc", BUILDS),
    ProtectedPlace::home(".bundle/config", BUILDS),
    ProtectedPlace::home(".m2/settings.xml", BUILDS),
    ProtectedPlace::home(".m2/extensions.xml", BUILDS),
    ProtectedPlace::home(".gradle/init.d", BUILDS),
    ProtectedPlace::home(".gradle/init.gradle", BUILDS),
    ProtectedPlace::home(".gradle/init.gradle.kts", BUILDS),
    ProtectedPlace::home(".gradle/gradle.properties", BUILDS),
    ProtectedPlace::home(".sbt", BUILDS),
    ProtectedPlace::home(".config/go", BUILDS),
    ProtectedPlace::home(".vim", EDITORS),
    ProtectedPlace::home(".gvimrc", EDITORS),
    ProtectedPlace::home(".emacs", EDITORS),
    ProtectedPlace::home(".emacs.d", EDITORS),
    ProtectedPlace::home(".nanorc", EDITORS),
    ProtectedPlace::home(".config/nvim", EDITORS),
    ProtectedPlace::home(".config/vim", EDITORS),
    ProtectedPlace::home(".config/emacs", EDITORS),
    ProtectedPlace::home(".config/helix", EDITORS),
    ProtectedPlace::home(".config/zed", EDITORS),
    ProtectedPlace::home(".config/Code", EDITORS),
    ProtectedPlace::home(".config/VSCodium", EDITORS),
    ProtectedPlace::home(".config/Cursor", EDITORS),
    ProtectedPlace::home(".config/JetBrains", EDITORS),
    ProtectedPlace::home(".vscode-server", EDITORS),
    ProtectedPlace::home(".cursor-server", EDITORS),
    ProtectedPlace::home(".claude.json", AGENTS),
    ProtectedPlace::home(".config/claude", AGENTS),
    ProtectedPlace::home(".config/opencode", AGENTS),
    ProtectedPlace::home(".config/goose", AGENTS),
    ProtectedPlace::home(".config/github-copilot", AGENTS),
    ProtectedPlace::home(".config/Claude", AGENTS),
    // Settings that name programs, and login permissions.
    ProtectedPlace::home(".gitconfig", GIT),
    ProtectedPlace::home(".config/git", GIT),
    ProtectedPlace::home(".config/hg", GIT),
    ProtectedPlace::home(".hgrc", GIT),
    ProtectedPlace::home(".config/jj", GIT),
    ProtectedPlace::home(".jjconfig.toml", GIT),
    ProtectedPlace::home(".ssh", LOGINS_TO),
    ProtectedPlace::home(".rhosts", LOGINS_TO),
    ProtectedPlace::home(".shosts", LOGINS_TO),
    ProtectedPlace::home(".k5login", LOGINS_TO),
    ProtectedPlace::home(".forward", LOGINS_TO),
    ProtectedPlace::home(".procmailrc", LOGINS_TO),
    ProtectedPlace::home(".mailcap", LOGINS_TO),
    ProtectedPlace::home(".aws/config", HELPERS),
    ProtectedPlace::home(".kube/config", HELPERS),
    ProtectedPlace::home(".docker/config.json", HELPERS),
    ProtectedPlace::home(".gnupg/gpg.conf", HELPERS),
    ProtectedPlace::home(".gnupg/gpg-agent.conf", HELPERS),
    ProtectedPlace::home(".curlrc", HELPERS),
    ProtectedPlace::home(".wgetrc", HELPERS),
    ProtectedPlace::home(".config/prowess", OURS),
    ProtectedPlace::home(".local/share/prowess", OURS),
    // System-wide. Nearly every file in /etc controls permissions or starts programs, so all of it
    // is protected.
    ProtectedPlace::machine("/etc", MACHINE),
    ProtectedPlace::machine("/private/etc", MACHINE),
    ProtectedPlace::machine("/bin", SYSTEM),
    ProtectedPlace::machine("/sbin", SYSTEM),
    ProtectedPlace::machine("/lib", SYSTEM),
    ProtectedPlace::machine("/lib32", SYSTEM),
    ProtectedPlace::machine("/lib64", SYSTEM),
    ProtectedPlace::machine("/libx32", SYSTEM),
    ProtectedPlace::machine("/usr/bin", SYSTEM),
    ProtectedPlace::machine("/usr/sbin", SYSTEM),
    ProtectedPlace::machine("/usr/lib", SYSTEM),
    ProtectedPlace::machine("/usr/lib32", SYSTEM),
    ProtectedPlace::machine("/usr/lib64", SYSTEM),
    ProtectedPlace::machine("/usr/libx32", SYSTEM),
    ProtectedPlace::machine("/usr/libexec", SYSTEM),
    ProtectedPlace::machine("/usr/share", SYSTEM),
    ProtectedPlace::machine("/usr/include", SYSTEM),
    ProtectedPlace::machine("/usr/games", SYSTEM),
    ProtectedPlace::machine("/usr/etc", SYSTEM),
    ProtectedPlace::machine("/usr/local/bin", SYSTEM),
    ProtectedPlace::machine("/usr/local/sbin", SYSTEM),
    ProtectedPlace::machine("/usr/local/lib", SYSTEM),
    ProtectedPlace::machine("/usr/local/lib64", SYSTEM),
    ProtectedPlace::machine("/usr/local/libexec", SYSTEM),
    ProtectedPlace::machine("/usr/local/share", SYSTEM),
    ProtectedPlace::machine("/usr/local/include", SYSTEM),
    ProtectedPlace::machine("/usr/local/games", SYSTEM),
    ProtectedPlace::machine("/usr/local/etc", SYSTEM),
    ProtectedPlace::machine("/nix", SYSTEM),
    ProtectedPlace::machine("/snap", SYSTEM),
    ProtectedPlace::machine("/System", SYSTEM),
    ProtectedPlace::machine("/Library", SYSTEM),
    ProtectedPlace::machine("/Applications", SYSTEM),
    ProtectedPlace::machine("/boot", KERNEL),
    ProtectedPlace::machine("/efi", KERNEL),
    ProtectedPlace::machine("/proc", KERNEL),
    ProtectedPlace::machine("/sys", KERNEL),
    ProtectedPlace::machine("/var/spool/cron", TIMERS),
    ProtectedPlace::machine("/var/spool/at", TIMERS),
    ProtectedPlace::machine("/var/spool/atjobs", TIMERS),
    ProtectedPlace::machine("/var/spool/anacron", TIMERS),
    ProtectedPlace::machine("/var/cron", TIMERS),
    ProtectedPlace::machine("/var/at", TIMERS),
    ProtectedPlace::machine("/var/lib/dpkg", PACKAGES),
    ProtectedPlace::machine("/var/lib/rpm", PACKAGES),
    ProtectedPlace::machine("/var/lib/pacman", PACKAGES),
    ProtectedPlace::machine("/var/lib/apt", PACKAGES),
    ProtectedPlace::machine("/var/cache/apt", PACKAGES),
    ProtectedPlace::machine("/var/lib/snapd", PACKAGES),
    ProtectedPlace::machine("/var/lib/flatpak", PACKAGES),
    ProtectedPlace::machine("/run/systemd", SERVICES),
    ProtectedPlace::machine("/run/udev", SERVICES),
    ProtectedPlace::machine("/var/lib/systemd", SERVICES),
    ProtectedPlace::machine("/var/lib/cloud", SERVICES),
    ProtectedPlace::machine("/var/lib/polkit-1", SERVICES),
    ProtectedPlace::machine("/var/lib/AccountsService", SERVICES),
    ProtectedPlace::machine("/var/lib/docker", SERVICES),
    ProtectedPlace::machine("/var/lib/containerd", SERVICES),
    ProtectedPlace::machine("/var/lib/containers", SERVICES),
    ProtectedPlace::machine("/var/lib/kubelet", SERVICES),
];

const KEYS: &str = "it stores keys and passwords";
const SSH_KEYS: &str = "it stores keys to other machines";
const CLOUD_KEYS: &str = "it stores keys to other machines and services";
const LOGINS: &str = "programs store passwords and tokens there";
const ENVIRONMENT_KEYS: &str = "projects store keys and passwords in it";
const HISTORIES: &str = "commands that you typed, and their passwords, are kept there";
const BROWSERS: &str = "browsers store passwords and sessions there";
const PASSWORDS: &str = "it contains the password hashes of this machine";
const POWERS: &str = "it controls who may act as root";
const HOST_KEYS: &str = "it stores the machine's own keys";
const NETWORK_KEYS: &str = "it stores network keys";
const ROOT: &str = "it is the home directory of root";
const GIT: &str = "git runs programs that it names";
const HOOKS: &str = "version control systems run programs from it";
const EDITORS: &str = "editors run programs that it names";
const AGENTS: &str = "agents start programs that it names";
const SHELLS: &str = "shells run it when they start";
const SESSION: &str = "it is read on login or when a desktop starts";
const TERMINALS: &str = "terminals and shells execute commands from it";
const PROGRAMS: &str = "it is on PATH";
const INTERPRETERS: &str = "interpreters run code from it when they start";
const BUILDS: &str = "builds and package managers run or download what it names";
const LOGINS_TO: &str = "it controls who may log in, or how mail is processed";
const HELPERS: &str = "it names programs that other programs start";
const OURS: &str = "it belongs to prowess";
const MACHINE: &str = "it contains system settings that control permissions and start programs";
const SYSTEM: &str = "it contains programs and libraries of the system";
const KERNEL: &str = "it belongs to the kernel, or is loaded at boot";
const TIMERS: &str = "it schedules programs";
const PACKAGES: &str = "package managers run code from it";
const SERVICES: &str = "system services run code from it";
