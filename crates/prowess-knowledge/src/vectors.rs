//! The file of vectors: a header, then rows. Each number takes one byte.
//!
//! A row is a vector scaled so that its largest number is 127. This preserves the order of neighbours (see
//! `docs/design/knowledge.md`), and a search reads a quarter of what single precision would need.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::Column;
use tantivy::directory::{Directory as _, MmapDirectory, OwnedBytes};
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader};

use crate::embed::EmbedderIdentity;
use crate::error::BaseError;
use crate::schema;

pub(crate) const FILE: &str = "vectors";
/// Size of the header in bytes, so that rows are aligned.
pub(crate) const HEAD: usize = 64;
const MAGIC: &[u8; 8] = b"PRWVEC\x001";

/// The header of a file of vectors.
pub(crate) fn head(stamp: &EmbedderIdentity) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&(stamp.dimension as u64).to_le_bytes());
    head[16..48].copy_from_slice(&Sha256::digest(stamp.source.id()));
    head
}

/// The size of a row, in bytes.
pub(crate) fn row_bytes(dimension: usize) -> usize {
    4 + dimension
}

/// The byte range of a row in the file.
pub(crate) fn place(row: u64, row_bytes: usize) -> Option<Range<u64>> {
    let begin = row.checked_mul(row_bytes as u64)?.checked_add(HEAD as u64)?;
    Some(begin..begin.checked_add(row_bytes as u64)?)
}

/// Writes a vector as a row: a scale that normalises it, then its numbers.
pub(crate) fn row(vector: &[f32]) -> Vec<u8> {
    let (scale, numbers) = quantised(vector);
    let mut row = Vec::with_capacity(row_bytes(vector.len()));
    row.extend_from_slice(&scale.to_le_bytes());
    row.extend(numbers.iter().map(|number| number.to_le_bytes()[0]));
    row
}

/// Quantises a vector to integers up to 127, with the scale that normalises it. A zero vector has scale 0.
fn quantised(vector: &[f32]) -> (f32, Vec<i8>) {
    let largest = vector.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
    if largest == 0.0 || !largest.is_finite() || vector.iter().any(|number| number.is_nan()) {
        return (0.0, vec![0; vector.len()]);
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is between -127 and 127")]
    let numbers: Vec<i8> =
        vector.iter().map(|number| (number / largest * 127.0).round() as i8).collect();
    let squares: i32 = numbers.iter().map(|&number| i32::from(number) * i32::from(number)).sum();
    #[expect(clippy::cast_precision_loss, reason = "the length is one of a few million")]
    let length = (squares as f32).sqrt();
    (1.0 / length, numbers)
}

/// The rows of a file, memory-mapped.
#[derive(Clone)]
pub(crate) struct Rows {
    bytes: OwnedBytes,
    dimension: usize,
}

impl Rows {
    /// Maps the current rows. Later commits need a new mapping.
    pub(crate) fn open(folder: &Path, stamp: &EmbedderIdentity) -> Result<Self, BaseError> {
        let path = folder.join(FILE);
        let damaged = |reason: String| BaseError::Damaged { path: path.clone(), reason };
        // Tantivy's directory maps files without `unsafe` here; a new one does not reuse an earlier mapping.
        let bytes = MmapDirectory::open(folder)
            .map_err(|error| damaged(error.to_string()))?
            .open_read(Path::new(FILE))
            .map_err(|error| damaged(error.to_string()))?
            .read_bytes()
            .map_err(BaseError::io("read", &path))?;
        if bytes.get(..HEAD) != Some(head(stamp).as_slice()) {
            return Err(damaged(format!("its vectors are not from {stamp}")));
        }
        Ok(Self { bytes, dimension: stamp.dimension })
    }

    pub(crate) fn row(&self, row: u64) -> Option<&[u8]> {
        let place = place(row, row_bytes(self.dimension))?;
        self.bytes.get(usize::try_from(place.start).ok()?..usize::try_from(place.end).ok()?)
    }
}

/// Collects the chunks whose vectors are nearest to the query.
pub(crate) struct Nearest {
    rows: Rows,
    scale: f32,
    question: Arc<[i16]>,
    most: usize,
}

impl Nearest {
    pub(crate) fn new(rows: Rows, question: &[f32], most: usize) -> Self {
        let (scale, numbers) = quantised(question);
        let question = numbers.into_iter().map(i16::from).collect();
        Self { rows, scale, question, most }
    }
}

pub(crate) struct NearestInSegment {
    rows: Rows,
    scale: f32,
    question: Arc<[i16]>,
    most: usize,
    column: Column<u64>,
    segment: SegmentOrdinal,
    found: BinaryHeap<Near>,
}

/// A chunk and its cosine similarity. The farthest is the greatest, so that a heap drops it first.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Near {
    cosine: f32,
    address: DocAddress,
}

