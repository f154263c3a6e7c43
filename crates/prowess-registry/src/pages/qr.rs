//! QR codes as SVG paths, so that a phone reads what is on the screen and nobody types it.

use std::fmt::Write as _;

use qrcode::{Color, EcLevel, QrCode};

/// The border that readers need, in modules.
const QUIET: usize = 4;

/// A QR code, drawn by a template.
#[derive(Clone, Debug)]
pub(crate) struct QrDrawing {
    /// The width and the height, in modules.
    pub(crate) size: usize,
    /// The dark modules: one horizontal run per step of the path.
    pub(crate) path: String,
}

impl QrDrawing {
    /// The code of a text; none if the text is too long for one.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let code = QrCode::with_error_correction_level(text, EcLevel::M).ok()?;
        let width = code.width();
        let mut path = String::new();
        for (y, row) in code.to_colors().chunks(width).enumerate() {
            let mut x = 0;
            while x < width {
                let run = row.iter().skip(x).take_while(|color| **color == Color::Dark).count();
                if run > 0 {
                    // Writing to a `String` does not fail.
                    let _ = write!(path, "M{} {}h{run}v1h-{run}z", x + QUIET, y + QUIET);
                }
                x += run.max(1);
            }
        }
        Some(QrDrawing { size: width + 2 * QUIET, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_its_three_corners_inside_a_quiet_border() {
        let drawing = QrDrawing::new("otpauth://totp/Prowess:ada?secret=ABC").unwrap();
        // The upper edges of the two upper corners.
        assert!(drawing.path.starts_with("M4 4h7v1h-7z"), "{}", drawing.path);
        let right = drawing.size - QUIET - 7;
        assert!(drawing.path.contains(&format!("M{right} 4h7v1h-7z")), "{}", drawing.path);
        let lower = drawing.size - QUIET - 7;
        assert!(drawing.path.contains(&format!("M4 {lower}h7v1h-7z")), "{}", drawing.path);
    }

    #[test]
    fn a_text_that_is_too_long_has_no_code() {
        assert!(QrDrawing::new(&"x".repeat(4_000)).is_none());
    }
}
