//! Pins program images by content: an approval of `git` covers the git that was installed at that time (attack
//! sandbox-B12).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use prowess_files::atomic::{self, MAX_SMALL_FILE_BYTES, WriteOptions};
use prowess_files::with_lock;
use prowess_policy::ProgramPin;
use serde_json::{Map, Value, json};

use crate::world::StateFolders;
use crate::{digest, platform};

/// The version of the file format.
const VERSION: u64 = 1;
/// Maximum number of cached images; above it the cache is cleared.
const MAX_REMEMBERED: usize = 4096;

/// Hashes of images, cached while the files are unchanged: hashing `node` takes longer than running it.
///
/// No tool can write to the cache file, and a modified image has a new change time, which only root can set back.
#[derive(Debug)]
pub(crate) struct ImageHashes {
    path: PathBuf,
    known: BTreeMap<String, String>,
    changed: bool,
}

impl ImageHashes {
    /// Loads the cache; it is empty if the file is missing or damaged.
    pub(crate) fn load(state: &StateFolders) -> Self {
        let path = state.cache.join("images.json");
        let text =
            atomic::read_text(&path, MAX_SMALL_FILE_BYTES).ok().flatten().unwrap_or_default();
        let file: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let images = file["images"].as_object().filter(|_| file["version"] == VERSION);
        let known = images
            .into_iter()
            .flatten()
            .filter_map(|(key, hash)| Some((key.clone(), hash.as_str()?.to_owned())))
            .collect();
        Self { path, known, changed: false }
    }

    /// The pin of an image.
    pub(crate) fn pin(&mut self, image: &Path) -> io::Result<ProgramPin> {
        let real = image.canonicalize()?;
        let path = real.to_string_lossy().into_owned();
        let Some(identity) = platform::identity(&real) else {
            return Ok(ProgramPin { sha256: digest::of_file(&real)?, path });
        };
        let key = format!("{identity}:{path}");
        if let Some(sha256) = self.known.get(&key) {
            return Ok(ProgramPin { sha256: sha256.clone(), path });
        }
        let sha256 = digest::of_file(&real)?;
        // Changed while it was read: the hash matches neither version.
        if platform::identity(&real).is_some_and(|now| now == identity) {
            // A replaced image is not requested any more.
            let place = format!(":{path}");
            self.known.retain(|known, _| !known.ends_with(&place));
            if self.known.len() >= MAX_REMEMBERED {
                self.known.clear();
            }
            self.known.insert(key, sha256.clone());
            self.changed = true;
        }
        Ok(ProgramPin { sha256, path })
    }

    /// Saves new entries. Failures are ignored, because everything can be computed again.
    pub(crate) fn save(&self) {
        if !self.changed {
            return;
        }
        let images: Map<String, Value> =
            self.known.iter().map(|(key, hash)| (key.clone(), hash.clone().into())).collect();
        let text = format!("{:#}\n", json!({ "version": VERSION, "images": images }));
        let _ = with_lock(&self.path, || {
            atomic::write(&self.path, text.as_bytes(), WriteOptions::PRIVATE)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(folder: &Path) -> StateFolders {
        let path = |name: &str| folder.join(name);
        StateFolders { data: path("data"), config: path("config"), cache: path("cache") }
    }

    #[test]
    fn hashes_are_remembered() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // A system file that has not changed in the last seconds.
        let image = Path::new("/bin/sh");
        let mut hashes = ImageHashes::load(&state(folder.path()));
        let pin = hashes.pin(image).expect("it can be read");
        hashes.save();
        let mut again = ImageHashes::load(&state(folder.path()));
        assert_eq!(again.pin(image).expect("it can be read"), pin);
        assert!(!again.changed, "nothing was hashed");
    }

    #[test]
    fn a_file_that_was_changed_just_now_is_hashed_each_time() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let image = folder.path().join("image");
        std::fs::write(&image, "one").expect("it can be written");
        let mut hashes = ImageHashes::load(&state(folder.path()));
        let one = hashes.pin(&image).expect("it can be read");
        assert!(!hashes.changed);
        // The same length, with the modification time set back.
        let before = std::fs::metadata(&image).and_then(|data| data.modified()).expect("a time");
        std::fs::write(&image, "two").expect("it can be written");
        let file = std::fs::File::options().write(true).open(&image).expect("it is ours");
        file.set_modified(before).expect("it is ours");
        assert_ne!(hashes.pin(&image).expect("it can be read").sha256, one.sha256);
    }
}
