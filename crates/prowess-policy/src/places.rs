//! Protected locations that grants do not simply open: stored keys, and files that are executed
//! later on someone's behalf. Each entry has a reason.

/// A location that stays closed inside a wider grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protected {
    /// A path below every home directory.
    BelowHome(&'static str),
    /// Consecutive path components at any depth; a name that begins with `*` matches every name
    /// with that suffix.
    AnyDepth(&'static str),
    /// An absolute path.
    Machine(&'static str),
}

/// A protected location, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The location.
    pub protected: Protected,
    /// The reason, as a clause: "because …".
    pub why: &'static str,
}

impl Place {
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
pub const SECRET_PLACES: &[Place] = &[
    // Of every user.
    Place::home(".ssh", SSH_KEYS),
    Place::home(".gnupg", KEYS),
    Place::home(".password-store", KEYS),
    Place::home(".local/share/keyrings", KEYS),
    Place::home("Library/Keychains", KEYS),
    Place::home(".aws", CLOUD_KEYS),
    Place::home(".azure", CLOUD_KEYS),
    Place::home(".kube", CLOUD_KEYS),
    Place::home(".docker", CLOUD_KEYS),
    Place::home(".config/gcloud", CLOUD_KEYS),
    Place::home(".netrc", LOGINS),
    Place::home(".git-credentials", LOGINS),
    Place::home(".npmrc", LOGINS),
    Place::home(".pypirc", LOGINS),
    Place::home(".cargo/credentials.toml", LOGINS),
    Place::home(".config/gh", LOGINS),
    Place::home(".config/op", LOGINS),
    Place::home(".mozilla", BROWSERS),
    Place::home(".config/google-chrome", BROWSERS),
    Place::home(".config/chromium", BROWSERS),
    // System-wide. Most of it is only readable by root, but root runs tools too.
    Place::machine("/etc/shadow", PASSWORDS),
    Place::machine("/etc/shadow-", PASSWORDS),
    Place::machine("/etc/gshadow", PASSWORDS),
    Place::machine("/etc/gshadow-", PASSWORDS),
    Place::machine("/etc/security/opasswd", PASSWORDS),
    Place::machine("/etc/master.passwd", PASSWORDS),
    Place::machine("/etc/sudoers", POWERS),
    Place::machine("/etc/sudoers.d", POWERS),
    Place::machine("/etc/doas.conf", POWERS),
    Place::machine("/etc/ssh", HOST_KEYS),
    Place::machine("/etc/ssl/private", HOST_KEYS),
    Place::machine("/etc/pki/tls/private", HOST_KEYS),
    Place::machine("/etc/letsencrypt", HOST_KEYS),
    Place::machine("/etc/krb5.keytab", HOST_KEYS),
    Place::machine("/var/lib/sss", HOST_KEYS),
    Place::machine("/etc/wireguard", NETWORK_KEYS),
    Place::machine("/etc/openvpn", NETWORK_KEYS),
    Place::machine("/etc/ipsec.secrets", NETWORK_KEYS),
    Place::machine("/etc/ppp", NETWORK_KEYS),
    Place::machine("/etc/wpa_supplicant", NETWORK_KEYS),
    Place::machine("/etc/NetworkManager/system-connections", NETWORK_KEYS),
    Place::machine("/var/lib/iwd", NETWORK_KEYS),
    Place::machine("/etc/kubernetes", CLOUD_KEYS),
    Place::machine("/etc/rancher", CLOUD_KEYS),
    Place::machine("/var/lib/kubelet", CLOUD_KEYS),
    Place::machine("/run/secrets", CLOUD_KEYS),
    Place::machine("/var/run/secrets", CLOUD_KEYS),
    Place::machine("/root", ROOT),
    Place::machine("/var/root", ROOT),
    Place::machine("/private/var/root", ROOT),
];

/// Places that turn a file into something that runs later, in somebody else's name (attack sandbox-A10).
pub const NEVER_WRITE: &[Place] = &[
    Place::row(".git/hooks", GIT),
    Place::row(".git/config", GIT),
    Place::row(".git/modules", GIT),
    // Where git looks for other parts of a repository, and more settings that name programs.
    Place::row(".git/commondir", GIT),
    Place::row(".git/config.worktree", GIT),
    Place::row(".git/worktrees", GIT),
    // Hooks in a project, and settings of other version control systems.
    Place::row(".githooks", HOOKS),
    Place::row(".husky", HOOKS),
    Place::row(".hg/hgrc", HOOKS),
    Place::row(".jj/repo/config.toml", HOOKS),
    // Editors: tasks and settings that name programs, run when the folder is opened.
    Place::row(".vscode", EDITORS),
    Place::row("*.code-workspace", EDITORS),
    Place::row(".idea", EDITORS),
    Place::row(".zed", EDITORS),
    Place::row(".fleet", EDITORS),
    Place::row(".nova", EDITORS),
    Place::row(".vs", EDITORS),
    Place::row(".devcontainer", EDITORS),
    Place::row(".devcontainer.json", EDITORS),
    Place::row(".exrc", EDITORS),
    Place::row(".vimrc", EDITORS),
    Place::row(".nvimrc", EDITORS),
    Place::row(".nvim.lua", EDITORS),
    Place::row(".dir-locals.el", EDITORS),
    // Agents: servers and hooks that they start.
    Place::row(".mcp.json", AGENTS),
    Place::row(".claude", AGENTS),
    Place::row(".cursor", AGENTS),
    Place::row(".windsurf", AGENTS),
    Place::row(".gemini", AGENTS),
    Place::row(".codex", AGENTS),
    Place::row(".kiro", AGENTS),
    Place::row(".qwen", AGENTS),
    Place::row(".roo", AGENTS),
    Place::row(".continue", AGENTS),
    Place::row(".amazonq", AGENTS),
    Place::row(".junie", AGENTS),
    Place::row(".trae", AGENTS),
    Place::row(".opencode", AGENTS),
    Place::row("opencode.json", AGENTS),
    Place::row(".aider.conf.yml", AGENTS),
    Place::row(".prowess", AGENTS),
    // Shells, debuggers and interpreters that read a file of the folder they are started in, and Cargo's choice of programs.
    Place::row(".envrc", SHELLS),
    Place::row(".gdbinit", INTERPRETERS),
    Place::row(".lldbinit", INTERPRETERS),
    Place::row(".pdbrc", INTERPRETERS),
    Place::row(".irbrc", INTERPRETERS),
    Place::row(".pryrc", INTERPRETERS),
    Place::row(".Rprofile", INTERPRETERS),
    Place::row(".cargo/config.toml", BUILDS),
    Place::row(".cargo/config", BUILDS),
    // Start files of shells and sessions, of every home.
    Place::home(".bashrc", SHELLS),
    Place::home(".bash_profile", SHELLS),
    Place::home(".bash_login", SHELLS),
    Place::home(".bash_logout", SHELLS),
    Place::home(".bash_aliases", SHELLS),
    Place::home(".bash_completion", SHELLS),
    Place::home(".profile", SHELLS),
    Place::home(".zshrc", SHELLS),
    Place::home(".zshenv", SHELLS),
    Place::home(".zprofile", SHELLS),
    Place::home(".zlogin", SHELLS),
    Place::home(".zlogout", SHELLS),
    Place::home(".zsh", SHELLS),
    Place::home(".oh-my-zsh", SHELLS),
    Place::home(".kshrc", SHELLS),
    Place::home(".mkshrc", SHELLS),
    Place::home(".cshrc", SHELLS),
    Place::home(".tcshrc", SHELLS),
    Place::home(".login", SHELLS),
    Place::home(".logout", SHELLS),
    Place::home(".config/fish", SHELLS),
    Place::home(".config/nushell", SHELLS),
    Place::home(".config/zsh", SHELLS),
    Place::home(".config/bash", SHELLS),
    Place::home(".config/direnv", SHELLS),
    Place::home(".config/mise", SHELLS),
    Place::home(".config/starship.toml", SHELLS),
    Place::home(".local/share/bash-completion", SHELLS),
    Place::home(".cargo/env", SHELLS),
    Place::home(".pam_environment", SESSION),
    Place::home(".xprofile", SESSION),
    Place::home(".xsession", SESSION),
    Place::home(".xsessionrc", SESSION),
    Place::home(".xinitrc", SESSION),
    Place::home(".Xresources", SESSION),
    Place::home(".config/environment.d", SESSION),
    Place::home(".config/autostart", SESSION),
    Place::home(".config/plasma-workspace", SESSION),
    Place::home(".config/systemd", SESSION),
    Place::home(".config/i3", SESSION),
    Place::home(".config/sway", SESSION),
    Place::home(".config/hypr", SESSION),
    Place::home(".local/share/systemd", SESSION),
    Place::home(".local/share/dbus-1", SESSION),
    Place::home(".local/share/applications", SESSION),
    Place::home(".local/share/xdg-desktop-portal", SESSION),
    Place::home(".config/mimeapps.list", SESSION),
    Place::home("Library/LaunchAgents", SESSION),
    Place::home(".inputrc", TERMINALS),
    Place::home(".tmux.conf", TERMINALS),
    Place::home(".config/tmux", TERMINALS),
    Place::home(".screenrc", TERMINALS),
    Place::home(".lessfilter", TERMINALS),
    Place::home(".config/kitty", TERMINALS),
    Place::home(".config/alacritty", TERMINALS),
    Place::home(".config/ghostty", TERMINALS),
    Place::home(".config/wezterm", TERMINALS),
    Place::home(".wezterm.lua", TERMINALS),
    // Programs on PATH, and what interpreters and builds load automatically.
    Place::home(".local/bin", PROGRAMS),
    Place::home(".cargo/bin", PROGRAMS),
    Place::home(".docker/cli-plugins", PROGRAMS),
    Place::home(".rustup", PROGRAMS),
    Place::home(".nvm", PROGRAMS),
    Place::home(".pyenv", PROGRAMS),
    Place::home(".rbenv", PROGRAMS),
    Place::home(".asdf", PROGRAMS),
    Place::home(".sdkman", PROGRAMS),
    Place::home(".deno/bin", PROGRAMS),
    Place::home(".bun/bin", PROGRAMS),
    Place::home("go/bin", PROGRAMS),
    Place::home(".dotnet/tools", PROGRAMS),
    Place::home(".local/share/mise", PROGRAMS),
    Place::home(".local/lib", INTERPRETERS),
    Place::home(".pythonrc.py", INTERPRETERS),
    Place::home(".pythonrc", INTERPRETERS),
    Place::home(".pystartup", INTERPRETERS),
    Place::home(".ipython", INTERPRETERS),
    Place::home(".jupyter", INTERPRETERS),
    Place::home(".perldb", INTERPRETERS),
    Place::home(".Renviron", INTERPRETERS),
    Place::home(".node_modules", INTERPRETERS),
    Place::home(".node_libraries", INTERPRETERS),
    Place::home(".config/pip", BUILDS),
    Place::home(".pip", BUILDS),
    Place::home(".config/uv", BUILDS),
    Place::home(".npmrc", BUILDS),
    Place::home(".yarnrc", BUILDS),
    Place::home(".yarnrc.yml", BUILDS),
    Place::home(".bunfig.toml", BUILDS),
    Place::home(".gemrc", BUILDS),
    Place::home(".bundle/config", BUILDS),
    Place::home(".m2/settings.xml", BUILDS),
    Place::home(".m2/extensions.xml", BUILDS),
    Place::home(".gradle/init.d", BUILDS),
    Place::home(".gradle/init.gradle", BUILDS),
    Place::home(".gradle/init.gradle.kts", BUILDS),
    Place::home(".gradle/gradle.properties", BUILDS),
    Place::home(".sbt", BUILDS),
    Place::home(".config/go", BUILDS),
    Place::home(".vim", EDITORS),
    Place::home(".gvimrc", EDITORS),
    Place::home(".emacs", EDITORS),
    Place::home(".emacs.d", EDITORS),
    Place::home(".nanorc", EDITORS),
    Place::home(".config/nvim", EDITORS),
    Place::home(".config/vim", EDITORS),
    Place::home(".config/emacs", EDITORS),
    Place::home(".config/helix", EDITORS),
    Place::home(".config/zed", EDITORS),
    Place::home(".config/Code", EDITORS),
    Place::home(".config/VSCodium", EDITORS),
    Place::home(".config/Cursor", EDITORS),
    Place::home(".config/JetBrains", EDITORS),
    Place::home(".vscode-server", EDITORS),
    Place::home(".cursor-server", EDITORS),
    Place::home(".claude.json", AGENTS),
    Place::home(".config/claude", AGENTS),
    Place::home(".config/opencode", AGENTS),
    Place::home(".config/goose", AGENTS),
    Place::home(".config/github-copilot", AGENTS),
    Place::home(".config/Claude", AGENTS),
    // Settings that name programs, and login permissions.
    Place::home(".gitconfig", GIT),
    Place::home(".config/git", GIT),
    Place::home(".config/hg", GIT),
    Place::home(".hgrc", GIT),
    Place::home(".config/jj", GIT),
    Place::home(".jjconfig.toml", GIT),
    Place::home(".ssh", LOGINS_TO),
    Place::home(".rhosts", LOGINS_TO),
    Place::home(".shosts", LOGINS_TO),
    Place::home(".k5login", LOGINS_TO),
    Place::home(".forward", LOGINS_TO),
    Place::home(".procmailrc", LOGINS_TO),
    Place::home(".mailcap", LOGINS_TO),
    Place::home(".aws/config", HELPERS),
    Place::home(".kube/config", HELPERS),
    Place::home(".docker/config.json", HELPERS),
    Place::home(".gnupg/gpg.conf", HELPERS),
    Place::home(".gnupg/gpg-agent.conf", HELPERS),
    Place::home(".curlrc", HELPERS),
    Place::home(".wgetrc", HELPERS),
    Place::home(".config/prowess", OURS),
    Place::home(".local/share/prowess", OURS),
    // System-wide. Nearly every file in /etc controls permissions or starts programs, so all of it
    // is protected.
    Place::machine("/etc", MACHINE),
    Place::machine("/private/etc", MACHINE),
    Place::machine("/bin", SYSTEM),
    Place::machine("/sbin", SYSTEM),
    Place::machine("/lib", SYSTEM),
    Place::machine("/lib32", SYSTEM),
    Place::machine("/lib64", SYSTEM),
    Place::machine("/libx32", SYSTEM),
    Place::machine("/usr/bin", SYSTEM),
    Place::machine("/usr/sbin", SYSTEM),
    Place::machine("/usr/lib", SYSTEM),
    Place::machine("/usr/lib32", SYSTEM),
    Place::machine("/usr/lib64", SYSTEM),
    Place::machine("/usr/libx32", SYSTEM),
    Place::machine("/usr/libexec", SYSTEM),
    Place::machine("/usr/share", SYSTEM),
    Place::machine("/usr/include", SYSTEM),
    Place::machine("/usr/games", SYSTEM),
    Place::machine("/usr/etc", SYSTEM),
    Place::machine("/usr/local/bin", SYSTEM),
    Place::machine("/usr/local/sbin", SYSTEM),
    Place::machine("/usr/local/lib", SYSTEM),
    Place::machine("/usr/local/lib64", SYSTEM),
    Place::machine("/usr/local/libexec", SYSTEM),
    Place::machine("/usr/local/share", SYSTEM),
    Place::machine("/usr/local/include", SYSTEM),
    Place::machine("/usr/local/games", SYSTEM),
    Place::machine("/usr/local/etc", SYSTEM),
    Place::machine("/nix", SYSTEM),
    Place::machine("/snap", SYSTEM),
    Place::machine("/System", SYSTEM),
    Place::machine("/Library", SYSTEM),
    Place::machine("/Applications", SYSTEM),
    Place::machine("/boot", KERNEL),
    Place::machine("/efi", KERNEL),
    Place::machine("/proc", KERNEL),
    Place::machine("/sys", KERNEL),
    Place::machine("/var/spool/cron", TIMERS),
    Place::machine("/var/spool/at", TIMERS),
    Place::machine("/var/spool/atjobs", TIMERS),
    Place::machine("/var/spool/anacron", TIMERS),
    Place::machine("/var/cron", TIMERS),
    Place::machine("/var/at", TIMERS),
    Place::machine("/var/lib/dpkg", PACKAGES),
    Place::machine("/var/lib/rpm", PACKAGES),
    Place::machine("/var/lib/pacman", PACKAGES),
    Place::machine("/var/lib/apt", PACKAGES),
    Place::machine("/var/cache/apt", PACKAGES),
    Place::machine("/var/lib/snapd", PACKAGES),
    Place::machine("/var/lib/flatpak", PACKAGES),
    Place::machine("/run/systemd", SERVICES),
    Place::machine("/run/udev", SERVICES),
    Place::machine("/var/lib/systemd", SERVICES),
    Place::machine("/var/lib/cloud", SERVICES),
    Place::machine("/var/lib/polkit-1", SERVICES),
    Place::machine("/var/lib/AccountsService", SERVICES),
    Place::machine("/var/lib/docker", SERVICES),
    Place::machine("/var/lib/containerd", SERVICES),
    Place::machine("/var/lib/containers", SERVICES),
    Place::machine("/var/lib/kubelet", SERVICES),
];

const KEYS: &str = "it stores keys and passwords";
const SSH_KEYS: &str = "it stores keys to other machines";
const CLOUD_KEYS: &str = "it stores keys to other machines and services";
const LOGINS: &str = "programs store passwords and tokens there";
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
