//! Rewrites the placeholders of SQLite (`?1`) to those of Postgres (`$1`).

/// The statement with `$1` for `?1`. Quoted text, quoted names and comments stay as they are.
pub(super) fn to_postgres(sql: &str) -> String {
    let mut result = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(start) = rest.find(['?', '\'', '"', '-', '/']) {
        result.push_str(&rest[..start]);
        rest = &rest[start..];
        let length = match rest.as_bytes() {
            [b'?', digit, ..] if digit.is_ascii_digit() => {
                result.push('$');
                rest = &rest[1..];
                continue;
            }
            // A doubled quote inside is the end of one quoted part and the start of the next.
            [quote @ (b'\'' | b'"'), inside @ ..] => {
                inside.iter().position(|byte| byte == quote).map_or(rest.len(), |end| end + 2)
            }
            [b'-', b'-', ..] => rest.find('\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            _ => 1,
        };
        result.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::to_postgres;

    #[test]
    fn placeholders_become_numbered_parameters() {
        assert_eq!(
            to_postgres("SELECT a FROM t WHERE b = ?1 AND c IN (?2, ?12)"),
            "SELECT a FROM t WHERE b = $1 AND c IN ($2, $12)"
        );
    }

    #[test]
    fn quoted_text_and_comments_stay() {
        for sql in [
            "SELECT '?1', \"?2\"",
            "SELECT 'it''s ?1'",
            "SELECT 1 -- ?1\n",
            "/* ?1 */ SELECT 1",
            "SELECT a - b / c ? d",
            "SELECT '?1",
            "--",
        ] {
            assert_eq!(to_postgres(sql), sql);
        }
        assert_eq!(to_postgres("'ä' ?1 -- x\n?2"), "'ä' $1 -- x\n$2");
        assert_eq!(to_postgres("/*/ ?1 */ ?1"), "/*/ ?1 */ $1");
    }

    proptest! {
        /// Statements of any kind keep their length, and change at placeholders only.
        #[test]
        fn only_question_marks_change(sql in "[?'\"/*\\-\n0-9a-zä ]{0,40}") {
            let rewritten = to_postgres(&sql);
            prop_assert_eq!(rewritten.len(), sql.len());
            for (before, after) in sql.bytes().zip(rewritten.bytes()) {
                prop_assert!(before == after || (before, after) == (b'?', b'$'));
            }
            if !sql.contains('?') {
                prop_assert_eq!(rewritten, sql);
            }
        }
    }
}
