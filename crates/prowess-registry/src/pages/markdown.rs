//! Markdown of authors as HTML that can't do anything.
//!
//! Two independent measures, either of which is enough. Markup in the text is shown as its source: no event of the parser
//! that stands for HTML is passed on. And the result goes through ammonia, which is the only way to a [`SanitisedHtml`].

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write as _};
use std::sync::LazyLock;

use ammonia::{Builder, UrlRelative};
use askama::filters::HtmlSafe;
use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html,
};

use super::highlight::{self, Language};
use super::links::{self, AuthorLink, SkillLinks};

/// How much of a text is rendered. Real skills have at most 128 kB; the whole file is one click away.
const MAX_BYTES: usize = 256 << 10;
/// How many events of the parser are rendered.
const MAX_EVENTS: usize = 100_000;
/// How deeply quotes and lists are nested. Deeper ones are shown at this depth.
const MAX_DEPTH: usize = 24;
/// The longest id of a heading.
const MAX_ID_CHARACTERS: usize = 60;
/// How many headings the table of contents has.
const MAX_CONTENTS: usize = 60;

/// HTML that ammonia has passed: the only type besides numbers that a template does not escape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SanitisedHtml(String);

impl fmt::Display for SanitisedHtml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for SanitisedHtml {}

impl SanitisedHtml {
    fn clean(html: &str) -> Self {
        SanitisedHtml(CLEANER.clean(html).to_string())
    }
}

/// A rendered text.
#[derive(Clone, Debug)]
pub(crate) struct Rendered {
    /// The text.
    pub(crate) html: SanitisedHtml,
    /// Its headings, for a table of contents.
    pub(crate) headings: Vec<Heading>,
    /// Whether the end of a long text was left out.
    pub(crate) is_cut: bool,
}

/// A heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) id: String,
    pub(crate) text: String,
}

static CLEANER: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let attributes = [
        ("a", HashSet::from(["href", "title"])),
        ("ol", HashSet::from(["start"])),
        ("pre", HashSet::from(["tabindex"])),
        ("div", HashSet::from(["tabindex", "role", "aria-label"])),
        ("h3", HashSet::from(["id"])),
        ("h4", HashSet::from(["id"])),
        ("h5", HashSet::from(["id"])),
        ("h6", HashSet::from(["id"])),
    ];
    let classes = [
        ("span", HashSet::from(["key", "str", "com", "kw", "num"])),
        ("div", HashSet::from(["table-scroll"])),
        ("pre", HashSet::from(["markup"])),
    ];
    let mut builder = Builder::empty();
    builder
        .tags(HashSet::from([
            "a",
            "blockquote",
            "br",
            "code",
            "del",
            "div",
            "em",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "li",
            "ol",
            "p",
            "pre",
            "span",
            "strong",
            "table",
            "tbody",
            "td",
            "th",
            "thead",
            "tr",
            "ul",
        ]))
        .tag_attributes(HashMap::from(attributes))
        .allowed_classes(HashMap::from(classes))
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::PassThrough)
        .link_rel(Some("nofollow ugc noopener noreferrer"));
    builder
});

/// Renders the text of a skill: its headings below the page's own, links to its files, code with classes.
///
/// A first heading that repeats `title` is left out, since the page has it already.
pub(crate) fn render(text: &str, title: &str, links: &SkillLinks) -> Rendered {
    let shown = text.get(..text.floor_char_boundary(MAX_BYTES)).unwrap_or_default();
    let mut renderer = Renderer::new(title, links);
    let mut count = 0;
    for event in Parser::new_ext(shown, options()) {
        count += 1;
        if count > MAX_EVENTS {
            break;
        }
        renderer.event(event);
    }
    let is_cut = shown.len() < text.len() || count > MAX_EVENTS;
    renderer.finish(is_cut)
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// A text that is being gathered until its end.
enum Gathered {
    Code { language: Language, text: String },
    Markup(String),
    Heading { level: HeadingLevel, text: String, start: usize },
}

struct Renderer<'l> {
    /// The title of the page.
    title: &'l str,
    links: &'l SkillLinks,
    events: Vec<Event<'static>>,
    gathered: Option<Gathered>,
    /// The text of an image while it is open.
    image: Option<(String, String)>,
    /// Whether a link is open, and whether it leads somewhere.
    link: Option<bool>,
    /// For each open quote or list, whether it was passed on.
    containers: Vec<bool>,
    /// The heading level before, so that none is skipped.
    level: usize,
    headings: Vec<Heading>,
    ids: HashSet<String>,
    /// How many tables there are so far.
    tables: usize,
}

