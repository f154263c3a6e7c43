//! The binary policy table: which subcommands and options of well-known programs no skill may use (GAIX-25).
//!
//! A grant such as `shell:execute:gh` names a program, and some programs can do anything that the user's account can. The
//! table says which forms of a command line destroy what belongs to others, print a credential, publish in the user's name,
//! or turn an option into a program that is started. Those are refused, at run time and in `prowess scan`; everything else
//! that the grant covers is allowed. A user who wants one of them grants the program by name (`--allow shell:execute:gh`).
//!
//! ```
//! use prowess_policy::binaries::refused;
//!
//! assert!(refused("gh", &["api", "-XDELETE", "repos/a/b"]).is_some());
//! assert!(refused("gh", &["issue", "list"]).is_none());
//! ```

mod table;

use std::fmt;

use table::{Condition, PROGRAMS};

/// The most words of a command line that are compared. A longer one with a form of the table in it is not found there, so
/// it is refused as a whole.
const MAX_WORDS: usize = 4_096;

/// A command line that the table refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCommand {
    /// The program and its subcommand, as in `gh api`.
    pub form: String,
    /// What it does, as the rest of a sentence about it.
    pub why: &'static str,
}

impl fmt::Display for RefusedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`, which {}", self.form, self.why)
    }
}

/// The programs of the table.
pub fn programs() -> impl Iterator<Item = &'static str> {
    PROGRAMS.iter().flat_map(|program| program.names.iter().copied())
}

/// Why a command is refused, if it is. The program may be a name or a path.
pub fn refused<S: AsRef<str>>(program: &str, arguments: &[S]) -> Option<RefusedCommand> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let entry = PROGRAMS.iter().find(|entry| entry.names.contains(&name))?;
    if arguments.len() > MAX_WORDS {
        let why = "has more words than are compared with the table of refused commands";
        return Some(RefusedCommand { form: name.to_owned(), why });
    }
    let words: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
    // It is not known of every option whether the next word is its value, so both are tried.
    let readings = [false, true].map(|takes_value| Reading::of(&words, entry.valued, takes_value));
    entry.forms.iter().find_map(|form| {
        let is_hit = readings.iter().any(|reading| {
            reading.positional.starts_with(form.subcommand) && form.when.holds(reading)
        });
        is_hit.then(|| RefusedCommand {
            form: std::iter::once(name)
                .chain(form.subcommand.iter().copied())
                .chain(form.when.shown())
                .collect::<Vec<_>>()
                .join(" "),
            why: form.why,
        })
    })
}

/// The commands of a shell script that are refused, each once. What the script computes is not known and not refused.
pub fn refused_in_script(script: &str) -> Vec<RefusedCommand> {
    let mut found: Vec<RefusedCommand> = Vec::new();
    for command in &prowess_shell::parse_quickly(script).commands {
        let Some(name) = &command.name else { continue };
        let words: Vec<&str> = command.arguments.iter().map(|word| word.text.as_str()).collect();
        if let Some(refused) = refused_behind_wrappers(name, &words)
            && !found.contains(&refused)
        {
            found.push(refused);
        }
    }
    found
}

/// Like [`refused`], and also what `sudo`, `env`, `xargs` and their like start.
fn refused_behind_wrappers(name: &str, words: &[&str]) -> Option<RefusedCommand> {
    refused(name, words).or_else(|| {
        let base = name.rsplit('/').next().unwrap_or(name);
        if !WRAPPERS.contains(&base) {
            return None;
        }
        let known = |word: &&str| programs().any(|known| word.rsplit('/').next() == Some(known));
        let at = words.iter().position(known)?;
        refused(words[at], &words[at + 1..])
    })
}

/// Programs that start the one among their words.
const WRAPPERS: &[&str] = &[
    "command", "doas", "env", "exec", "nice", "nohup", "setsid", "stdbuf", "sudo", "time",
    "timeout", "xargs",
];

/// Shells, whose `-c` is a script.
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// Why a command as a skill declares it is refused: the command itself, what a wrapper before it starts, or the script of a
/// shell's `-c`.
pub fn refused_command<S: AsRef<str>>(program: &str, arguments: &[S]) -> Option<RefusedCommand> {
    let words: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
    if let Some(refused) = refused_behind_wrappers(program, &words) {
        return Some(refused);
    }
    let base = program.rsplit('/').next().unwrap_or(program);
    if !SHELLS.contains(&base) {
        return None;
    }
    let is_script =
        |word: &&str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let at = words.iter().position(is_script)?;
    refused_in_script(words.get(at + 1)?).into_iter().next()
}

/// The words of a command line as options and the rest.
struct Reading<'w> {
    positional: Vec<&'w str>,
    /// Options with the value that belongs to each, if there is one.
    options: Vec<(&'w str, Option<&'w str>)>,
}

impl<'w> Reading<'w> {
    fn of(words: &[&'w str], valued: &[&str], unknown_take_values: bool) -> Self {
        let mut reading = Self { positional: Vec::new(), options: Vec::new() };
        let mut at = 0;
        while at < words.len() {
            let word = words[at];
            at += 1;
            if word == "--" {
                reading.positional.extend(&words[at..]);
                break;
            }
            if !word.starts_with('-') || word == "-" {
                reading.positional.push(word);
                continue;
            }
            if let Some((name, value)) = word.split_once('=').filter(|_| word.starts_with("--")) {
                reading.options.push((name, Some(value)));
                continue;
            }
            let next =
                words.get(at).copied().filter(|next| !next.starts_with('-') || next.len() == 1);
            if valued.contains(&word) {
                reading.options.push((word, words.get(at).copied()));
                at += 1;
                continue;
            }
            // `-XDELETE`, and `-fd` as `-f -d`.
            if !word.starts_with("--") && word.len() > 2 && word.is_char_boundary(2) {
                let (short, rest) = word.split_at(2);
                if valued.contains(&short) {
                    reading.options.push((short, Some(rest.strip_prefix('=').unwrap_or(rest))));
                    continue;
                }
                reading.options.push((word, None));
                for (offset, letter) in word.char_indices().skip(1) {
                    reading.options.push((&word[offset..offset + letter.len_utf8()], None));
                }
                continue;
            }
            let before_subcommand = reading.positional.is_empty();
            if unknown_take_values && before_subcommand && next.is_some() {
                reading.options.push((word, next));
                at += 1;
            } else {
                reading.options.push((word, None));
            }
        }
        reading
    }

    fn has(&self, option: &str) -> bool {
        // A letter of a group of short options has lost its hyphen.
        let letter = option.strip_prefix('-').filter(|rest| rest.chars().count() == 1);
        self.options.iter().any(|(name, _)| *name == option || Some(*name) == letter)
    }

    fn values<'s>(&'s self, options: &'s [&str]) -> impl Iterator<Item = &'w str> + 's {
        let named = self.options.iter().filter(|(name, _)| options.contains(name));
        named.filter_map(|(_, value)| *value)
    }
}

impl Condition {
    fn holds(self, reading: &Reading<'_>) -> bool {
        match self {
            Self::Always => true,
            Self::Option(options) => options.iter().any(|option| reading.has(option)),
            Self::ValueOtherThan(options, harmless) => reading.values(options).any(|value| {
                !harmless.iter().any(|known| value.trim().eq_ignore_ascii_case(known))
            }),
            Self::OptionUnless(options, others, harmless) => {
                options.iter().any(|option| reading.has(option))
                    && !reading.values(others).any(|value| {
                        harmless.iter().any(|known| value.trim().eq_ignore_ascii_case(known))
                    })
            }
            Self::ValueStarts(options, starts) => reading.values(options).any(|value| {
                let value = value.to_ascii_lowercase();
                starts.iter().any(|start| value.starts_with(start))
            }),
            Self::ArgumentStarts(starts) => reading.positional.iter().any(|word| {
                starts
                    .iter()
                    .any(|start| word.len() > 1 && word.to_ascii_lowercase().starts_with(start))
            }),
        }
    }

    /// What makes the form, for a message.
    fn shown(self) -> Option<&'static str> {
        match self {
            Self::Always | Self::ArgumentStarts(_) => None,
            Self::Option(options)
            | Self::ValueOtherThan(options, _)
            | Self::OptionUnless(options, _, _)
            | Self::ValueStarts(options, _) => options.first().copied(),
        }
    }
}

#[cfg(test)]
mod tests;
