//! Downloads of one archive, or one `SKILL.md`, from an address given by the user.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prowess_package::digest::Sha256Digest;
use prowess_package::limits::PackageLimits;
use prowess_store::source::{
    FetchedFiles, Offer, Offers, Pinned, SourceError, SourceErrorKind, declared_name, tree_of_file,
};

use crate::archives::Archives;
use crate::web::{Ask, ChosenBy, Web, not_found, parse, shown, unreachable};

/// Time limit for downloading an archive.
pub(super) const DOWNLOAD: Duration = Duration::from_mins(5);

/// A source that downloads single files.
pub(crate) struct Addresses {
    web: Arc<Web>,
    limits: PackageLimits,
    archives: Archives,
    /// The last file that was downloaded: an offer is usually fetched right after it was listed.
    last: Mutex<Option<(String, Vec<u8>)>>,
}

impl Addresses {
    pub(crate) fn new(web: Arc<Web>, limits: PackageLimits, archives: Archives) -> Self {
        Self { web, limits, archives, last: Mutex::default() }
    }

    pub(crate) fn offers(&self, address: &str) -> Result<Offers, SourceError> {
        let url = parse(address)?;
        let bytes = self.download(address)?;
        let sha256 = format!("sha256:{}", Sha256Digest::of(&bytes));
        let fetched = tree_of_file(&shown(&url), bytes.clone(), &self.limits)?;
        let place = url.path_segments().and_then(|mut parts| parts.next_back()).unwrap_or_default();
        let name = declared_name(fetched.tree.manifest(), place);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((sha256.clone(), bytes));
        let pinned = Pinned::File { location: address.to_owned(), sha256 };
        let offer = Offer { name, pinned, owner: None, published: None };
        Ok(Offers { skills: vec![offer], notes: fetched.notes })
    }

    pub(crate) fn fetch(&self, address: &str, sha256: &str) -> Result<FetchedFiles, SourceError> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).take();
        let bytes = match last {
            Some((known, bytes)) if known == sha256 => bytes,
            _ => match self.archives.get(sha256, &self.limits) {
                Some(bytes) => bytes,
                None => self.download(address)?,
            },
        };
        let url = parse(address)?;
        compared(&shown(&url), &bytes, sha256)?;
        self.archives.keep(&bytes);
        tree_of_file(&shown(&url), bytes, &self.limits)
    }

    fn download(&self, address: &str) -> Result<Vec<u8>, SourceError> {
        let url = parse(address)?;
        let reply = self.web.get(&Ask {
            url: &url,
            accept: "*/*",
            most: self.limits.archive_bytes,
            limit: DOWNLOAD,
            chosen_by: ChosenBy::User,
            etag: None,
            token: None,
        })?;
        match reply.status {
            200 => Ok(reply.body),
            404 | 410 => Err(not_found(format!("there is nothing at `{}`", shown(&url)))
                .advice("check the spelling")),
            401 | 403 => Err(SourceError::new(
                SourceErrorKind::Denied,
                format!("access to `{}` was denied (status {})", shown(&url), reply.status),
            )
            .advice("download it yourself, and install the file")),
            status => Err(unreachable(format!("`{}` answered with status {status}", shown(&url)))
                .advice("try again later")),
        }
    }
}

/// Verifies that bytes have the promised digest, `sha256:` and 64 hexadecimal digits (attack registry-C1).
pub(super) fn compared(place: &str, bytes: &[u8], promised: &str) -> Result<(), SourceError> {
    let found = format!("sha256:{}", Sha256Digest::of(bytes));
    if found == promised {
        return Ok(());
    }
    Err(SourceError::new(
        SourceErrorKind::Mismatch,
        format!(
            "`{place}` does not match its digest: got {found}, expected {}",
            super::short(promised)
        ),
    )
    .advice("do not install it; report it to the publisher"))
}
