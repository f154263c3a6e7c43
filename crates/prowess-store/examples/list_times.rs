//! How long it takes to list 1,000 installed skills, beside `find` over the same folders. Prints a name and the median in
//! microseconds per line; `cargo xtask bench list` makes ratios of them. Takes a folder with SKILL.md files to install, or
//! makes some of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use prowess_store::discovery::{
    CACHE_FILE_NAME, DiscoverOptions, ScanCache, discover, program_stamp,
};
use prowess_store::places::Places;

const SKILLS: usize = 1_000;
const ROUNDS: usize = 15;

type Error = Box<dyn std::error::Error>;

fn median(mut times: Vec<Duration>) -> u128 {
    times.sort();
    times[times.len() / 2].as_micros()
}

/// The texts of real skills, or one of our own.
fn texts(folder: Option<&Path>) -> Result<Vec<Vec<u8>>, Error> {
    let mut texts = Vec::new();
    let mut open: Vec<PathBuf> = folder.map(Path::to_owned).into_iter().collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().is_some_and(|name| name == "SKILL.md") {
                texts.push(fs::read(path)?);
            }
        }
    }
    if texts.is_empty() {
        let text = "---\nname: deploy\nversion: 1.0.0\ndescription: Puts a site on its server\n---\n\n# Deploy\n";
        texts.push(text.as_bytes().to_vec());
    }
    Ok(texts)
}

fn main() -> Result<(), Error> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let texts = texts(folder.as_deref())?;
    let root = tempfile::tempdir()?;
    let home = root.path().canonicalize()?;
    let store = home.join(".local/share/prowess/skills");
    for number in 0..SKILLS {
        let skill = store.join(format!("skill-{number}"));
        fs::create_dir_all(skill.join("scripts"))?;
        fs::write(skill.join("SKILL.md"), &texts[number % texts.len()])?;
        fs::write(skill.join("scripts/run.sh"), "#!/bin/sh\n")?;
    }
    let places = Places {
        project: Some(home.join("project")),
        current: home.join("project"),
        data: home.join(".local/share/prowess"),
        cache: home.join(".cache/prowess"),
        bundled: None,
        machine: home.join("machine"),
        home: home.clone(),
        variables: BTreeMap::new(),
    };
    fs::create_dir(home.join("project"))?;
    let stamp = program_stamp();
    let options = DiscoverOptions {
        places: &places,
        // Files that are seconds old are not remembered; nobody waits for them to grow older.
        now: SystemTime::now() + Duration::from_mins(1),
        memory: ScanCache::Kept { stamp: &stamp },
    };
    let (mut cold, mut warm, mut find) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let cache = places.cache.join(CACHE_FILE_NAME);
        if cache.exists() {
            fs::remove_file(cache)?;
        }
        for times in [&mut cold, &mut warm] {
            let start = Instant::now();
            let listing = discover(&options);
            times.push(start.elapsed());
            assert_eq!(listing.skills.len(), SKILLS);
        }
        let start = Instant::now();
        let status = Command::new("find")
            .arg(&store)
            .args(["-name", "SKILL.md"])
            .stdout(Stdio::null())
            .status()?;
        find.push(start.elapsed());
        assert!(status.success());
    }
    #[expect(clippy::print_stdout, reason = "it is a program that prints")]
    {
        println!("cold {}\nwarm {}\nfind {}", median(cold), median(warm), median(find));
    }
    Ok(())
}
