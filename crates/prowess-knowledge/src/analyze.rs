//! Tokenizer of the full-text index: stemmed words, and character bigrams for scripts without spaces between words.

use std::collections::HashSet;
use std::ops::Range;

use tantivy::tokenizer::{
    Stemmer, StopWordFilter, TextAnalyzer, Token, TokenStream as _, Tokenizer,
};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::language::Language;

/// Maximum length of a word. Longer ones are data that nobody searches for, and each would be its own index entry.
const LONGEST_WORD: usize = 64;
/// Maximum number of words of a query. The first 500 characters (AFL §6) have fewer.
const MOST_QUERY_WORDS: usize = 512;

/// The name of the analyzer in the index.
pub(crate) const NAME: &str = "prowess";

/// The analyzer for indexing.
pub(crate) fn analyzer(language: Language) -> TextAnalyzer {
    chain(language, None)
}

/// The analyzer for queries. Creating it takes longer than analyzing a query, so a knowledge base keeps one.
#[derive(Clone)]
pub(crate) struct Questions {
    telling: TextAnalyzer,
    all: TextAnalyzer,
}

impl Questions {
    pub(crate) fn new(language: Language) -> Self {
        Self { telling: chain(language, silent_words(language)), all: analyzer(language) }
    }

    /// The words of a query, without stop words unless it has no others.
    pub(crate) fn words(&self, text: &str) -> Vec<String> {
        let telling = words_of(&mut self.telling.clone(), text);
        if telling.is_empty() { words_of(&mut self.all.clone(), text) } else { telling }
    }

    /// The positions of query words in a text.
    pub(crate) fn places(&self, words: &[String], text: &str) -> Vec<Range<usize>> {
        let words: HashSet<&str> = words.iter().map(String::as_str).collect();
        let mut places = Vec::new();
        self.all.clone().token_stream(text).process(&mut |token| {
            if words.contains(token.text.as_str()) {
                places.push(token.offset_from..token.offset_to);
            }
        });
        places
    }
}

fn chain(language: Language, silent: Option<StopWordFilter>) -> TextAnalyzer {
    let mut words = TextAnalyzer::builder(Words).dynamic();
    // Before stemming, because the lists contain words.
    if let Some(silent) = silent {
        words = words.filter_dynamic(silent);
    }
    if let Some(stemmer) = language.stemmer() {
        words = words.filter_dynamic(Stemmer::new(stemmer));
    }
    words.build()
}

/// The indexed words of a text.
#[cfg(feature = "postgres")]
pub(crate) fn words(language: Language, text: &str) -> Vec<String> {
    let mut words = Vec::new();
    analyzer(language).token_stream(text).process(&mut |token| words.push(token.text.clone()));
    words
}

fn words_of(analyzer: &mut TextAnalyzer, text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut stream = analyzer.token_stream(text);
    while words.len() < MOST_QUERY_WORDS && stream.advance() {
        words.push(stream.token().text.clone());
    }
    words
}

/// The stop words of a language. English uses the list of the Snowball project, which has question words ("what",
/// "how"); the built-in English list of tantivy has 33 words without them. The other languages use tantivy's lists.
fn silent_words(language: Language) -> Option<StopWordFilter> {
    if language == Language::English {
        let words = SILENT_ENGLISH.split_whitespace().map(str::to_owned);
        return Some(StopWordFilter::remove(words));
    }
    language.stemmer().and_then(StopWordFilter::new)
}

/// <https://snowballstem.org/algorithms/english/stop.txt>, BSD-3-Clause, without forms with an apostrophe, which ends a
/// word here.
const SILENT_ENGLISH: &str = "\
i me my myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself \
it its itself they them their theirs themselves what which who whom this that these those am is are was were be been \
being have has had having do does did doing will would shall should can could may might must ought a an the and but \
if or because as until while of at by for with about against between into through during before after above below \
to from up down in out on off over under again further then once here there when where why how all any both each few \
more most other some such no nor not only own same so than too very";

/// Splits a text into words. A run of letters and digits is a word; in a script without spaces between words, each pair
/// of neighbouring characters is, so that a word of two characters is always found.
#[derive(Clone)]
struct Words;

