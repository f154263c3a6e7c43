//! Names that are made to be taken for a popular one (attack registry-A1).

use std::collections::{BTreeMap, HashSet};

use prowess_server::database::{DatabaseError, Transaction};
use prowess_server::values;
use typomania::checks::{Bitflips, Check, Omitted, Squat, SwappedWords, Typos};
use typomania::{AuthorSet, Corpus, Harness, Package};

use crate::names::SkillId;

/// How many popular skills are protected.
const MAX_POPULAR: usize = 1_000;
/// Characters of a name.
const ALPHABET: &str = "abcdefghijklmnopqrstuvwxyz0123456789-";
/// Words that are put before or after a popular name.
const AFFIXES: [&str; 14] = [
    "1", "2", "agent", "ai", "cli", "dev", "helper", "lib", "new", "official", "plus", "pro",
    "skill", "tool",
];

/// A skill as the checks know it.
struct Named {
    namespace: String,
}

impl Package for Named {
    fn authors(&self) -> &dyn AuthorSet {
        self
    }

    fn description(&self) -> Option<&str> {
        None
    }

    fn shared_authors(&self, other: &dyn AuthorSet) -> bool {
        other.contains(&self.namespace)
    }
}

impl AuthorSet for Named {
    fn contains(&self, author: &str) -> bool {
        self.namespace == author
    }
}

/// The popular skills by name, each with its most downloaded namespace.
struct Popular {
    skills: BTreeMap<String, Named>,
}

impl Corpus for Popular {
    fn contains_name(&self, name: &str) -> typomania::Result<bool> {
        Ok(self.skills.contains_key(name))
    }

    fn get(&self, name: &str) -> typomania::Result<Option<&dyn Package>> {
        Ok(self.skills.get(name).map(|named| named as &dyn Package))
    }
}

/// A popular name with one of [`AFFIXES`] before or after it.
struct Affixes;

impl Check for Affixes {
    fn check(
        &self,
        corpus: &dyn Corpus,
        name: &str,
        package: &dyn Package,
    ) -> typomania::Result<Vec<Squat>> {
        for affix in AFFIXES {
            let rest = [name.strip_prefix(affix), name.strip_suffix(affix)];
            for rest in rest.into_iter().flatten().map(|rest| rest.trim_matches('-')) {
                if rest != name && corpus.possible_squat(rest, name, package)? {
                    return Ok(vec![Squat::custom("affix", rest)]);
                }
            }
        }
        Ok(Vec::new())
    }
}

/// The popular skill of another namespace that a new name resembles, as `namespace/name`.
pub(super) fn resembles(
    transaction: &mut Transaction<'_>,
    skill: &SkillId,
    popular_downloads: i64,
) -> Result<Option<String>, DatabaseError> {
    let rows = transaction.query(
        &format!(
            "SELECT namespace, name FROM skills
             WHERE state = 'visible' AND private = 0 AND downloads >= ?1 AND namespace <> ?2
             ORDER BY downloads DESC, id LIMIT {MAX_POPULAR}"
        ),
        &values![popular_downloads, skill.namespace.as_str()],
    )?;
    let mut skills = BTreeMap::new();
    for row in rows {
        let (namespace, name): (String, String) = (row.get("namespace")?, row.get("name")?);
        skills.entry(name).or_insert(Named { namespace });
    }
    // Whoever has a popular skill may have others that are called alike.
    let name = skill.name.as_str();
    if skills.is_empty() || skills.contains_key(name) {
        return Ok(None);
    }
    let typos = ALPHABET.chars().map(|letter| (letter, neighbours(letter)));
    let harness = Harness::builder()
        .with_check(Bitflips::new(ALPHABET, skills.keys().map(String::as_str)))
        .with_check(Omitted::new(ALPHABET))
        .with_check(SwappedWords::new("-"))
        .with_check(Typos::new(typos))
        .with_check(Affixes)
        .build(Popular { skills });
    let named = Named { namespace: skill.namespace.to_string() };
    let found = harness.check_package(name, Box::new(named)).unwrap_or_default();
    let target = found.first().map(|squat| squat.package().to_owned());
    let Some(target) = target else { return Ok(None) };
    let row = transaction.query_one(
        "SELECT namespace FROM skills WHERE name = ?1 AND state = 'visible' AND private = 0
         ORDER BY downloads DESC, id LIMIT 1",
        &values![&target],
    )?;
    Ok(Some(format!("{}/{target}", row.get::<String>("namespace")?)))
}

/// Characters that are typed or read for another: neighbours on the keyboard, and those that look alike.
fn neighbours(letter: char) -> Vec<String> {
    const ROWS: [&str; 4] = ["1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm"];
    const ALIKE: [&str; 6] = ["1li", "0o", "5s", "vw", "mn", "ao"];
    let mut found = HashSet::new();
    for row in ROWS {
        let letters: Vec<char> = row.chars().collect();
        if let Some(at) = letters.iter().position(|known| *known == letter) {
            found.extend(at.checked_sub(1).and_then(|at| letters.get(at)));
            found.extend(letters.get(at + 1));
        }
    }
    for group in ALIKE.iter().filter(|group| group.contains(letter)) {
        found.extend(group.chars().filter(|other| *other != letter));
    }
    let mut found: Vec<String> = found.into_iter().map(String::from).collect();
    found.sort();
    found
}
