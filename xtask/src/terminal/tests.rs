use std::time::Duration;

use super::{Align, duration, table};

#[test]
fn durations_grow_coarser() {
    assert_eq!(duration(Duration::from_millis(423)), "0.42 s");
    assert_eq!(duration(Duration::from_millis(12_340)), "12.3 s");
    assert_eq!(duration(Duration::from_secs(185)), "3 min 05 s");
}

#[test]
fn columns_line_up_without_trailing_spaces() {
    let rows = [vec!["group".to_owned(), "open".to_owned()], vec!["OC".to_owned(), "3".to_owned()]];
    assert_eq!(table(&[Align::Left, Align::Right], &rows), "  group  open\n  OC        3\n");
}
