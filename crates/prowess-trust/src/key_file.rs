//! Secret keys on disk: a folder and files that only their owner may read, optionally encrypted with a passphrase.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use prowess_files::atomic::{self, Existing, MAX_SMALL_FILE_BYTES, WriteOptions};
use prowess_files::private::{is_private, private_folder};
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use crate::json;
use crate::key::{GenerateError, PublicKey, SecretKey};

/// The version of the file format.
const VERSION: u64 = 1;
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 24;

/// The name of a key: one safe path component.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyName(String);

/// The error for an invalid key name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` can't be the name of a key, expected up to 64 letters, digits, `-`, `_` and `.`, a letter or digit first"
)]
pub struct KeyNameError(String);

/// The folder of the user's keys.
#[derive(Clone, Debug)]
pub struct KeyFolder {
    path: PathBuf,
}

/// The cost of deriving a key from a passphrase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyDerivationCost {
    /// Memory in KiB.
    pub memory: u32,
    /// Number of passes over the memory.
    pub passes: u32,
}

/// A key of the folder, without its secret key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedKey {
    /// Its name.
    pub name: KeyName,
    /// Its public key.
    pub public: PublicKey,
    /// Whether it has a passphrase.
    pub is_locked: bool,
}

/// Why a key can't be created or used. No message contains parts of a key or a passphrase.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// It can't be read or written.
    #[error("the key file `{}` can't be used: {source}", path.display())]
    Disk {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// There is no such key.
    #[error("there is no key `{name}` in `{}`; create one with `prowess key new {name}`", folder.display())]
    Missing {
        /// The name.
        name: KeyName,
        /// The folder.
        folder: PathBuf,
    },
    /// The key already exists. It is never overwritten: that would lose a key in use.
    #[error("the key `{name}` already exists (`{}`); choose another name, or move that file", path.display())]
    Exists {
        /// The name.
        name: KeyName,
        /// The file.
        path: PathBuf,
    },
    /// Its permissions allow others to read it.
    #[error("others can read `{0}`; run `chmod {mode} {0}`, and make a new key if others could have read this one", path.display())]
    Open {
        /// The file or folder.
        path: PathBuf,
        /// The mode it should have.
        mode: &'static str,
    },
    /// It isn't a valid key file.
    #[error("the key file `{}` is damaged: {reason}; restore it from a backup", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// It has a passphrase, but none was given.
    #[error("the key `{0}` has a passphrase")]
    Locked(KeyName),
    /// The passphrase is wrong, or the file was changed: the two can't be distinguished.
    #[error("the passphrase of the key `{0}` is wrong, or its file was changed")]
    WrongPassphrase(KeyName),
    /// The system provided no random bytes.
    #[error(transparent)]
    Random(#[from] GenerateError),
}

impl KeyDerivationCost {
    /// About half a second on current machines, with 64 MiB (RFC 9106 §4, the second recommendation).
    pub const USUAL: KeyDerivationCost = KeyDerivationCost { memory: 64 * 1024, passes: 3 };

    /// Maximum cost: a higher one in a file would be a denial of service.
    const MOST: KeyDerivationCost = KeyDerivationCost { memory: 1024 * 1024, passes: 16 };
}

impl KeyFolder {
    /// Opens a folder of keys, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Stores a new key, with mode 0600 in a folder with mode 0700. Existing keys are never overwritten.
    pub fn keep(
        &self,
        name: &KeyName,
        key: &SecretKey,
        lock: Option<(&str, KeyDerivationCost)>,
    ) -> Result<PathBuf, KeyFileError> {
        let path = self.file(name);
        let disk = |source| KeyFileError::Disk { path: path.clone(), source };
        private_folder(&self.path).map_err(disk)?;
        self.check_folder()?;
        let text = written(key, lock)?;
        let options = WriteOptions { existing: Existing::Keep, ..WriteOptions::PRIVATE };
        match atomic::write(&path, text.as_bytes(), options) {
            Ok(()) => Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(KeyFileError::Exists { name: name.clone(), path })
            }
            Err(source) => Err(KeyFileError::Disk { path, source }),
        }
    }

    /// Opens a key. Files and folders that others may read are rejected, and so are symbolic links.
    pub fn open(
        &self,
        name: &KeyName,
        passphrase: Option<&str>,
    ) -> Result<SecretKey, KeyFileError> {
        let stored = self.read(name)?;
        let secret = match (stored.secret, passphrase) {
            (Stored::Open(secret), _) => secret,
            (Stored::Locked(_), None) => return Err(KeyFileError::Locked(name.clone())),
            (Stored::Locked(locked), Some(passphrase)) => locked
                .unlock(passphrase, &stored.public)
                .ok_or_else(|| KeyFileError::WrongPassphrase(name.clone()))?,
        };
        let key = match &stored.public {
            PublicKey::Ed25519(_) => {
                <&[u8; 32]>::try_from(secret.as_slice()).ok().map(SecretKey::from_seed)
            }
            PublicKey::P256(_) => SecretKey::from_pkcs8(secret),
            PublicKey::P384(_) => None,
        };
        // With a public key that doesn't match, no signature could be verified.
        key.filter(|key| key.public() == stored.public).ok_or_else(|| KeyFileError::Damaged {
            path: self.file(name),
            reason: "its public and secret keys do not match".to_owned(),
        })
    }

    /// Removes a key permanently and returns its public key. Without a copy of the file it can't be used for signing
    /// any more.
    pub fn remove(&self, name: &KeyName) -> Result<PublicKey, KeyFileError> {
        let public = self.read(name)?.public;
        let path = self.file(name);
        fs::remove_file(&path).map_err(|source| KeyFileError::Disk { path, source })?;
        Ok(public)
    }

    /// The public key, for which no passphrase is needed.
    pub fn public(&self, name: &KeyName) -> Result<PublicKey, KeyFileError> {
        Ok(self.read(name)?.public)
    }

    /// Lists all keys by name.
    pub fn list(&self) -> Result<Vec<ListedKey>, KeyFileError> {
        let disk = |source| KeyFileError::Disk { path: self.path.clone(), source };
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(disk(error)),
        };
        let mut keys = Vec::new();
        for entry in entries {
            let file = entry.map_err(disk)?.file_name();
            let name = file.to_str().and_then(|file| file.strip_suffix(".key"));
            let Some(name) = name.and_then(|name| name.parse::<KeyName>().ok()) else {
                continue;
            };
            let stored = self.read(&name)?;
            let is_locked = matches!(stored.secret, Stored::Locked(_));
            keys.push(ListedKey { name, public: stored.public, is_locked });
        }
        keys.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(keys)
    }

    fn file(&self, name: &KeyName) -> PathBuf {
        self.path.join(format!("{name}.key"))
    }

    fn check_folder(&self) -> Result<(), KeyFileError> {
        let disk = |source| KeyFileError::Disk { path: self.path.clone(), source };
        if is_private(&fs::metadata(&self.path).map_err(disk)?) {
            return Ok(());
        }
        Err(KeyFileError::Open { path: self.path.clone(), mode: "700" })
    }

    fn read(&self, name: &KeyName) -> Result<StoredKey, KeyFileError> {
        let path = self.file(name);
        let file = match open_no_link(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(KeyFileError::Missing {
                    name: name.clone(),
                    folder: self.path.clone(),
                });
            }
            Err(source) => return Err(KeyFileError::Disk { path, source }),
        };
        self.check_folder()?;
        let disk = |source| KeyFileError::Disk { path: path.clone(), source };
        // The mode is read from the open file, so that it is the mode of the file that is read.
        if !is_private(&file.metadata().map_err(disk)?) {
            return Err(KeyFileError::Open { path, mode: "600" });
        }
        let bytes = Zeroizing::new(atomic::read_open(file, MAX_SMALL_FILE_BYTES).map_err(disk)?);
        StoredKey::read(&bytes).map_err(|reason| KeyFileError::Damaged { path, reason })
    }
}

