//! Reciprocal rank fusion: combines several rankings into one.

use std::collections::HashMap;
use std::hash::Hash;

/// The constant of Cormack, Clarke and Büttcher, SIGIR 2009.
const K: f64 = 60.0;

/// Fuses rankings, best first. Items with equal sums keep their order of first occurrence.
pub(crate) fn fuse<T: Copy + Eq + Hash>(rankings: &[&[T]]) -> Vec<(T, f64)> {
    let mut places: HashMap<T, usize> = HashMap::new();
    let mut fused: Vec<(T, f64)> = Vec::new();
    for ranking in rankings {
        let mut rank = 0.0;
        for &item in *ranking {
            rank += 1.0;
            let place = *places.entry(item).or_insert(fused.len());
            if place == fused.len() {
                fused.push((item, 0.0));
            }
            fused[place].1 += 1.0 / (K + rank);
        }
    }
    fused.sort_by(|left, right| right.1.total_cmp(&left.1));
    fused
}

#[cfg(test)]
mod tests {
    use super::fuse;

    #[test]
    fn items_of_both_rankings_come_first() {
        let fused = fuse(&[&["a", "b", "c"], &["c", "d"]]);
        let order: Vec<&str> = fused.iter().map(|(item, _)| *item).collect();
        assert_eq!(order, ["c", "a", "b", "d"]);
        assert!((fused[0].1 - (1.0 / 63.0 + 1.0 / 61.0)).abs() < 1e-12);
    }
}
