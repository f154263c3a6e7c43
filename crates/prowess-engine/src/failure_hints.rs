//! Why a tool may have failed, where that can be seen from outside: a program that it may not start, a folder that its
//! user did not mean. A guess is told only where the failure looks like it.

use std::path::Path;

use prowess_policy::scope::Program;
use prowess_policy::spec::{Programs, SandboxSpec};

use crate::named_programs::MissingProgram;
use crate::programs::{Finder, Images};
use crate::world::World;
use prowess_core::{Envelope, NOT_FOUND, Remedy};

/// The most programs that are told about after a run.
const MAX_UNNOTICED: usize = 10;

/// What to do about a run that has failed by itself, one line each.
pub(crate) fn of(
    envelope: &Envelope,
    allowed: &SandboxSpec,
    images: &Images,
    world: &World,
) -> Vec<Remedy> {
    let said = [envelope.output.as_str(), envelope.error.as_deref().unwrap_or_default()].join("\n");
    let mut hints = Vec::new();
    if allowed.programs != Programs::Any {
        hints.extend(about_programs(&said, envelope.exit_code, images, world));
    }
    // To a tool without files every place is the same.
    if !allowed.read.is_empty() || !allowed.write.is_empty() {
        hints.extend(about_place(world).map(Remedy::Advice));
    }
    hints
}

/// The programs that a shell looked for and did not find in a run that succeeded all the same: their names may be computed,
/// so that the text of the script did not tell. `known` are told already.
///
/// The lines are those of shells with the name of a shell or of a script of the skill in front. A tool can print such a line
/// itself, and gets a warning in its own envelope for it.
pub(crate) fn unnoticed(
    said: &str,
    images: &Images,
    skill_directory: Option<&Path>,
    known: &[MissingProgram],
) -> Vec<String> {
    let folder = skill_directory.map(|folder| format!("{}/", folder.display()));
    let is_of_shell = |line: &str| {
        let shells = ["sh: ", "bash: ", "/bin/sh: ", "/bin/bash: ", "dash: "];
        let is_script = folder.as_ref().is_some_and(|folder| line.starts_with(folder.as_str()));
        is_script || shells.iter().any(|shell| line.starts_with(shell))
    };
    let is_in_view = |name: &str| {
        let mut all = images.programs.iter().chain(&images.utilities);
        all.any(|image| image.ends_with(name.trim_start_matches('/')))
    };
    let mut names: Vec<&str> = Vec::new();
    for name in said.lines().filter(|line| is_of_shell(line)).filter_map(missing_program) {
        let is_new = !names.contains(&name) && !known.iter().any(|it| it.name() == name);
        if is_new && !is_in_view(name) && Program::parse(name).is_ok() {
            names.push(name);
        }
    }
    let told = |name: &str| format!("it looked for `{name}`, which the sandbox does not provide");
    names.into_iter().take(MAX_UNNOTICED).map(told).collect()
}

/// The programs that the tool wanted and does not see.
fn about_programs(said: &str, exit_code: i32, images: &Images, world: &World) -> Vec<Remedy> {
    let finder = Finder { search_path: &world.search_path, skill_directory: None };
    let in_view = |name: &str| {
        let mut all = images.programs.iter().chain(&images.utilities);
        all.any(|image| image.ends_with(name.trim_start_matches('/')))
    };
    let mut wanted: Vec<&str> = Vec::new();
    for name in said.lines().filter_map(missing_program) {
        if !wanted.contains(&name) && !in_view(name) && Program::parse(name).is_ok() {
            wanted.push(name);
        }
    }
    // The same words are said about files, so that it has to be a program of this machine.
    let (here, nowhere): (Vec<&str>, Vec<&str>) =
        wanted.into_iter().partition(|name| finder.has(name));
    let names =
        |all: &[&str]| all.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
    let mut hints = Vec::new();
    if !here.is_empty() {
        let permission = format!("shell:execute:{}", here.join(","));
        hints.push(Remedy::Advice(format!(
            "it calls {}, which the sandbox does not provide; declare it, as in `permissions: [\"{permission}\"]`",
            names(&here),
        )));
        hints.push(Remedy::Grant(permission));
    }
    if exit_code != NOT_FOUND {
        return hints;
    }
    if !nowhere.is_empty() {
        let names = names(&nowhere);
        hints.push(Remedy::Advice(format!(
            "it calls {names}, which is not on PATH: install it, and declare it"
        )));
    } else if hints.is_empty() {
        // What a shell ends with when it finds no program.
        hints.push(Remedy::Advice(
            "it may have called a program that the sandbox does not provide; declare the programs that it starts, as in `permissions: [\"shell:execute:git,npm\"]`"
                .to_owned(),
        ));
    }
    hints
}

