//! The language of a knowledge base, which selects its stemmer and stop words.

use std::fmt;
use std::str::FromStr;

use tantivy::tokenizer as engine;

macro_rules! languages {
    ($($variant:ident $code:literal $name:literal $stemmer:expr;)*) => {
        /// The language of a knowledge base. Chinese, Japanese and Korean texts work in all of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Language {
            $(#[doc = $name] $variant,)*
        }

        impl Language {
            /// Every language.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The code of ISO 639-1, or `none`.
            pub fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// The name in English.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            pub(crate) fn stemmer(self) -> Option<engine::Language> {
                match self { $(Self::$variant => $stemmer,)* }
            }
        }
    };
}

languages! {
    Arabic "ar" "Arabic" Some(engine::Language::Arabic);
    Danish "da" "Danish" Some(engine::Language::Danish);
    German "de" "German" Some(engine::Language::German);
    Greek "el" "Greek" Some(engine::Language::Greek);
    English "en" "English" Some(engine::Language::English);
    Spanish "es" "Spanish" Some(engine::Language::Spanish);
    Finnish "fi" "Finnish" Some(engine::Language::Finnish);
    French "fr" "French" Some(engine::Language::French);
    Hungarian "hu" "Hungarian" Some(engine::Language::Hungarian);
    Italian "it" "Italian" Some(engine::Language::Italian);
    Japanese "ja" "Japanese" None;
    Korean "ko" "Korean" None;
    Dutch "nl" "Dutch" Some(engine::Language::Dutch);
    Norwegian "no" "Norwegian" Some(engine::Language::Norwegian);
    Portuguese "pt" "Portuguese" Some(engine::Language::Portuguese);
    Romanian "ro" "Romanian" Some(engine::Language::Romanian);
    Russian "ru" "Russian" Some(engine::Language::Russian);
    Swedish "sv" "Swedish" Some(engine::Language::Swedish);
    Tamil "ta" "Tamil" Some(engine::Language::Tamil);
    Turkish "tr" "Turkish" Some(engine::Language::Turkish);
    Chinese "zh" "Chinese" None;
    None "none" "no language: words as they are" Option::None;
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// An unknown language.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown language `{given}`; expected one of {}", codes())]
pub struct UnknownLanguage {
    given: String,
}

fn codes() -> String {
    Language::ALL.iter().map(|language| language.code()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(text: &str) -> Result<Self, UnknownLanguage> {
        let is_meant = |language: &&Language| {
            language.code().eq_ignore_ascii_case(text) || language.name().eq_ignore_ascii_case(text)
        };
        let found = Language::ALL.iter().find(is_meant).copied();
        found.ok_or_else(|| UnknownLanguage { given: text.to_owned() })
    }
}