struct Stream<'t> {
    text: &'t str,
    at: usize,
    /// The rest of the current run of unspaced characters.
    run: Option<Range<usize>>,
    token: Token,
}

impl Tokenizer for Words {
    type TokenStream<'t> = Stream<'t>;

    fn token_stream<'t>(&'t mut self, text: &'t str) -> Stream<'t> {
        Stream { text, at: 0, run: None, token: Token::default() }
    }
}

impl tantivy::tokenizer::TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        loop {
            if let Some(pair) = self.next_pair() {
                self.emit(pair);
                return true;
            }
            let Some(run) = self.next_run() else { return false };
            let first = self.text[run.clone()].chars().next();
            if first.is_some_and(is_unspaced) {
                self.run = Some(run);
            } else if run.len() <= LONGEST_WORD {
                self.emit(run);
                return true;
            }
        }
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

impl Stream<'_> {
    /// The next run of characters of one kind.
    fn next_run(&mut self) -> Option<Range<usize>> {
        if let Some(run) = self.next_ascii_run() {
            return Some(run);
        }
        let rest = &self.text[self.at..];
        let Some(begin) = rest.find(char::is_alphanumeric) else {
            self.at = self.text.len();
            return None;
        };
        let run = &rest[begin..];
        let unspaced = run.chars().next().is_some_and(is_unspaced);
        let belongs = |character: char| {
            (character.is_alphanumeric() && is_unspaced(character) == unspaced)
                // A combining mark belongs to the letter before it: decomposed text has "e" and an accent for "é".
                || is_combining_mark(character)
        };
        let length = run.find(|character| !belongs(character)).unwrap_or(run.len());
        let begin = self.at + begin;
        self.at = begin + length;
        Some(begin..self.at)
    }

    /// The next run if it and the character after it are ASCII, as in most text: working on bytes takes a third of the
    /// time.
    fn next_ascii_run(&mut self) -> Option<Range<usize>> {
        let rest = &self.text.as_bytes()[self.at..];
        let begin =
            rest.iter().position(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())?;
        let run = &rest[begin..];
        let length = run.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(run.len());
        // A non-ASCII letter or mark may continue or start the run.
        if length == 0 || run.get(length).is_some_and(|byte| !byte.is_ascii()) {
            return None;
        }
        let begin = self.at + begin;
        self.at = begin + length;
        Some(begin..self.at)
    }

    /// The next bigram of the run, or its only character.
    fn next_pair(&mut self) -> Option<Range<usize>> {
        let run = self.run.take()?;
        let mut ends = self.text[run.clone()].char_indices().skip(1).map(|(at, _)| run.start + at);
        let Some(second) = ends.next() else { return Some(run) };
        let end = ends.next().unwrap_or(run.end);
        // The last character is already part of a bigram.
        self.run = (end < run.end).then_some(second..run.end);
        Some(run.start..end)
    }

    fn emit(&mut self, place: Range<usize>) {
        let word = &self.text[place.clone()];
        self.token.offset_from = place.start;
        self.token.offset_to = place.end;
        self.token.position = self.token.position.wrapping_add(1);
        self.token.text.clear();
        if word.is_ascii() {
            self.token.text.push_str(word);
            self.token.text.make_ascii_lowercase();
        } else {
            // Fullwidth letters, ligatures and decomposed accents are normalised.
            self.token.text.extend(word.nfkc().flat_map(char::to_lowercase));
        }
    }
}

/// Scripts without spaces between words, and Hangul, whose particles are attached to words.
fn is_unspaced(character: char) -> bool {
    matches!(u32::from(character),
        0x0E00..=0x0EFF       // Thai, Lao
        | 0x1000..=0x109F     // Myanmar
        | 0x1100..=0x11FF     // Hangul Jamo
        | 0x1780..=0x17FF     // Khmer
        | 0x3040..=0x30FF     // Hiragana, Katakana
        | 0x3100..=0x312F     // Bopomofo
        | 0x31F0..=0x31FF     // Katakana extensions
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF   // Han
        | 0xAC00..=0xD7AF     // Hangul
        | 0xFF66..=0xFF9F     // halfwidth Katakana
        | 0x20000..=0x3FFFF   // Han extensions
    )
}

#[cfg(test)]
mod tests;
