//! Texts that are put together: escapes of shells, and the spaces of `${IFS}`.

use std::borrow::Cow;

/// The text with separators that a shell computes replaced by spaces of the same length, so that all places stay.
pub(crate) fn without_separators(text: &str) -> Cow<'_, str> {
    if !text.contains("IFS") {
        return Cow::Borrowed(text);
    }
    let mut result = text.to_owned();
    for separator in ["${IFS%??}", "${IFS:0:1}", "${IFS}", "$IFS$9", "$IFS"] {
        result = result.replace(separator, &" ".repeat(separator.len()));
    }
    Cow::Owned(result)
}

/// The text that `\x63`, `\143`, `\u0063` and their like stand for.
pub(crate) fn unescape(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            result.push(character);
            continue;
        }
        let Some(next) = characters.next() else {
            result.push('\\');
            break;
        };
        match next {
            'x' => result.extend(digits(&mut characters, 16, 2, None)),
            'u' => {
                let is_braced = characters.peek() == Some(&'{');
                if is_braced {
                    characters.next();
                    let mut code = 0_u32;
                    for digit in characters.by_ref().take(8) {
                        let Some(value) = digit.to_digit(16) else { break };
                        code = code.saturating_mul(16) + value;
                    }
                    result.extend(char::from_u32(code));
                } else {
                    result.extend(digits(&mut characters, 16, 4, None));
                }
            }
            'U' => result.extend(digits(&mut characters, 16, 8, None)),
            '0'..='7' => result.extend(digits(&mut characters, 8, 3, Some(next))),
            'n' => result.push('\n'),
            't' => result.push('\t'),
            'r' => result.push('\r'),
            other => result.push(other),
        }
    }
    result
}

/// The character of some digits.
fn digits(
    characters: &mut std::iter::Peekable<std::str::Chars<'_>>,
    radix: u32,
    most: usize,
    first: Option<char>,
) -> Option<char> {
    let mut code = first.and_then(|first| first.to_digit(radix)).unwrap_or(0);
    let mut count = usize::from(first.is_some());
    while count < most {
        let Some(digit) = characters.peek().and_then(|next| next.to_digit(radix)) else { break };
        code = code.saturating_mul(radix).saturating_add(digit);
        characters.next();
        count += 1;
    }
    char::from_u32(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_all_kinds_are_read() {
        assert_eq!(unescape(r"\x63\165\u0072\u{6c} \n\q"), "curl \nq");
        assert_eq!(without_separators("curl${IFS}-s$IFS"), "curl      -s    ");
    }
}
