//! Static embeddings: a table with one row per piece of a vocabulary; the vector of a text is the mean of its rows.
//!
//! No model is run, so a thousand texts take a second on one core. `WordLlama` publishes such tables.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::pieces::Pieces;
use super::{EmbedError, Embedder, EmbedderIdentity, EmbedderSource, MOST_DIMENSIONS};
use crate::document::hex;
use crate::error::{BaseError, reason};

/// Maximum size of a table, in bytes. `WordLlama`'s largest has 1024 columns and 128,000 rows.
const MOST_TABLE_BYTES: u64 = 1 << 30;
const MOST_VOCABULARY_BYTES: u64 = 1 << 26;
/// Maximum size of the header of a safetensors file, in bytes; with one table it has a hundred.
const MOST_HEAD_BYTES: usize = 1 << 20;
/// Maximum number of cached words.
const MOST_KNOWN_WORDS: usize = 1 << 16;

/// The folder of stored tables, next to the knowledge bases. No knowledge base can have this name.
const KEPT: &str = ".embedders";
const TABLE: &str = "table.safetensors";
const VOCABULARY: &str = "tokenizer.json";

/// A table of static embeddings and its vocabulary.
pub struct EmbeddingTable {
    stamp: EmbedderIdentity,
    pieces: Pieces,
    file: Vec<u8>,
    rows: usize,
    begin: usize,
    width: Width,
}

#[derive(Clone, Copy)]
enum Width {
    Half,
    Single,
}

impl Width {
    fn bytes(self) -> usize {
        match self {
            Self::Half => 2,
            Self::Single => 4,
        }
    }
}

impl EmbeddingTable {
    /// Reads a table (`.safetensors`) and the vocabulary next to it.
    pub fn read(path: &Path) -> Result<Self, EmbedError> {
        // The table first: an error about it comes before one about the vocabulary.
        let table = read_bounded(path, MOST_TABLE_BYTES)?;
        let vocabulary = vocabulary_of(path)?;
        let vocabulary = read_bounded(&vocabulary, MOST_VOCABULARY_BYTES)?;
        Self::of(table, &vocabulary).map_err(|error| EmbedError {
            message: format!("`{}`: {}", path.display(), error.message),
            ..error
        })
    }

    /// Reads a table and stores a copy next to the knowledge bases, which do not depend on the original file.
    pub fn keep(path: &Path, root: &Path) -> Result<Self, BaseError> {
        let table = Self::read(path)?;
        let EmbedderSource::Table { digest } = &table.stamp.source else { return Ok(table) };
        let folder = root.join(KEPT).join(digest);
        if folder.is_dir() {
            return Ok(table);
        }
        let keep = || {
            fs::create_dir_all(root.join(KEPT))?;
            // Atomically: another process may store the same table.
            let half = tempfile::tempdir_in(root.join(KEPT))?;
            fs::write(half.path().join(TABLE), &table.file)?;
            fs::copy(
                vocabulary_of(path).map_err(std::io::Error::other)?,
                half.path().join(VOCABULARY),
            )?;
            match fs::rename(half.path(), &folder) {
                Err(_) if folder.is_dir() => Ok(()),
                done => done,
            }
        };
        keep().map_err(BaseError::io("write", &folder))?;
        Ok(table)
    }

    /// Opens a stored table.
    pub(super) fn kept(root: &Path, digest: &str) -> Result<Self, EmbedError> {
        Self::read(&root.join(KEPT).join(digest).join(TABLE))
    }

    fn of(file: Vec<u8>, vocabulary: &[u8]) -> Result<Self, EmbedError> {
        let mut hash = Sha256::new();
        hash.update((file.len() as u64).to_le_bytes());
        hash.update(&file);
        hash.update(vocabulary);
        let digest = hex(&hash.finalize());
        let pieces = Pieces::read(vocabulary)?;
        let Head { rows, columns, begin, width } = head(&file)?;
        if pieces.largest().is_none_or(|largest| largest as usize >= rows) {
            return Err(EmbedError::new(format!(
                "the table has {rows} rows, fewer than its vocabulary has pieces"
            )));
        }
        let stamp =
            EmbedderIdentity { source: EmbedderSource::Table { digest }, dimension: columns };
        Ok(Self { stamp, pieces, file, rows, begin, width })
    }

    fn add_row(&self, row: usize, sum: &mut [f32]) {
        debug_assert!(row < self.rows);
        let bytes = self.width.bytes();
        let begin = self.begin + row * sum.len() * bytes;
        let row = &self.file[begin..begin + sum.len() * bytes];
        match self.width {
            Width::Half => {
                for (sum, half) in sum.iter_mut().zip(row.chunks_exact(2)) {
                    *sum += from_half(u16::from_le_bytes([half[0], half[1]]));
                }
            }
            Width::Single => {
                for (sum, single) in sum.iter_mut().zip(row.chunks_exact(4)) {
                    *sum += f32::from_le_bytes([single[0], single[1], single[2], single[3]]);
                }
            }
        }
    }
}

