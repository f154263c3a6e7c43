//! Characters that look like letters and digits of ASCII, as data.

/// Characters that are read as the text before them. After Unicode's table of confusables (UTS 39), only what looks the
/// same in ordinary fonts, in lower and upper case.
const TABLE: &[(&str, &str)] = &[
    ("a", "аɑαᎪᗅꓮАΑ"),
    ("b", "ЬᏏᖯВΒƄьꓐ"),
    ("c", "сϲᴄⲥꮯСⅽϹᏟꓚ"),
    ("d", "ԁᏧᑯꓒⅾᎠꓓ"),
    ("e", "еҽ℮ЕΕᎬꓰєЄ"),
    ("f", "ꬵſϝꓝƒ"),
    ("g", "ɡցᶃԌᏀꓖ"),
    ("h", "һհᏂНΗᎻꓧ"),
    ("i", "іıɩӏιΙІᎥⅰꓲ"),
    ("j", "јʝЈᎫꓙϳ"),
    ("k", "кκКΚᏦꓗ"),
    ("l", "ⅼᏞꓡʟⳑ"),
    ("m", "мМΜᎷꓟⅿ"),
    ("n", "ոռпΝꓠηո"),
    ("o", "оοօσОΟՕᴏ০௦ꓳⲟ"),
    ("p", "рρϱРΡᏢꓑⲣ"),
    ("q", "ԛգզԚ"),
    ("r", "гᴦⲅꭇᏒᎡꓣ"),
    ("s", "ѕꜱЅՏᏚꓢƽ"),
    ("t", "тτТΤᎢꓔ"),
    ("u", "υսᴜՍꓴʋ"),
    ("v", "ѵνᴠⅴѴᏙꓦ"),
    ("w", "ԝաᴡѡᎳꓪԜ"),
    ("x", "хχⅹХΧꓫ"),
    ("y", "уγүУΥҮʏꓬ"),
    ("z", "ᴢΖᏃꓜ"),
    ("-", "‐‑‒–—―−﹣－"),
    ("'", "‘’‚‛′ʼ＇"),
    ("\"", "“”„‟″＂«»"),
    ("/", "⁄∕／"),
    (".", "․。．"),
    (":", "：꞉∶"),
    ("...", "…"),
];

/// What a character is read as.
pub(crate) fn ascii(character: char) -> Option<&'static str> {
    use std::collections::HashMap;
    use std::sync::LazyLock;
    static MAP: LazyLock<HashMap<char, &'static str>> = LazyLock::new(|| {
        let pairs = TABLE.iter().flat_map(|(ascii, others)| {
            others.chars().filter(|other| !other.is_ascii()).map(|other| (other, *ascii))
        });
        pairs.collect()
    });
    MAP.get(&character).copied()
}

/// Whether a character looks like a letter of ASCII and belongs to another alphabet.
pub(crate) fn is_foreign_lookalike(character: char) -> bool {
    ascii(character)
        .is_some_and(|ascii| ascii.as_bytes().first().is_some_and(u8::is_ascii_alphabetic))
        && matches!(character, '\u{370}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}' | '\u{a4d0}'..='\u{a4ff}')
}