impl FromStr for KeyName {
    type Err = KeyNameError;

    fn from_str(text: &str) -> Result<Self, KeyNameError> {
        let starts_well = text.starts_with(|first: char| first.is_ascii_alphanumeric());
        let allowed =
            |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        if !starts_well || text.len() > 64 || !text.chars().all(allowed) {
            return Err(KeyNameError(text.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A parsed key file.
struct StoredKey {
    public: PublicKey,
    secret: Stored,
}

enum Stored {
    Open(Zeroizing<Vec<u8>>),
    Locked(LockedSecret),
}

struct LockedSecret {
    cost: KeyDerivationCost,
    salt: Vec<u8>,
    nonce: [u8; NONCE_BYTES],
    ciphertext: Vec<u8>,
}

impl StoredKey {
    fn read(bytes: &[u8]) -> Result<StoredKey, String> {
        let mut value = json::read(bytes)?;
        if value.get("version").and_then(Value::as_u64) != Some(VERSION) {
            return Err(format!("its version is not {VERSION}"));
        }
        let public = json::text(&value, "public_key").and_then(PublicKey::from_line);
        let public = public.ok_or("it has no `public_key`")?;
        let secret = value.get_mut("secret").map(Value::take);
        if let Some(Value::String(secret)) = secret {
            let secret = Zeroizing::new(secret);
            let secret =
                STANDARD.decode(secret.as_bytes()).map_err(|_| "`secret` is not base64")?;
            return Ok(StoredKey { public, secret: Stored::Open(Zeroizing::new(secret)) });
        }
        let locked = value.get("locked").ok_or("it has neither `secret` nor `locked`")?;
        let locked = LockedSecret::read(locked).ok_or("`locked` can't be read")?;
        Ok(StoredKey { public, secret: Stored::Locked(locked) })
    }
}

impl LockedSecret {
    fn read(value: &Value) -> Option<LockedSecret> {
        if json::text(value, "kdf")? != "argon2id"
            || json::text(value, "cipher")? != "xchacha20-poly1305"
        {
            return None;
        }
        let number = |key: &str| u32::try_from(value.get(key)?.as_u64()?).ok();
        let cost = KeyDerivationCost { memory: number("memory_kib")?, passes: number("passes")? };
        if cost.memory > KeyDerivationCost::MOST.memory
            || cost.passes > KeyDerivationCost::MOST.passes
        {
            return None;
        }
        let bytes = |key: &str| STANDARD.decode(json::text(value, key)?).ok();
        Some(LockedSecret {
            cost,
            salt: bytes("salt")?,
            nonce: bytes("nonce")?.try_into().ok()?,
            ciphertext: bytes("ciphertext")?,
        })
    }

    fn unlock(&self, passphrase: &str, public: &PublicKey) -> Option<Zeroizing<Vec<u8>>> {
        let key = stretched(passphrase, &self.salt, self.cost)?;
        let cipher = XChaCha20Poly1305::new_from_slice(key.as_ref()).ok()?;
        let bound = bound_text(public);
        let payload = Payload { msg: &self.ciphertext, aad: bound.as_bytes() };
        cipher.decrypt(&XNonce::from(self.nonce), payload).ok().map(Zeroizing::new)
    }
}

/// The text of a key file, written without a serializer, so that no copy of the secret is left in memory.
fn written(
    key: &SecretKey,
    lock: Option<(&str, KeyDerivationCost)>,
) -> Result<Zeroizing<String>, GenerateError> {
    let public = key.public();
    let secret = key.secret_bytes();
    let line = public.line();
    let Some((passphrase, cost)) = lock else {
        let secret = Zeroizing::new(STANDARD.encode(secret.as_slice()));
        return Ok(Zeroizing::new(format!(
            "{{\n  \"version\": {VERSION},\n  \"public_key\": \"{line}\",\n  \"secret\": \"{}\"\n}}\n",
            secret.as_str()
        )));
    };
    let mut salt = [0; SALT_BYTES];
    let mut nonce = [0; NONCE_BYTES];
    getrandom::fill(&mut salt).map_err(|_| GenerateError)?;
    getrandom::fill(&mut nonce).map_err(|_| GenerateError)?;
    let stretched = stretched(passphrase, &salt, cost).ok_or(GenerateError)?;
    let cipher = XChaCha20Poly1305::new_from_slice(stretched.as_ref())
        .expect("the key has the length that the cipher wants");
    let bound = bound_text(&public);
    let payload = Payload { msg: &secret, aad: bound.as_bytes() };
    let ciphertext = cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| GenerateError)?;
    let mut fields = Map::new();
    fields.insert("version".to_owned(), Value::from(VERSION));
    fields.insert("public_key".to_owned(), Value::from(line));
    fields.insert(
        "locked".to_owned(),
        json!({
            "kdf": "argon2id",
            "memory_kib": cost.memory,
            "passes": cost.passes,
            "salt": STANDARD.encode(salt),
            "cipher": "xchacha20-poly1305",
            "nonce": STANDARD.encode(nonce),
            "ciphertext": STANDARD.encode(ciphertext),
        }),
    );
    Ok(Zeroizing::new(format!("{:#}\n", Value::Object(fields))))
}

/// The associated data of the encryption: it binds the public key to the encrypted secret, so that it can't be
/// replaced.
fn bound_text(public: &PublicKey) -> String {
    format!("prowess key v{VERSION} {}", public.line())
}

fn stretched(
    passphrase: &str,
    salt: &[u8],
    cost: KeyDerivationCost,
) -> Option<Zeroizing<[u8; 32]>> {
    let params = Params::new(cost.memory, cost.passes, 1, Some(32)).ok()?;
    let mut key = Zeroizing::new([0; 32]);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into(passphrase.as_bytes(), salt, key.as_mut())
        .ok()?;
    Some(key)
}

#[cfg(unix)]
fn open_no_link(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).expect("flags of `open` are small numbers");
    File::options().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open_no_link(path: &Path) -> io::Result<File> {
    File::open(path)
}