impl Embedder for EmbeddingTable {
    fn stamp(&self) -> &EmbedderIdentity {
        &self.stamp
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut known = HashMap::new();
        let vectors = texts.iter().map(|text| {
            if known.len() > MOST_KNOWN_WORDS {
                known.clear();
            }
            let mut sum = vec![0.0; self.stamp.dimension];
            let mut count = 0.0_f32;
            for piece in self.pieces.of(text, &mut known) {
                self.add_row(piece as usize, &mut sum);
                count += 1.0;
            }
            for number in &mut sum {
                *number /= count.max(1.0);
            }
            sum
        });
        Ok(vectors.collect())
    }
}

struct Head {
    rows: usize,
    columns: usize,
    begin: usize,
    width: Width,
}

/// Parses the header of a safetensors file with one table: eight bytes of length, that much JSON, then numbers.
fn head(file: &[u8]) -> Result<Head, EmbedError> {
    let odd =
        |what: &str| EmbedError::new(format!("the file is not a table of embeddings: {what}"));
    let length = file.first_chunk::<8>().ok_or_else(|| odd("it is too short"))?;
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let json = file
        .get(8..)
        .filter(|_| length <= MOST_HEAD_BYTES)
        .and_then(|rest| rest.get(..length))
        .ok_or_else(|| odd("it is not a safetensors file"))?;
    let json: Value = serde_json::from_slice(json).map_err(|error| odd(&error.to_string()))?;
    let tensors = json.as_object().ok_or_else(|| odd("its header is not an object"))?;
    let mut tables = tensors.iter().filter(|(name, _)| *name != "__metadata__");
    let (Some((_, tensor)), None) = (tables.next(), tables.next()) else {
        return Err(odd("it must contain exactly one table"));
    };
    let width = match tensor["dtype"].as_str() {
        Some("F16") => Width::Half,
        Some("F32") => Width::Single,
        other => {
            return Err(odd(&format!("its numbers are of type `{}`", other.unwrap_or("unknown"))));
        }
    };
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    let shape =
        tensor["shape"].as_array().map(|shape| shape.iter().map(number).collect::<Vec<_>>());
    let Some([Some(rows), Some(columns)]) = shape.as_deref() else {
        return Err(odd("it does not have two dimensions"));
    };
    let (rows, columns) = (*rows, *columns);
    let begin = number(&tensor["data_offsets"][0]).and_then(|begin| begin.checked_add(8 + length));
    let end = number(&tensor["data_offsets"][1]).and_then(|end| end.checked_add(8 + length));
    let size = rows.checked_mul(columns).and_then(|count| count.checked_mul(width.bytes()));
    match (begin, end) {
        (Some(begin), Some(end))
            if end <= file.len()
                && end.checked_sub(begin) == size
                && (1..=MOST_DIMENSIONS).contains(&columns) =>
        {
            Ok(Head { rows, columns, begin, width })
        }
        _ => Err(odd("its size does not match its shape")),
    }
}

/// The path of a table's vocabulary: next to it, or as in the package of `WordLlama`.
fn vocabulary_of(table: &Path) -> Result<PathBuf, EmbedError> {
    let folder = table.parent().unwrap_or(Path::new("."));
    let stem = table.file_stem().unwrap_or_default().to_string_lossy();
    let family = stem.rsplit_once('_').map_or(&*stem, |(family, _)| family);
    let candidates = [
        folder.join(VOCABULARY),
        folder.join(format!("{stem}.json")),
        folder.join(format!("../tokenizers/{family}_tokenizer_config.json")),
    ];
    candidates.iter().find(|path| path.is_file()).cloned().ok_or_else(|| {
        EmbedError::new(format!("there is no vocabulary next to `{}`", table.display()))
            .hint(format!("put the table's `{VOCABULARY}` into the same folder"))
    })
}

fn read_bounded(path: &Path, most: u64) -> Result<Vec<u8>, EmbedError> {
    let failed = |error: std::io::Error| {
        EmbedError::new(format!("cannot read `{}`: {}", path.display(), reason(&error))).hint(
            "name a file of static embeddings, such as WordLlama's `l2_supercat_256.safetensors`",
        )
    };
    let length = fs::metadata(path).map_err(failed)?.len();
    if length > most {
        return Err(EmbedError::new(format!(
            "`{}` has {length} bytes, the limit is {most}",
            path.display()
        )));
    }
    fs::read(path).map_err(failed)
}

/// IEEE 754 half precision to single.
fn from_half(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let exponent = u32::from(half >> 10) & 0x1F;
    let fraction = u32::from(half & 0x3FF);
    let bits = match (exponent, fraction) {
        (0, 0) => sign,
        // Subnormal: multiples of 2^-24.
        (0, _) => {
            let tiny = f32::from(half & 0x3FF) / 16_777_216.0;
            return if sign == 0 { tiny } else { -tiny };
        }
        (0x1F, _) => sign | 0x7F80_0000 | (fraction << 13),
        _ => sign | ((exponent + 112) << 23) | (fraction << 13),
    };
    f32::from_bits(bits)
}

#[cfg(test)]
mod tests;
