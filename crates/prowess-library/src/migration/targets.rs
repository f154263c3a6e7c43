//! Where each skill of a batch goes: a folder of its name, below its owner if the name is taken, and never a folder that
//! another skill goes to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use prowess_format::text::slug;

/// What a skill would like to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its name, which is one safe path component.
    pub name: String,
    /// The account that published it.
    pub owner: Option<String>,
    /// The name of its folder in the source.
    pub folder: String,
}

/// What a skill gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The folder, relative to the output: `NAME` or `OWNER/NAME`.
    pub folder: PathBuf,
    /// The name of the skill, which differs from the claimed one if a skill of the same owner has that.
    pub name: String,
}

/// Assigns a folder to each skill, in the same order. Of two folders none is equal to, or inside of, the other, also where
/// file names are not case-sensitive.
///
/// Which skill has a folder depends on names and owners, and only for skills of one owner with one name on their order.
pub fn assign(claims: &[Claim]) -> Vec<Target> {
    let mut wanted: Vec<Place> = claims.iter().map(Place::plain).collect();
    below_owners(claims, &mut wanted);
    by_folder(claims, &mut wanted);
    apart_from_owners(claims, &mut wanted);
    numbered(&mut wanted);
    wanted
        .into_iter()
        .map(|place| Target {
            folder: match &place.owner {
                Some(owner) => PathBuf::from(owner).join(&place.name),
                None => PathBuf::from(&place.name),
            },
            name: place.name,
        })
        .collect()
}

/// A folder, in parts that are safe path components in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    owner: Option<String>,
    name: String,
}

impl Place {
    fn plain(claim: &Claim) -> Self {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_safe = !claim.name.is_empty() && claim.name.bytes().all(is_plain);
        let name = if is_safe { claim.name.clone() } else { slug(&claim.name) };
        Self { owner: None, name }
    }
}

/// The positions that want the same place, where there are several.
fn rivals(wanted: &[Place]) -> Vec<Vec<usize>> {
    let mut by_place: BTreeMap<&Place, Vec<usize>> = BTreeMap::new();
    for (at, place) in wanted.iter().enumerate() {
        by_place.entry(place).or_default().push(at);
    }
    by_place.into_values().filter(|positions| positions.len() > 1).collect()
}

fn below_owners(claims: &[Claim], wanted: &mut [Place]) {
    for at in rivals(wanted).concat() {
        wanted[at].owner = claims[at].owner.as_deref().map(slug);
    }
}

/// One owner with two skills of one name: their folders tell them apart, as they do for the registry.
fn by_folder(claims: &[Claim], wanted: &mut [Place]) {
    for at in rivals(wanted).concat() {
        wanted[at].name = slug(&claims[at].folder);
    }
}

/// A skill that is called like an owner would lie around the owner's skills, so it goes below its own owner.
fn apart_from_owners(claims: &[Claim], wanted: &mut [Place]) {
    loop {
        let owners: Vec<String> = wanted.iter().filter_map(|place| place.owner.clone()).collect();
        let around =
            wanted.iter().position(|place| place.owner.is_none() && owners.contains(&place.name));
        let Some(at) = around else { return };
        // Each round gives one more skill an owner, so this ends.
        let owner = claims[at].owner.as_deref().map_or_else(|| wanted[at].name.clone(), slug);
        wanted[at].owner = Some(owner);
    }
}

/// Whatever is still the same gets a number, except the first.
fn numbered(wanted: &mut [Place]) {
    for positions in rivals(wanted) {
        for at in positions.into_iter().skip(1) {
            let place = wanted[at].clone();
            let stem: String = place.name.chars().take(56).collect();
            let free = (2..).map(|number| Place {
                owner: place.owner.clone(),
                name: format!("{}-{number}", stem.trim_end_matches('-')),
            });
            let mut free = free.filter(|candidate| !is_taken(wanted, candidate));
            if let Some(candidate) = free.next() {
                wanted[at] = candidate;
            }
        }
    }
}

fn is_taken(wanted: &[Place], candidate: &Place) -> bool {
    wanted.iter().any(|place| {
        place == candidate
            || (candidate.owner.is_none() && place.owner.as_ref() == Some(&candidate.name))
    })
}

#[cfg(test)]
mod tests;
