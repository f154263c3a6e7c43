//! Choosing several items of a list on a terminal.

use std::collections::BTreeSet;

use super::confirm::ask_line;
use super::printer::{Printer, inline};

/// An answer that names something that is not in the list is asked for again this often.
const MOST_TRIES: usize = 3;

/// Shows a numbered list and asks for numbers or names. Returns `None` without a terminal; the numbers of the chosen items
/// otherwise, which are none if the answer is empty or makes no sense repeatedly.
pub(crate) fn select(
    title: &str,
    items: &[String],
    question: &str,
    printer: &mut Printer,
) -> Option<BTreeSet<usize>> {
    printer.say(title);
    let width = items.len().to_string().len();
    for (number, item) in items.iter().enumerate() {
        printer.say(&format!("  {:width$}  {}", number + 1, inline(item)));
    }
    let question = format!("{question} Numbers, names or `all`; Enter for none: ");
    for _ in 0..MOST_TRIES {
        match parse(&ask_line(&question, printer)?, items) {
            Ok(chosen) => return Some(chosen),
            Err(word) => printer.warning(&format!("`{word}` is not in the list")),
        }
    }
    Some(BTreeSet::new())
}

/// The chosen items, or the first word that means none of them.
fn parse(answer: &str, items: &[String]) -> Result<BTreeSet<usize>, String> {
    let mut chosen = BTreeSet::new();
    for word in answer.split([',', ' ']).filter(|word| !word.is_empty()) {
        let range = match word.split_once('-') {
            Some((from, to)) => from.parse().ok().zip(to.parse().ok()),
            None => word.parse().ok().map(|number: usize| (number, number)),
        };
        if word.eq_ignore_ascii_case("all") {
            chosen.extend(0..items.len());
        } else if word.eq_ignore_ascii_case("none") {
            chosen.clear();
        } else if let Some(named) = items.iter().position(|item| item == word) {
            chosen.insert(named);
        } else if let Some((from, to)) = range
            && from >= 1
            && from <= to
            && to <= items.len()
        {
            chosen.extend(from - 1..to);
        } else {
            return Err(word.to_owned());
        }
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[track_caller]
    fn check(answer: &str, expected: Result<&[usize], &str>) {
        let items = ["mail", "notes", "to-do", "7"].map(str::to_owned);
        let found = parse(answer, &items).map(|chosen| chosen.into_iter().collect::<Vec<usize>>());
        assert_eq!(found, expected.map(<[usize]>::to_vec).map_err(str::to_owned), "{answer}");
    }

    #[test]
    fn numbers_ranges_names_and_all() {
        check("", Ok(&[]));
        check("1,3", Ok(&[0, 2]));
        check("2-4", Ok(&[1, 2, 3]));
        check("to-do mail", Ok(&[0, 2]));
        check("all", Ok(&[0, 1, 2, 3]));
        // A name wins over a number.
        check("7", Ok(&[3]));
        check("0", Err("0"));
        check("5", Err("5"));
        check("3-2", Err("3-2"));
        check("1 nots", Err("nots"));
    }
}
