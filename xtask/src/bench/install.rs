//! `cargo xtask bench install`: 100 signed skills, beside `cp -r` of the same folders and beside `skills add`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::example;
use crate::process::{self, Profile, command};
use crate::terminal::heading;
use crate::usage;

pub(crate) const SUMMARY: &str = "100 signed skills beside `cp -r` and `skills add`";

const SKILLS: usize = 100;
/// Files beside the `SKILL.md`, and how large each is.
const FILES: usize = 4;
const FILE_BYTES: usize = 4 << 10;
const RUNS: usize = 7;
/// Installing, with hashing, checking signatures, locking and syncing, beside copying alone.
const COPY_GOAL: f64 = 3.0;
/// `skills add`, beside installing.
const PEER_GOAL: f64 = 10.0;
const PEER: &str = "skills@1.5.7";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (mut profile, mut with_peer) = (Profile::Release, true);
    for argument in arguments {
        match argument.as_str() {
            "--debug" => profile = Profile::Dev,
            "--no-peers" => with_peer = false,
            other => return Err(usage::unexpected(other)),
        }
    }
    let prowess = process::build_prowess(profile)?;
    let peer = with_peer.then(install_peer).transpose()?;
    let folder = process::target_dir().join("bench/install");
    let place = Place { skills: folder.join("skills"), author: folder.join("author"), folder };
    heading(&format!("Signing {SKILLS} skills"));
    place.fill(&prowess)?;
    heading(&format!("Installing them {RUNS} times each, in turn"));
    let (mut ours, mut copies, mut peers) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        ours.push(place.install(&prowess)?);
        copies.push(place.copy()?);
        if let Some(peer) = &peer {
            peers.push(place.add(peer)?);
        }
    }
    let (ours, copy) = (median(ours), median(copies));
    let ratio = ours / copy;
    println!("cp -r            {copy:.1} ms");
    println!(
        "prowess install  {ours:.1} ms: {}",
        example::goal(ratio <= COPY_GOAL, &format!("{ratio:.2} × cp -r, ≤ {COPY_GOAL}"))
    );
    if peers.is_empty() {
        return Ok(());
    }
    let peer = median(peers);
    let ratio = peer / ours;
    println!(
        "skills add       {peer:.1} ms: {}",
        example::goal(ratio >= PEER_GOAL, &format!("{ratio:.1} × ours, ≥ {PEER_GOAL}"))
    );
    Ok(())
}

/// Where everything lies.
struct Place {
    folder: PathBuf,
    /// The skills to install.
    skills: PathBuf,
    /// The home of whoever signs and installs.
    author: PathBuf,
}

impl Place {
    /// Writes the skills, signs them, and trusts their author.
    fn fill(&self, prowess: &Path) -> Result<()> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        fs::create_dir_all(&self.author)?;
        quiet(self.prowess(prowess).args(["key", "new", "release"]))?;
        for number in 0..SKILLS {
            let name = format!("skill-{number:03}");
            let skill = self.skills.join(&name);
            fs::create_dir_all(skill.join("references"))?;
            let manifest = format!(
                "---\nname: {name}\nversion: 1.0.0\ndescription: Measures how long installing takes. Use it for nothing else.\n---\n\n{}",
                "Read the references before you begin.\n".repeat(100)
            );
            fs::write(skill.join("SKILL.md"), manifest)?;
            for file in 0..FILES {
                // No two files are the same, so that nothing can be shared.
                let line = format!("{name}, file {file}, a line of text as people write it\n");
                let text = line.repeat(FILE_BYTES / line.len());
                fs::write(skill.join(format!("references/{file}.md")), text)?;
            }
            quiet(self.prowess(prowess).arg("sign").arg(&skill).args(["--key", "release"]))?;
        }
        let public =
            self.prowess(prowess).args(["key", "export", "release"]).stderr(Stdio::null()).output();
        let file = self.folder.join("release.pub");
        fs::write(&file, public?.stdout)?;
        quiet(self.prowess(prowess).args(["trust", "add"]).arg(&file).args(["--role", "root"]))
    }

    /// The program with a home of its own.
    fn prowess(&self, prowess: &Path) -> Command {
        let mut command = command(prowess);
        command.current_dir(&self.folder).env("HOME", &self.author);
        for name in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"] {
            command.env_remove(name);
        }
        command
    }

    fn install(&self, prowess: &Path) -> Result<Duration> {
        let store = self.author.join(".local/share/prowess");
        for part in ["skills", "staging"] {
            remove(&store.join(part))?;
        }
        remove(&store.join("skill-lock.json"))?;
        let time = timed(self.prowess(prowess).args(["install", "./skills", "--all", "--quiet"]))?;
        count(&store.join("skills"))?;
        Ok(time)
    }

    fn copy(&self) -> Result<Duration> {
        let target = self.folder.join("copy");
        remove(&target)?;
        let time = timed(command("cp").arg("-r").arg(&self.skills).arg(&target))?;
        count(&target)?;
        Ok(time)
    }

    fn add(&self, peer: &Path) -> Result<Duration> {
        let home = self.folder.join("peer");
        remove(&home)?;
        fs::create_dir_all(&home)?;
        let mut add = command(peer);
        add.arg("add").arg(&self.skills);
        add.args(["--skill", "*", "--agent", "claude-code", "--copy", "--global", "--yes"]);
        // Nobody needs to know that we measure.
        add.env("HOME", &home).env("DISABLE_TELEMETRY", "1").env("DO_NOT_TRACK", "1");
        let time = timed(add.current_dir(&home))?;
        count(&home.join(".claude/skills"))?;
        Ok(time)
    }
}

/// Takes away what an earlier turn has left.
fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("could not remove `{}`", path.display()))
        }
        _ => Ok(()),
    }
}

/// A time counts only when all skills are there.
fn count(folder: &Path) -> Result<()> {
    let found = fs::read_dir(folder)
        .with_context(|| format!("nothing was installed to `{}`", folder.display()))?
        .flatten()
        .filter(|entry| entry.path().join("SKILL.md").is_file())
        .count();
    ensure!(found == SKILLS, "`{}` has {found} skills, expected {SKILLS}", folder.display());
    Ok(())
}

fn timed(command: &mut Command) -> Result<Duration> {
    let started = Instant::now();
    quiet(command)?;
    Ok(started.elapsed())
}

/// Runs a program and shows what it said only if it fails.
fn quiet(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    ensure!(
        output.status.success(),
        "`{}` failed: {}{}",
        process::describe(command),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// In milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn install_peer() -> Result<PathBuf> {
    let home = process::target_dir().join("tools/peers/skills");
    let program = home.join("node_modules/.bin/skills");
    if !program.exists() {
        fs::create_dir_all(&home)?;
        let mut npm = command("npm");
        npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]);
        process::run(npm.arg(&home).arg(PEER))?;
    }
    Ok(program)
}
