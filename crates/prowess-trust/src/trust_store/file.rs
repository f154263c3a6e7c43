//! The trust store on disk: one JSON file, replaced atomically under a lock.

use std::io;
use std::path::{Path, PathBuf};

use prowess_files::atomic::{self, MAX_SMALL_FILE_BYTES, WriteOptions};
use prowess_files::with_lock;
use serde_json::{Map, Value, json};

use super::{Accepted, NamePattern, Role, TrustStore, TrustedKey};
use crate::json;
use crate::material::{KINDS, Material};
use crate::timestamp::Timestamp;

/// The version of the file format.
const VERSION: u64 = 1;

/// Why the trust store can't be used. It is never treated as empty: that would silently lower the tier of every skill.
#[derive(Debug, thiserror::Error)]
pub enum TrustStoreError {
    /// It can't be read or written.
    #[error("the trust store `{}` can't be used: {source}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// It isn't a valid trust store.
    #[error("the trust store `{}` is damaged: {reason}; restore it from a backup, or move it away and add the keys again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A newer version of this program wrote it.
    #[error("the trust store `{}` has version {found}, but this program supports version {VERSION}; update the program", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// Its permissions allow others to add keys.
    #[error("others can change the trust store `{0}`; run `chmod 600 {0}`, and check `prowess trust list`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
    },
}

/// Reads the trust store; a missing file is an empty store.
pub fn load_trust_store(path: &Path) -> Result<TrustStore, TrustStoreError> {
    let disk = |source| TrustStoreError::Disk { path: path.to_owned(), source };
    let Some(bytes) = atomic::read(path, MAX_SMALL_FILE_BYTES).map_err(disk)? else {
        return Ok(TrustStore::empty());
    };
    if others_may_write(path).map_err(disk)? {
        return Err(TrustStoreError::Open { path: path.to_owned() });
    }
    let damaged = |reason| TrustStoreError::Damaged { path: path.to_owned(), reason };
    let value = json::read(&bytes).map_err(damaged)?;
    match value.get("version").and_then(Value::as_u64) {
        Some(VERSION) => read(value).map_err(damaged),
        Some(found) if found > VERSION => {
            Err(TrustStoreError::Newer { path: path.to_owned(), found })
        }
        _ => Err(damaged("it has no `version`".to_owned())),
    }
}

/// Updates the trust store under a lock: concurrent updates run one after the other.
pub fn update_trust_store<T>(
    path: &Path,
    change: impl FnOnce(&mut TrustStore) -> T,
) -> Result<T, TrustStoreError> {
    /// An error of the lock or of the update.
    enum Failure {
        Lock(io::Error),
        Store(TrustStoreError),
    }
    impl From<io::Error> for Failure {
        fn from(source: io::Error) -> Self {
            Failure::Lock(source)
        }
    }
    let outcome = with_lock(path, || {
        let mut store = load_trust_store(path).map_err(Failure::Store)?;
        let answer = change(&mut store);
        let text = format!("{:#}\n", written(&store));
        atomic::write(path, text.as_bytes(), WriteOptions::PRIVATE)?;
        Ok(answer)
    });
    outcome.map_err(|failure| match failure {
        Failure::Lock(source) => TrustStoreError::Disk { path: path.to_owned(), source },
        Failure::Store(error) => error,
    })
}

#[cfg(unix)]
fn others_may_write(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let data = std::fs::metadata(path)?;
    let owner = data.uid();
    let is_ours = owner == 0 || owner == rustix::process::geteuid().as_raw();
    Ok(data.mode() & 0o022 != 0 || !is_ours)
}

#[cfg(not(unix))]
fn others_may_write(_path: &Path) -> io::Result<bool> {
    Ok(false)
}

fn read(value: Value) -> Result<TrustStore, String> {
    let Value::Object(mut fields) = value else {
        return Err("it is not a JSON object".to_owned());
    };
    fields.remove("version");
    let mut store = TrustStore::empty();
    for entry in list(&mut fields, "keys")? {
        match read_key(entry)? {
            Ok(key) => store.keys.push(key),
            Err(foreign) => store.foreign.push(foreign),
        }
    }
    for entry in list(&mut fields, "accepted")? {
        let accepted = (|| {
            Some(Accepted {
                skill: json::text(&entry, "skill")?.to_owned(),
                key_id: json::text(&entry, "key_id")?.to_owned(),
                at: json::text(&entry, "at")?.parse().ok()?,
            })
        })();
        store
            .accepted
            .push(accepted.ok_or_else(|| format!("`accepted` has an invalid entry `{entry}`"))?);
    }
    store.extra = fields;
    Ok(store)
}