impl<'l> Renderer<'l> {
    fn new(title: &'l str, links: &'l SkillLinks) -> Self {
        Renderer {
            title,
            links,
            events: Vec::new(),
            gathered: None,
            image: None,
            link: None,
            containers: Vec::new(),
            level: 2,
            headings: Vec::new(),
            ids: HashSet::new(),
            tables: 0,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        if let Some((_, alternative)) = &mut self.image {
            match event {
                Event::End(TagEnd::Image) => self.close_image(),
                Event::Text(text) | Event::Code(text) => alternative.push_str(&text),
                _ => {}
            }
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                if let Some(Gathered::Heading { text: heading, .. }) = &mut self.gathered {
                    heading.push_str(&text);
                }
                self.events.push(Event::Code(CowStr::from(text.into_string())));
            }
            Event::Html(markup) => match &mut self.gathered {
                Some(Gathered::Markup(text)) => text.push_str(&markup),
                _ => self.text(&markup),
            },
            Event::InlineHtml(markup) => {
                self.events.push(Event::Code(CowStr::from(markup.into_string())));
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
            Event::FootnoteReference(_) => {}
            Event::SoftBreak => self.events.push(Event::SoftBreak),
            Event::HardBreak => self.events.push(Event::HardBreak),
            Event::Rule => self.events.push(Event::Rule),
            Event::TaskListMarker(is_done) => {
                self.text(if is_done { "[done] " } else { "[open] " });
            }
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.gathered {
            Some(Gathered::Code { text: code, .. }) => code.push_str(text),
            Some(Gathered::Markup(markup)) => markup.push_str(text),
            Some(Gathered::Heading { text: heading, .. }) => {
                heading.push_str(text);
                self.events.push(Event::Text(CowStr::from(text.to_owned())));
            }
            None => self.events.push(Event::Text(CowStr::from(text.to_owned()))),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                let start = self.events.len();
                self.gathered = Some(Gathered::Heading { level, text: String::new(), start });
            }
            Tag::CodeBlock(kind) => {
                let name = match &kind {
                    CodeBlockKind::Fenced(name) => {
                        name.split([' ', ',', '{']).next().unwrap_or_default()
                    }
                    CodeBlockKind::Indented => "",
                };
                let language = Language::named(&name.to_ascii_lowercase());
                self.gathered = Some(Gathered::Code { language, text: String::new() });
            }
            Tag::HtmlBlock => self.gathered = Some(Gathered::Markup(String::new())),
            Tag::Link { dest_url, .. } => {
                let address = self.address(&dest_url);
                self.link = Some(address.is_some());
                if let Some(address) = address {
                    let opening = format!("<a href=\"{}\">", escape(&address));
                    self.events.push(Event::InlineHtml(CowStr::from(opening)));
                }
            }
            Tag::Image { dest_url, .. } => {
                self.image = Some((dest_url.into_string(), String::new()));
            }
            Tag::BlockQuote(_) => self.open(Tag::BlockQuote(None)),
            Tag::List(start) => self.open(Tag::List(start)),
            Tag::Item => {
                if self.containers.last().is_none_or(|passed| *passed) {
                    self.events.push(Event::Start(Tag::Item));
                }
            }
            Tag::Table(alignments) => {
                // Regions of a page have different names.
                self.tables += 1;
                let opening = format!(
                    "<div class=\"table-scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table {}\">",
                    self.tables
                );
                self.events.push(Event::Html(CowStr::from(opening)));
                self.events.push(Event::Start(Tag::Table(alignments)));
            }
            Tag::TableHead => self.events.push(Event::Start(Tag::TableHead)),
            Tag::TableRow => self.events.push(Event::Start(Tag::TableRow)),
            Tag::TableCell => self.events.push(Event::Start(Tag::TableCell)),
            Tag::Paragraph => self.events.push(Event::Start(Tag::Paragraph)),
            Tag::Emphasis => self.events.push(Event::Start(Tag::Emphasis)),
            Tag::Strong => self.events.push(Event::Start(Tag::Strong)),
            Tag::Strikethrough => self.events.push(Event::Start(Tag::Strikethrough)),
            // Extensions that are not enabled.
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => self.close_heading(),
            TagEnd::CodeBlock | TagEnd::HtmlBlock => self.close_code(),
            TagEnd::Link => {
                if self.link.take() == Some(true) {
                    self.events.push(Event::InlineHtml(CowStr::from("</a>")));
                }
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) => {
                if self.containers.pop() == Some(true) {
                    self.events.push(Event::End(tag));
                }
            }
            TagEnd::Item => {
                if self.containers.last().is_none_or(|passed| *passed) {
                    self.events.push(Event::End(tag));
                }
            }
            TagEnd::Table => {
                self.events.push(Event::End(tag));
                self.events.push(Event::Html(CowStr::from("</div>")));
            }
            TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::Paragraph
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough => self.events.push(Event::End(tag)),
            TagEnd::Image
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn open(&mut self, tag: Tag<'static>) {
        let passed = self.containers.iter().filter(|passed| **passed).count() < MAX_DEPTH;
        self.containers.push(passed);
        if passed {
            self.events.push(Event::Start(tag));
        }
    }

    fn address(&self, destination: &str) -> Option<String> {
        match links::author_link(destination) {
            AuthorLink::Elsewhere(address) => Some(address),
            AuthorLink::Heading(heading) => Some(format!("#{}", slug(&heading))),
            AuthorLink::File(path) => Some(self.links.file(&path)),
            AuthorLink::Nowhere => None,
        }
    }

    /// An image becomes a link to it: pages load nothing from other sites, and files of skills are served as text.
    fn close_image(&mut self) {
        let Some((destination, alternative)) = self.image.take() else { return };
        let text = if alternative.is_empty() {
            "Image".to_owned()
        } else {
            format!("Image: {alternative}")
        };
        let address = if self.link.is_some() { None } else { self.address(&destination) };
        if let Some(address) = &address {
            let opening = format!("<a href=\"{}\">", escape(address));
            self.events.push(Event::InlineHtml(CowStr::from(opening)));
        }
        self.text(&text);
        if address.is_some() {
            self.events.push(Event::InlineHtml(CowStr::from("</a>")));
        }
    }

    fn close_code(&mut self) {
        let (text, language, class) = match self.gathered.take() {
            Some(Gathered::Code { text, language }) => (text, language, ""),
            // Also a comment, which others hide: what an agent reads is shown to people too.
            Some(Gathered::Markup(text)) => (text, Language::Plain, " class=\"markup\""),
            other => {
                self.gathered = other;
                return;
            }
        };
        let mut code = format!("<pre tabindex=\"0\"{class}><code>");
        for line in highlight::lines(&text, language) {
            for piece in line {
                match piece.class.name() {
                    Some(name) => {
                        // Writing to a `String` does not fail.
                        let _ =
                            write!(code, "<span class=\"{name}\">{}</span>", escape(&piece.text));
                    }
                    None => code.push_str(&escape(&piece.text)),
                }
            }
            code.push('\n');
        }
        code.push_str("</code></pre>\n");
        self.events.push(Event::Html(CowStr::from(code)));
    }

    fn close_heading(&mut self) {
        let Some(Gathered::Heading { level, text, start }) = self.gathered.take() else { return };
        if start == 0 && same_words(&text, self.title) {
            self.events.clear();
            return;
        }
        // The page has `h1`, the section has `h2`, and no level is skipped.
        let wanted = (level as usize + 2).min(6);
        let level = wanted.min(self.level + 1);
        self.level = level;
        let mut id = slug(&text);
        let base = id.clone();
        let mut number = 1;
        while !self.ids.insert(id.clone()) {
            number += 1;
            id = format!("{base}-{number}");
        }
        let opening = format!("<h{level} id=\"{}\">", escape(&id));
        self.events.insert(start, Event::Html(CowStr::from(opening)));
        self.events.push(Event::Html(CowStr::from(format!("</h{level}>\n"))));
        if self.headings.len() < MAX_CONTENTS {
            self.headings.push(Heading { id, text });
        }
    }

    fn finish(self, is_cut: bool) -> Rendered {
        let mut out = String::new();
        html::push_html(&mut out, self.events.into_iter());
        Rendered { html: SanitisedHtml::clean(&out), headings: self.headings, is_cut }
    }
}

/// The id of a heading.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for character in text.chars() {
        if slug.len() >= MAX_ID_CHARACTERS {
            break;
        }
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    // The prefix keeps ids of authors apart from those of the page.
    format!("readme-{}", slug.trim_matches('-'))
}

/// Whether two titles are the same but for case and separators.
fn same_words(left: &str, right: &str) -> bool {
    let words = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    words(left) == words(right)
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
