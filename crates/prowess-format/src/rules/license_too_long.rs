//! `license-too-long`.

use crate::diagnostic::rule;

rule! {
    /// ## What it does
    /// Flags a licence of more than 64 characters.
    ///
    /// ## Why is this bad?
    /// AFL §3.1 limits the field to 64 characters.
    ///
    /// ## Example
    /// Write the SPDX identifier.
    LICENSE_TOO_LONG = "license-too-long", Error / Error
}
