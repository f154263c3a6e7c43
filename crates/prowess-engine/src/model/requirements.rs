//! Compares a model with a skill's requirements (GAIA §2.1).

use prowess_format::manifest::parse_size;
use prowess_format::skill::Requirements;

use prowess_core::ModelFacts;

/// The unmet requirements, as phrases. Unknown facts count as met.
pub fn unmet(requirements: &Requirements, facts: &ModelFacts) -> Vec<String> {
    unmet_by("the skill", requirements, facts)
}

/// The unmet requirements of somebody, as phrases. Unknown facts count as met.
pub fn unmet_by(who: &str, requirements: &Requirements, facts: &ModelFacts) -> Vec<String> {
    let mut unmet = Vec::new();
    let rows = [
        (&requirements.model, facts.parameters, "parameters"),
        (&requirements.context, facts.context, "tokens of context"),
    ];
    for (wanted, has, what) in rows {
        let Some(wanted) = wanted else { continue };
        // An invalid size was reported when the skill was checked.
        if let (Ok(least), Some(has)) = (parse_size(wanted), has)
            && has < least
        {
            let has = round(has);
            unmet.push(format!("{who} needs {} {what}, but the model has {has}", wanted.trim()));
        }
    }
    unmet
}

/// A number in the notation of requirements: 6738415616 is `6.7B`.
fn round(number: u64) -> String {
    for (unit, letter) in [(1_000_000_000, 'B'), (1_000_000, 'M'), (1_000, 'K')] {
        if number >= unit {
            // Truncated and not rounded, so that a model that is slightly too small does not look large enough.
            let tenths = number / (unit / 10);
            let (whole, tenth) = (tenths / 10, tenths % 10);
            return match tenth {
                0 => format!("{whole}{letter}"),
                _ => format!("{whole}.{tenth}{letter}"),
            };
        }
    }
    number.to_string()
}

#[cfg(test)]
mod tests {
    use prowess_format::check;
    use prowess_format::{ReadOptions, skill::Requirements};

    use prowess_core::ModelFacts;

    use super::{round, unmet};

    fn requirements(lines: &str) -> Requirements {
        let text = format!(
            "---\nname: a\ndescription: Does it\nversion: 1.0.0\nrequirements:\n{lines}---\n\n# A\n"
        );
        let options =
            ReadOptions { dialect: prowess_format::dialect::by_id("gaia"), ..ReadOptions::DETECT };
        check(&text, options).skill.requirements
    }

    /// GAIA-2.2-5
    #[test]
    fn requirements_are_compared_with_what_the_provider_says() {
        let both = "  model: \">=7B\"\n  context: \">=8K\"\n";
        for (lines, parameters, context, wanted) in [
            (both, Some(7_000_000_000), Some(8192), ""),
            (both, Some(7_615_616_512), Some(8000), ""),
            (both, None, None, ""),
            ("", Some(1), Some(1), ""),
            (
                both,
                Some(6_999_999_999),
                Some(4096),
                "the skill needs >=7B parameters, but the model has 6.9B\n\
                 the skill needs >=8K tokens of context, but the model has 4K",
            ),
            (
                "  model: \">=0.5B\"\n",
                Some(134_515_008),
                None,
                "the skill needs >=0.5B parameters, but the model has 134.5M",
            ),
            ("  context: \">=8K\"\n", Some(1), None, ""),
        ] {
            let facts = ModelFacts { context, parameters };
            assert_eq!(unmet(&requirements(lines), &facts).join("\n"), wanted, "{lines:?}");
        }
    }

    #[test]
    fn numbers_are_cut_to_one_digit_behind_the_point() {
        for (number, text) in
            [(999, "999"), (1000, "1K"), (4096, "4K"), (131_072, "131K"), (1_999_999_999, "1.9B")]
        {
            assert_eq!(round(number), text);
        }
    }
}
