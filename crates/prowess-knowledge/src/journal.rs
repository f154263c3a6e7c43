//! An append-only file. Committed bytes do not change until no commit refers to them; then they can be erased in place.
//!
//! The committed length is part of the commit of the index, which is one rename. A process that ends before its commit
//! leaves bytes after the committed ones; they are never read, and the next writer truncates them.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
#[cfg(not(unix))]
use std::sync::Mutex;

use crate::error::BaseError;

/// Size of the write buffer, in bytes.
const BUFFER: usize = 1 << 18;
/// The byte that erased ranges are overwritten with. Texts of documents rarely contain it.
pub(crate) const ERASED: u8 = 0;

/// The writing end of a journal.
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// Number of bytes in the file.
    written: u64,
    waiting: Vec<u8>,
}

impl Journal {
    /// Opens a file and truncates what was not committed.
    pub(crate) fn open(path: &Path, committed: u64) -> Result<Self, BaseError> {
        let open = || {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)?;
            let length = file.metadata()?.len();
            if length > committed {
                file.set_len(committed)?;
            }
            file.seek(SeekFrom::Start(committed))?;
            Ok((file, length))
        };
        let (file, length) = open().map_err(BaseError::io("open", path))?;
        if length < committed {
            return Err(BaseError::Damaged {
                path: path.to_owned(),
                reason: format!("it has {length} bytes and {committed} were committed"),
            });
        }
        Ok(Self { path: path.to_owned(), file, written: committed, waiting: Vec::new() })
    }

    /// The offset of the next byte.
    pub(crate) fn end(&self) -> u64 {
        self.written + self.waiting.len() as u64
    }

    /// Appends bytes and returns their offset.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<u64, BaseError> {
        let at = self.end();
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= BUFFER {
            self.write_out()?;
        }
        Ok(at)
    }

    /// Flushes everything to disk.
    pub(crate) fn sync(&mut self) -> Result<(), BaseError> {
        self.write_out()?;
        self.file.sync_data().map_err(BaseError::io("write", &self.path))
    }

    /// Overwrites bytes of removed documents. The next `sync` makes it durable.
    pub(crate) fn erase(&mut self, ranges: &[Range<u64>]) -> Result<(), BaseError> {
        static STEP: [u8; 1 << 16] = [ERASED; 1 << 16];
        self.write_out()?;
        let written = self.written;
        let mut erase = || {
            for range in ranges {
                // A damaged list must not extend the file.
                let end = range.end.min(written);
                self.file.seek(SeekFrom::Start(range.start))?;
                let mut at = range.start;
                while at < end {
                    let length = usize::try_from(end - at).unwrap_or(STEP.len()).min(STEP.len());
                    self.file.write_all(&STEP[..length])?;
                    at += length as u64;
                }
            }
            self.file.seek(SeekFrom::Start(written)).map(drop)
        };
        erase().map_err(BaseError::io("write", &self.path))
    }

    fn write_out(&mut self) -> Result<(), BaseError> {
        self.file.write_all(&self.waiting).map_err(BaseError::io("write", &self.path))?;
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }
}

/// The reading end of a journal.
pub(crate) struct JournalReader {
    path: PathBuf,
    #[cfg(unix)]
    file: File,
    /// Serialises reads on systems without positioned reads.
    #[cfg(not(unix))]
    file: Mutex<File>,
}

impl JournalReader {
    pub(crate) fn open(path: &Path) -> Result<Self, BaseError> {
        let file = File::open(path).map_err(BaseError::io("open", path))?;
        #[cfg(not(unix))]
        let file = Mutex::new(file);
        Ok(Self { path: path.to_owned(), file })
    }

    /// Reads a range.
    pub(crate) fn read(&self, range: Range<u64>) -> Result<Vec<u8>, BaseError> {
        /// Ranges up to this size are read without checking the length of the file, which takes as long as the read.
        const SMALL: usize = 1 << 20;
        let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let read = || {
            // A damaged range must not cause a large allocation.
            if length > SMALL && range.end > self.length()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let mut bytes = vec![0; length];
            self.read_exact_at(&mut bytes, range.start)?;
            Ok(bytes)
        };
        read().map_err(BaseError::io("read", &self.path))
    }

    /// Reads from an offset up to a line break, exclusive.
    pub(crate) fn read_line(&self, at: u64, most: u64) -> Result<Vec<u8>, BaseError> {
        const STEP: u64 = 512;
        let length = self.length().map_err(BaseError::io("read", &self.path))?;
        let mut line = Vec::new();
        let mut from = at;
        while from < length && from - at < most {
            let piece = self.read(from..length.min(from + STEP.max(from - at)))?;
            from += piece.len() as u64;
            if let Some(end) = piece.iter().position(|&byte| byte == b'\n') {
                line.extend_from_slice(&piece[..end]);
                return Ok(line);
            }
            line.extend_from_slice(&piece);
        }
        Err(BaseError::Damaged {
            path: self.path.clone(),
            reason: format!("the record at byte {at} has no end"),
        })
    }

    #[cfg(unix)]
    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_exact_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, at)
    }

    #[cfg(not(unix))]
    fn length(&self) -> io::Result<u64> {
        let file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(file.metadata()?.len())
    }

    #[cfg(not(unix))]
    fn read_exact_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        use std::io::Read as _;
        // Every read seeks first, so a poisoned lock does no harm.
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(bytes)
    }
}
