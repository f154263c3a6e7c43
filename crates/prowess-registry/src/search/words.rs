//! How texts and queries become words.

use tantivy::Index;
use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer,
    TextAnalyzer,
};

/// The analyzer of names: words as they are, so that prefixes and typing errors can be compared.
pub(super) const NAME_WORDS: &str = "prowess-names";
/// The analyzer of texts: stemmed words.
pub(super) const TEXT_WORDS: &str = "prowess-texts";

/// Longer words are data that nobody searches for.
const MAX_WORD_BYTES: usize = 64;
/// Maximum number of words of a query.
const MAX_WORDS: usize = 12;
/// Maximum length of a query, in characters.
pub(super) const MAX_QUERY_CHARACTERS: usize = 300;

/// Makes the analyzers known to an index.
pub(super) fn register(index: &Index) {
    index.tokenizers().register(NAME_WORDS, names());
    index.tokenizers().register(TEXT_WORDS, texts());
}

fn names() -> TextAnalyzer {
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(MAX_WORD_BYTES))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter)
        .build()
}

fn texts() -> TextAnalyzer {
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(MAX_WORD_BYTES))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter)
        .filter(Stemmer::new(Language::English))
        .build()
}

/// A word of a query, as names and as texts have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueryWord {
    /// As it was typed, in lower case.
    pub(super) plain: String,
    /// Stemmed.
    pub(super) stem: String,
}

/// The words of a query, each once. Every other character only separates words, so a query has no syntax that could reach
/// another field (attack registry-D7).
pub(super) fn query_words(text: &str) -> Vec<QueryWord> {
    let text: String = text.chars().take(MAX_QUERY_CHARACTERS).collect();
    let mut found: Vec<QueryWord> = Vec::new();
    let (mut plain, mut stemmed) = (names(), texts());
    let (mut plain, mut stemmed) = (plain.token_stream(&text), stemmed.token_stream(&text));
    while let (Some(plain), Some(stemmed)) = (plain.next(), stemmed.next()) {
        let word = QueryWord { plain: plain.text.clone(), stem: stemmed.text.clone() };
        if !found.contains(&word) && found.len() < MAX_WORDS {
            found.push(word);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_nothing_but_words() {
        let plain = |text: &str| -> Vec<String> {
            query_words(text).into_iter().map(|word| word.plain).collect()
        };
        assert_eq!(plain("Web-Searching café"), ["web", "searching", "cafe"]);
        assert_eq!(query_words("searching")[0].stem, "search");
        assert_eq!(plain("name:\"x\" NEAR( * OR"), ["name", "x", "near", "or"]);
        assert_eq!(plain("a a a"), ["a"]);
        assert_eq!(plain(&"word ".repeat(1000)), ["word"]);
        assert!(plain("\"*(").is_empty());
    }
}
