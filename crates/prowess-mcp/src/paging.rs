//! Pages of long lists. A cursor is the position of the next item, in words that only this server reads.

use rmcp::ErrorData;

/// How many items a page of a list has.
pub(crate) const PAGE: usize = 500;

/// One page, and the cursor of the next one.
pub(crate) fn page<T: Clone>(
    items: &[T],
    cursor: Option<&str>,
    size: usize,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let start = match cursor {
        None => 0,
        Some(cursor) => position(cursor)
            .filter(|start| *start < items.len())
            .ok_or_else(|| ErrorData::invalid_params("the cursor is unknown", None))?,
    };
    let end = items.len().min(start.saturating_add(size));
    let next = (end < items.len()).then(|| format!("from-{end}"));
    Ok((items[start..end].to_vec(), next))
}

fn position(cursor: &str) -> Option<usize> {
    cursor.strip_prefix("from-")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_on_one_page() {
        let items: Vec<usize> = (0..7).collect();
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let (page, next) = page(&items, cursor.as_deref(), 3).unwrap();
            seen.extend(page);
            match next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, items);
        for wrong in ["", "from-7", "from--1", "7", "from-99999999999999999999"] {
            assert!(page(&items, Some(wrong), 3).is_err(), "{wrong}");
        }
    }
}
