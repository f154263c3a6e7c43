//! Messages of the operating system, reworded to fit into ours.

use std::error::Error;

/// Formats an error of the system in lower case and without its number: `Is a directory (os error 21)` becomes
/// `is a directory`.
pub fn system_reason(source: &dyn Error) -> String {
    let text = source.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut characters = text.chars();
    match characters.next() {
        // An abbreviation such as "I/O error" keeps its capital.
        Some(first) if characters.as_str().starts_with(|next: char| next.is_lowercase()) => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::system_reason;

    #[test]
    fn drops_numbers_and_keeps_abbreviations() {
        let reason = |number| system_reason(&std::io::Error::from_raw_os_error(number));
        assert_eq!(reason(21), "is a directory");
        assert_eq!(system_reason(&std::io::Error::other("I/O error")), "I/O error");
    }
}
