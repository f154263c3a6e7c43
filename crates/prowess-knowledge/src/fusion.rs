//! Several rankings to one: reciprocal rank fusion.

use std::collections::HashMap;
use std::hash::Hash;

/// Cormack, Clarke and Büttcher, SIGIR 2009.
const K: f64 = 60.0;

/// Fuses rankings, best first. Equal sums keep the order in which they were first seen.
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
    fn what_both_find_comes_first() {
        let fused = fuse(&[&["a", "b", "c"], &["c", "d"]]);
        let order: Vec<&str> = fused.iter().map(|(item, _)| *item).collect();
        assert_eq!(order, ["c", "a", "b", "d"]);
        assert!((fused[0].1 - (1.0 / 63.0 + 1.0 / 61.0)).abs() < 1e-12);
    }
}
