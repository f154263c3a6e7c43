//! Commands that install something, and commands that run what they download.

use std::ops::Range;

use prowess_shell::{ShellCommand, ShellScript};

/// A command that installs something.
pub(crate) struct Recipe {
    /// The command as written.
    pub(crate) text: String,
    /// Its place in the text.
    pub(crate) offset: usize,
}

/// Programs with the words that make them install something. One of the words has to be the first that is not an option.
const INSTALLERS: &[(&str, &[&str])] = &[
    ("apk", &["add"]),
    ("apt", &["install"]),
    ("apt-get", &["install"]),
    ("aptitude", &["install"]),
    ("brew", &["install", "tap", "reinstall"]),
    ("cargo", &["install", "binstall"]),
    ("choco", &["install"]),
    ("clawdhub", &["install"]),
    ("clawhub", &["install"]),
    ("conda", &["install", "create"]),
    ("deno", &["install"]),
    ("dnf", &["install"]),
    ("easy_install", &[]),
    ("flatpak", &["install"]),
    ("gem", &["install"]),
    ("go", &["install", "get"]),
    ("mamba", &["install"]),
    ("nix-env", &["-i", "-iA"]),
    ("pacman", &["-S", "-Sy", "-Syu"]),
    ("pip", &["install"]),
    ("pip3", &["install"]),
    ("pipx", &["install", "run"]),
    ("port", &["install"]),
    ("scoop", &["install"]),
    ("snap", &["install"]),
    ("winget", &["install"]),
    ("yum", &["install"]),
    ("zypper", &["install"]),
];

/// Installers whose subcommand has a second word, or that only install globally with an option.
const NODE: &[&str] = &["npm", "pnpm", "yarn", "bun"];
/// Programs that download a package and run it at once.
const RUNNERS: &[&str] = &["npx", "bunx", "uvx", "pnpx"];
/// Programs that run another one.
const WRAPPERS: &[&str] = &["sudo", "doas", "env", "command", "time", "nohup", "exec", "nice"];

/// The installations of a script, in its order.
pub(crate) fn of(script: &ShellScript, text: &str) -> Vec<Recipe> {
    let mut places: Vec<Range<usize>> = script.downloads_that_run();
    for command in &script.commands {
        if installs(command) && !places.iter().any(|known| covers(known, &command.span)) {
            places.push(command.span.clone());
        }
    }
    places.sort_by_key(|place| place.start);
    let recipe = |place: Range<usize>| {
        let text = text.get(place.clone())?.trim();
        (!text.is_empty()).then(|| Recipe { text: text.to_owned(), offset: place.start })
    };
    places.into_iter().filter_map(recipe).collect()
}

fn covers(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start <= other.start && other.end <= one.end
}

fn installs(command: &ShellCommand) -> bool {
    let words = command.arguments.iter().map(|word| word.text.as_str());
    let mut words: Vec<&str> = command.name.as_deref().into_iter().chain(words).collect();
    // `sudo -E apt-get install x` installs what its own words say.
    while let Some(first) = words.first() {
        let is_passed = WRAPPERS.contains(&base_name(first)) || first.contains('=');
        let is_option = first.starts_with('-');
        if !is_passed && !is_option {
            break;
        }
        words.remove(0);
    }
    let Some((program, words)) = words.split_first() else { return false };
    let plain: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let program = base_name(program);
    if program.starts_with("python") || program == "py" {
        return matches!(words, ["-m", "pip" | "pip3" | "pipx" | "ensurepip", rest @ ..]
            if rest.contains(&"install"));
    }
    if RUNNERS.contains(&program) {
        return !plain.is_empty();
    }
    if NODE.contains(&program) {
        let is_global = words.iter().any(|word| matches!(*word, "-g" | "--global"));
        return match plain.as_slice() {
            ["install" | "i" | "add", packages @ ..] => is_global || !packages.is_empty(),
            ["global", "add", ..] | ["dlx" | "exec" | "x", _, ..] => true,
            _ => false,
        };
    }
    if program == "uv" {
        return matches!(
            plain.as_slice(),
            ["pip" | "tool", "install", ..] | ["tool", "run", ..] | ["add", _, ..]
        );
    }
    if program == "claude" {
        return matches!(
            plain.as_slice(),
            ["plugin" | "mcp", "install" | "add" | "marketplace", ..]
        );
    }
    INSTALLERS.iter().any(|(name, subcommands)| {
        let is_subcommand = |word: &&str| subcommands.contains(word);
        *name == program
            && (subcommands.is_empty()
                || plain.first().is_some_and(is_subcommand)
                || words.first().is_some_and(is_subcommand))
    })
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
