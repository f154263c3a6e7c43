//! `invalid-license`.

use crate::diagnostic::{Findings, rule};
use crate::dialect;
use crate::rules::Subject;
use crate::specification::{GAIA, SKILLLI, SKILLRT};
use crate::text::shorten;

rule! {
    /// ## What it does
    /// Flags a licence that is not an SPDX expression if the dialect requires one.
    ///
    /// ## Why is this bad?
    /// Tools that check licences can't read it.
    ///
    /// ## Example
    /// `Apache 2` becomes `Apache-2.0`.
    INVALID_LICENSE = "invalid-license", Warning / Warning, check;
    GAIA.at("2.2"), SKILLRT.at("4.2"), SKILLLI.at("Agent Skills Open Standard")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    // The open standard asks for a name or a bundled file. A second layer decides only if the file is clearly written for it.
    let asks = subject.skill.layers.iter().any(|layer| {
        matches!(layer.id, "gaia" | "skillrt" | "skillli")
            && (*layer == subject.skill.dialect
                || (layer.affinity)(subject.document) >= dialect::SECOND_LAYER)
    });
    let Some(license) = subject.skill.license.as_ref().filter(|_| asks) else { return };
    // SRT §4.2 uses this for "no licence"; it is not an SPDX identifier.
    if *license.value == *"UNLICENSED" || spdx::Expression::parse(license).is_ok() {
        return;
    }
    let help = match spdx::imprecise_license_id(license) {
        Some((id, _)) => format!("did you mean `{}`?", id.name),
        None => "write an SPDX identifier such as `MIT` or `Apache-2.0`".to_owned(),
    };
    findings.push(
        INVALID_LICENSE
            .at(license.span, format!("`{}` is not an SPDX expression", shorten(license, 40)))
            .help(help),
    );
}