impl Eq for Near {}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        other.cosine.total_cmp(&self.cosine).then(self.address.cmp(&other.address))
    }
}

impl Collector for Nearest {
    type Fruit = Vec<(Score, DocAddress)>;
    type Child = NearestInSegment;

    fn for_segment(
        &self,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<NearestInSegment> {
        Ok(NearestInSegment {
            rows: self.rows.clone(),
            scale: self.scale,
            question: Arc::clone(&self.question),
            most: self.most,
            column: reader.fast_fields().u64(schema::VECTOR)?,
            segment,
            found: BinaryHeap::with_capacity(self.most + 1),
        })
    }

    fn requires_scoring(&self) -> bool {
        false
    }

    fn merge_fruits(&self, segments: Vec<Vec<Near>>) -> tantivy::Result<Self::Fruit> {
        let mut all: Vec<Near> = segments.into_iter().flatten().collect();
        all.sort_unstable();
        all.truncate(self.most);
        Ok(all.into_iter().map(|near| (near.cosine, near.address)).collect())
    }
}

impl SegmentCollector for NearestInSegment {
    type Fruit = Vec<Near>;

    fn collect(&mut self, doc: DocId, _: Score) {
        let Some(row) = self.column.first(doc).and_then(|row| self.rows.row(row)) else { return };
        let (Some(scale), numbers) = (row.first_chunk::<4>(), &row[4..]) else { return };
        let scale = f32::from_le_bytes(*scale);
        #[expect(clippy::cast_precision_loss, reason = "a cosine needs no more")]
        let cosine = dot(&self.question, numbers) as f32 * scale * self.scale;
        // A cosine of zero or less means that the two are unrelated.
        if cosine <= 0.0 {
            return;
        }
        let near = Near { cosine, address: DocAddress::new(self.segment, doc) };
        if self.found.len() < self.most {
            self.found.push(near);
        } else if let Some(mut farthest) = self.found.peek_mut()
            && near < *farthest
        {
            *farthest = near;
        }
    }

    fn harvest(self) -> Vec<Near> {
        self.found.into_vec()
    }
}

/// The dot product, sixteen numbers at a time, which the compiler vectorises.
fn dot(question: &[i16], numbers: &[u8]) -> i32 {
    let mut sums = [0_i32; 16];
    let mut questions = question.chunks_exact(16);
    let mut rows = numbers.chunks_exact(16);
    for (question, row) in (&mut questions).zip(&mut rows) {
        for lane in 0..16 {
            sums[lane] += i32::from(question[lane]) * i32::from(row[lane].cast_signed());
        }
    }
    let rest = questions.remainder().iter().zip(rows.remainder());
    let rest: i32 =
        rest.map(|(&question, &row)| i32::from(question) * i32::from(row.cast_signed())).sum();
    sums.iter().sum::<i32>() + rest
}

#[cfg(test)]
mod tests {
    use super::{dot, quantised, row};

    /// The cosine of two vectors by rows.
    fn cosine(left: &[f32], right: &[f32]) -> f32 {
        let (scale, question) = quantised(left);
        let question: Vec<i16> = question.into_iter().map(i16::from).collect();
        let row = row(right);
        let of_row = f32::from_le_bytes([row[0], row[1], row[2], row[3]]);
        #[expect(clippy::cast_precision_loss, reason = "a test of small numbers")]
        let product = dot(&question, &row[4..]) as f32;
        product * scale * of_row
    }

    #[test]
    fn one_byte_per_number_preserves_the_cosine() {
        let wave = |phase: f32| -> Vec<f32> {
            (0_u8..35).map(|at| (f32::from(at) * 0.7 + phase).sin()).collect()
        };
        for phase in [0.0, 0.1, 0.5, 1.0, 2.0, 3.0] {
            let (left, right) = (wave(0.0), wave(phase));
            let product: f32 = left.iter().zip(&right).map(|(left, right)| left * right).sum();
            let length =
                |vector: &[f32]| vector.iter().map(|number| number * number).sum::<f32>().sqrt();
            let exact = product / length(&left) / length(&right);
            assert!((cosine(&left, &right) - exact).abs() < 0.01, "{phase}");
        }
    }

    #[test]
    fn a_zero_vector_matches_nothing() {
        for odd in [[0.0, 0.0], [f32::NAN, 1.0], [f32::INFINITY, 1.0]] {
            assert!(cosine(&odd, &[1.0, 1.0]).abs() < f32::EPSILON);
        }
    }
}
