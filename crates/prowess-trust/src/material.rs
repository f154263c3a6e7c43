//! What a trust store may hold: keys and certificates of every scheme, in the forms in which people hand them around.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::key::PublicKey;

/// Something to check signatures with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Material {
    /// A bare public key, for `SIGNATURE.json` or for `skill.oms.sig`.
    Key(PublicKey),
    /// A minisign key: the base64 of its file's second line.
    Minisign(String),
}

/// A text that is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaterialError {
    /// Nothing about it is known.
    #[error(
        "this is no public key; expected a line of `prowess key export`, the base64 of an Ed25519 key, or a minisign key"
    )]
    Unknown,
    /// It is a secret key.
    #[error("this is a secret key, which nobody else should have; add its public half instead")]
    Secret,
}

impl Material {
    /// Reads a key in whatever form it has.
    pub fn read(text: &str) -> Result<Material, MaterialError> {
        let text = text.trim();
        if text.contains("PRIVATE KEY") || text.contains("minisign encrypted secret key") {
            return Err(MaterialError::Secret);
        }
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let line = match lines.as_slice() {
            [line] => line,
            [comment, line] if comment.starts_with("untrusted comment:") => line,
            _ => return Err(MaterialError::Unknown),
        };
        if minisign_verify::PublicKey::from_base64(line).is_ok() {
            return Ok(Material::Minisign((*line).to_owned()));
        }
        PublicKey::from_line(line).map(Material::Key).ok_or(MaterialError::Unknown)
    }

    /// The word for its kind in the trust store's file.
    pub fn kind(&self) -> &'static str {
        match self {
            Material::Key(key) => key.kind().as_str(),
            Material::Minisign(_) => "minisign",
        }
    }

    /// The text that [`Material::read`] makes the same of again.
    pub fn text(&self) -> String {
        match self {
            Material::Key(key) => key.line(),
            Material::Minisign(key) => key.clone(),
        }
    }

    /// How it is called, in the way that its own tools call it.
    #[expect(clippy::missing_panics_doc, reason = "`read` has checked what is taken apart here")]
    pub fn id(&self) -> String {
        match self {
            Material::Key(key) => key.id(),
            Material::Minisign(key) => {
                minisign_id(key).expect("only a readable key becomes `Material`")
            }
        }
    }
}

/// The kinds of [`Material::kind`], for telling an entry from the future from a broken one.
pub(crate) const KINDS: &[&str] = &["ed25519", "p256", "p384", "minisign"];

/// The number of a minisign key as minisign prints it, from the base64 of a key or a signature.
pub(crate) fn minisign_id(base64: &str) -> Option<String> {
    let bytes = STANDARD.decode(base64.trim()).ok()?;
    let number = <[u8; 8]>::try_from(bytes.get(2..10)?).ok()?;
    Some(format!("{:016X}", u64::from_le_bytes(number)))
}