/// The program that an interpreter could not find, by one of its last lines.
fn missing_program(line: &str) -> Option<&str> {
    let line = line.trim_end();
    // dash and busybox, then bash: `x.sh: 3: sort: not found`, `x.sh: line 3: sort: command not found`
    let of_shell = line.strip_suffix(": command not found").or(line.strip_suffix(": not found"));
    let of_shell = of_shell.and_then(|rest| rest.rsplit(": ").next());
    // `env: ‘sort’: No such file or directory`, `Can't exec "sort": No such file or directory`
    let of_env = || {
        let rest = line.split_once(": No such file or directory")?.0;
        let is_known = rest.starts_with("env: ")
            || rest.starts_with("/usr/bin/env: ")
            || rest.starts_with("Can't exec ");
        is_known.then(|| rest.rsplit(' ').next()).flatten()
    };
    // Python: `FileNotFoundError: [Errno 2] No such file or directory: 'sort'`
    let of_python = || line.rsplit_once("No such file or directory: ").map(|(_, name)| name);
    // Node: `Error: spawn sort ENOENT`
    let of_node = || line.split_once("spawn ")?.1.split_once(" ENOENT").map(|(name, _)| name);
    // Ruby: `No such file or directory - sort (Errno::ENOENT)`
    let of_ruby = || {
        let rest = line.split_once("No such file or directory - ")?.1;
        rest.split(' ').next()
    };
    let name = of_shell.or_else(of_env).or_else(of_python).or_else(of_node).or_else(of_ruby)?;
    let name = name.trim_matches(['\'', '"', '`', '‘', '’']);
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    is_name.then_some(name)
}

/// Where it ran, if that is not where the user is: a tool for repositories fails in a home, and nobody sees why.
fn about_place(world: &World) -> Option<String> {
    let (place, current) = (world.working_directory.display(), world.current.display());
    if world.working_directory == world.current {
        return None;
    }
    Some(if world.working_directory == world.home {
        format!(
            "it ran in your home directory `{place}`, because `{current}` is not in a repository"
        )
    } else {
        format!("it ran in `{place}`, the root of the repository that contains `{current}`")
    })
}

#[cfg(test)]
mod tests {
    use super::missing_program;

    #[test]
    fn interpreters_name_the_program_they_miss() {
        for (line, expected) in [
            ("./x.sh: 3: sort: not found", Some("sort")),
            ("/skills/x.sh: line 3: sort: command not found", Some("sort")),
            ("sh: sort: not found", Some("sort")),
            ("env: ‘node’: No such file or directory", Some("node")),
            ("/usr/bin/env: 'node': No such file or directory", Some("node")),
            ("Can't exec \"git\": No such file or directory at x.pl line 1.", Some("git")),
            ("FileNotFoundError: [Errno 2] No such file or directory: 'git'", Some("git")),
            (
                "`run` raised FileNotFoundError: [Errno 2] No such file or directory: 'git'",
                Some("git"),
            ),
            ("Error: spawn git ENOENT", Some("git")),
            ("x.rb:1:in `exec': No such file or directory - git (Errno::ENOENT)", Some("git")),
            ("ls: cannot access 'nowhere': No such file or directory", None),
            ("cat: notes: No such file or directory", None),
            ("error: page not found", None),
            ("fatal: not a git repository", None),
            ("", None),
        ] {
            assert_eq!(missing_program(line), expected, "{line}");
        }
    }
}