fn list(fields: &mut Map<String, Value>, key: &str) -> Result<Vec<Value>, String> {
    match fields.remove(key) {
        None => Ok(Vec::new()),
        Some(Value::Array(entries)) => Ok(entries),
        Some(_) => Err(format!("`{key}` is not a list")),
    }
}

/// An entry, or its JSON if its kind or role is unknown and may come from a newer version.
fn read_key(entry: Value) -> Result<Result<TrustedKey, Value>, String> {
    let (Some(kind), Some(role)) = (json::text(&entry, "kind"), json::text(&entry, "role")) else {
        return Err(format!("a key has no `kind` or no `role`: `{entry}`"));
    };
    let Ok(role) = role.parse::<Role>() else {
        return Ok(Err(entry));
    };
    if !KINDS.contains(&kind) {
        return Ok(Err(entry));
    }
    let kind = kind.to_owned();
    let Value::Object(mut fields) = entry else {
        return Err("a key is not a JSON object".to_owned());
    };
    let key = take_text(&mut fields, "key")?.ok_or("a key has no `key`")?;
    let material = Material::read(&key).map_err(|error| format!("the key `{key}`: {error}"))?;
    if material.kind() != kind {
        return Err(format!("the key `{key}` is listed as `{kind}`, but is `{}`", material.kind()));
    }
    // The identifier is for human readers; it is derived from the key.
    fields.remove("id");
    fields.remove("kind");
    fields.remove("role");
    let names = list(&mut fields, "names")?;
    let names: Result<Vec<NamePattern>, String> = names
        .iter()
        .map(|name| {
            let text =
                name.as_str().ok_or_else(|| format!("`names` has an invalid entry `{name}`"))?;
            text.parse().map_err(|error: super::NamePatternError| error.to_string())
        })
        .collect();
    Ok(Ok(TrustedKey {
        material,
        role,
        label: take_text(&mut fields, "label")?,
        names: names?,
        not_before: take_time(&mut fields, "not_before")?,
        not_after: take_time(&mut fields, "not_after")?,
        revoked_at: take_time(&mut fields, "revoked_at")?,
        added_at: take_time(&mut fields, "added_at")?,
        extra: fields,
    }))
}

fn take_text(fields: &mut Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match fields.remove(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(format!("`{key}` is `{other}`, expected a text")),
    }
}

/// Parses a time limit; an unreadable one is an error and not an absent limit.
fn take_time(fields: &mut Map<String, Value>, key: &str) -> Result<Option<Timestamp>, String> {
    let Some(text) = take_text(fields, key)? else {
        return Ok(None);
    };
    let moment = text.parse::<Timestamp>();
    moment.map(Some).map_err(|error| format!("`{key}`: {error}"))
}

fn written(store: &TrustStore) -> Value {
    let keys = store.keys.iter().map(written_key).chain(store.foreign.iter().cloned());
    let accepted = store.accepted.iter().map(|entry| {
        json!({
            "skill": entry.skill,
            "key_id": entry.key_id,
            "at": entry.at.to_string(),
        })
    });
    let mut fields = Map::new();
    fields.insert("version".to_owned(), Value::from(VERSION));
    fields.insert("keys".to_owned(), keys.collect());
    fields.insert("accepted".to_owned(), accepted.collect());
    fields.extend(store.extra.clone());
    Value::Object(fields)
}

fn written_key(key: &TrustedKey) -> Value {
    let mut fields = Map::new();
    fields.insert("id".to_owned(), Value::from(key.id()));
    fields.insert("kind".to_owned(), Value::from(key.material.kind()));
    fields.insert("key".to_owned(), Value::from(key.material.text()));
    fields.insert("role".to_owned(), Value::from(key.role.as_str()));
    if let Some(label) = &key.label {
        fields.insert("label".to_owned(), Value::from(label.as_str()));
    }
    fields.insert("names".to_owned(), key.names.iter().map(NamePattern::as_str).collect());
    let times = [
        ("not_before", key.not_before),
        ("not_after", key.not_after),
        ("revoked_at", key.revoked_at),
        ("added_at", key.added_at),
    ];
    for (name, moment) in times {
        if let Some(moment) = moment {
            fields.insert(name.to_owned(), Value::from(moment.to_string()));
        }
    }
    fields.extend(key.extra.clone());
    Value::Object(fields)
}
