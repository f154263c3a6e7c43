//! Compares versions of Python with the range that a skill requires (GAIA §2.1).

/// Major, minor and micro.
pub(crate) type Version = [u64; 3];

const OPERATORS: &[&str] = &["==", ">=", "<=", "~=", "!=", "^", "~", ">", "<", "="];

/// Whether a version is in a range such as `>=3.10,<4`. An invalid range contains no version.
///
/// Order comparisons follow PEP 440. Equality compares only the numbers that are written, so that `==3.11` contains
/// 3.11.7.
pub(super) fn holds(range: &str, version: Version) -> bool {
    range.split(',').all(|part| part_holds(part.trim(), version) == Some(true))
}

fn part_holds(part: &str, version: Version) -> Option<bool> {
    let operator = OPERATORS.iter().find(|operator| part.starts_with(**operator)).copied();
    let wanted = part[operator.unwrap_or("").len()..].trim().trim_end_matches(".*");
    // A suffix after a hyphen or a plus is a build, and no released Python has one.
    let numbers = wanted.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<u64> = numbers.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    let mut bound: Version = [0; 3];
    bound.get_mut(..numbers.len())?.copy_from_slice(&numbers);
    let same = |count: usize| version[..count] == bound[..count];
    Some(match operator.unwrap_or("==") {
        ">=" => version >= bound,
        "<=" => version <= bound,
        ">" => version > bound,
        "<" => version < bound,
        "!=" => !same(numbers.len()),
        // R18: all but the last number must be equal.
        "~=" => version >= bound && same(numbers.len().saturating_sub(1)),
        "~" => version >= bound && same(numbers.len().min(2)),
        "^" => version >= bound && same(1),
        _ => same(numbers.len()),
    })
}

/// A version as text.
pub(super) fn text(version: Version) -> String {
    version.map(|number| number.to_string()).join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_what_they_say() {
        let cases: &[(&str, &[Version], &[Version])] = &[
            (">=3.10", &[[3, 10, 0], [3, 11, 7], [4, 0, 0]], &[[3, 9, 18]]),
            (">=3.10,<3.13", &[[3, 12, 9]], &[[3, 13, 0]]),
            ("3.11", &[[3, 11, 0], [3, 11, 7]], &[[3, 12, 0]]),
            ("==3.11.*", &[[3, 11, 7]], &[[3, 10, 0]]),
            ("!=3.11", &[[3, 12, 0]], &[[3, 11, 7]]),
            ("~=3.10", &[[3, 10, 0], [3, 14, 0]], &[[3, 9, 0], [4, 0, 0]]),
            ("~=3.10.2", &[[3, 10, 9]], &[[3, 10, 1], [3, 11, 0]]),
            ("~3.10", &[[3, 10, 9]], &[[3, 11, 0]]),
            ("^3.10", &[[3, 14, 0]], &[[4, 0, 0], [3, 9, 9]]),
            (">3.10", &[[3, 10, 1]], &[[3, 10, 0]]),
            ("3.14-rc1", &[[3, 14, 0]], &[[3, 13, 0]]),
            ("three", &[], &[[3, 10, 0]]),
            ("3.1.2.3", &[], &[[3, 1, 2]]),
            ("", &[], &[[3, 10, 0]]),
        ];
        for (range, inside, outside) in cases {
            for version in *inside {
                assert!(holds(range, *version), "{range} should hold {}", text(*version));
            }
            for version in *outside {
                assert!(!holds(range, *version), "{range} should not hold {}", text(*version));
            }
        }
    }
}
