//! Sentence boundaries in ASCII: the rules SB6 to SB11 of Unicode's UAX 29 on bytes. The general tables take most of
//! the time of splitting a text, and most texts don't need them.

/// The ends of the sentences of a text without line breaks. The last one is the end of the text.
pub(super) fn sentence_ends(text: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].iter().position(|&byte| is_terminator(byte)) {
        let terminator = at + found;
        at = terminator + 1;
        if let Some(end) = end_after(text, terminator) {
            ends.push(end);
            at = end;
        }
    }
    if ends.last().copied().unwrap_or_default() < text.len() {
        ends.push(text.len());
    }
    ends
}

/// The end of a sentence after a terminator such as a full stop; `None` if the sentence continues.
fn end_after(text: &[u8], terminator: usize) -> Option<usize> {
    let is_stop = text[terminator] == b'.';
    let next = text.get(terminator + 1);
    // SB6: a number such as 3.14.
    if is_stop && next.is_some_and(u8::is_ascii_digit) {
        return None;
    }
    // SB7: an abbreviation such as U.S.
    let is_after_letter = terminator > 0 && text[terminator - 1].is_ascii_alphabetic();
    if is_stop && is_after_letter && next.is_some_and(u8::is_ascii_uppercase) {
        return None;
    }
    // SB9 and SB10: quotes, brackets and then spaces belong to the sentence that ends.
    let skip = |from: usize, belongs: fn(u8) -> bool| {
        let rest = &text[from..];
        from + rest.iter().position(|&byte| !belongs(byte)).unwrap_or(rest.len())
    };
    let end = skip(skip(terminator + 1, is_close), is_blank);
    // SB8: the sentence continues if the next word is in lower case.
    if is_stop {
        let is_between = |byte: u8| !byte.is_ascii_alphabetic() && !is_terminator(byte);
        if text.get(skip(end, is_between)).is_some_and(u8::is_ascii_lowercase) {
            return None;
        }
    }
    // SB8a: it also continues before a comma or another full stop.
    if text.get(end).is_some_and(|&byte| is_terminator(byte) || is_continuation(byte)) {
        return None;
    }
    Some(end)
}

fn is_terminator(byte: u8) -> bool {
    matches!(byte, b'.' | b'!' | b'?')
}

fn is_close(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'(' | b')' | b'[' | b']' | b'{' | b'}')
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0B | 0x0C)
}

fn is_continuation(byte: u8) -> bool {
    matches!(byte, b',' | b'-' | b':' | b';')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation as _;

    use super::sentence_ends;

    fn by_tables(text: &str) -> Vec<usize> {
        let sentences = text.split_sentence_bound_indices();
        sentences.map(|(at, sentence)| at + sentence.len()).collect()
    }

    #[test]
    fn every_byte_has_the_kind_that_the_tables_give_it() {
        for byte in (0..128_u8).filter(|byte| !matches!(byte, b'\n' | b'\r')) {
            let it = char::from(byte);
            for text in [
                format!("a.{it}"),
                format!("a.{it}B"),
                format!("a. {it}B"),
                format!("a. {it}b"),
                format!("a{it} B"),
                format!("a{it}. B"),
                format!("A.{it}. b! {it}"),
            ] {
                assert_eq!(sentence_ends(text.as_bytes()), by_tables(&text), "{text:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

        #[test]
        fn bytes_and_tables_agree(text in "[aB1.!?'\")( \t,;:-]{0,24}|[ -~\t]{0,60}") {
            prop_assert_eq!(sentence_ends(text.as_bytes()), by_tables(&text));
        }
    }
}
