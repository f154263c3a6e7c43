//! What every page has: its head, the navigation, who is signed in.

/// The entry of the navigation that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Browse,
    Publish,
    Account,
    Moderation,
    Other,
}

/// Who is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignedIn {
    pub(crate) username: String,
    pub(crate) is_administrator: bool,
}

/// What the response to a form says on the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// `ok` or `danger`.
    pub(crate) class: &'static str,
    pub(crate) text: String,
}

/// The frame of a page.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The title of the page, without the site's name.
    pub(crate) title: String,
    /// A sentence for search engines and social cards.
    pub(crate) description: String,
    /// The path of the page's own address; none for pages without one, such as errors.
    pub(crate) path: Option<String>,
    /// The public address of the registry, without a slash at its end.
    pub(crate) public_url: String,
    pub(crate) section: Section,
    pub(crate) viewer: Option<SignedIn>,
    /// What forms send back. It belongs to the session.
    pub(crate) csrf: String,
    /// What the search field in the header holds.
    pub(crate) query: String,
    /// The path of a feed and its title.
    pub(crate) feed: Option<(String, String)>,
    /// Whether search engines may list the page.
    pub(crate) is_indexed: bool,
    pub(crate) notice: Option<Notice>,
}

/// The longest description for search engines, in characters.
const MAX_DESCRIPTION: usize = 200;

impl Layout {
    /// The frame of a public page.
    pub(crate) fn new(visit: &Visit, title: impl Into<String>, description: &str) -> Self {
        Layout {
            title: title.into(),
            description: description.chars().take(MAX_DESCRIPTION).collect(),
            path: None,
            public_url: visit.public_url.clone(),
            section: Section::Other,
            viewer: visit.viewer.clone(),
            csrf: visit.csrf.clone(),
            query: String::new(),
            feed: None,
            is_indexed: false,
            notice: visit.notice.clone(),
        }
    }

    /// The page has an address of its own, which search engines may list.
    pub(crate) fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self.is_indexed = true;
        self
    }

    /// The page is in a section of the navigation.
    pub(crate) fn in_section(mut self, section: Section) -> Self {
        self.section = section;
        self
    }

    /// There is a feed of what the page shows.
    pub(crate) fn with_feed(mut self, path: impl Into<String>, title: impl Into<String>) -> Self {
        self.feed = Some((path.into(), title.into()));
        self
    }

    /// Search engines don't list the page (`PyPI` does so for new projects, against spam that lives from links).
    pub(crate) fn unlisted(mut self) -> Self {
        self.is_indexed = false;
        self
    }

    /// The address of the page.
    pub(crate) fn canonical(&self) -> Option<String> {
        self.path.as_ref().map(|path| format!("{}{path}", self.public_url))
    }

    pub(crate) fn is_browse(&self) -> bool {
        self.section == Section::Browse
    }

    pub(crate) fn is_publish(&self) -> bool {
        self.section == Section::Publish
    }

    pub(crate) fn is_account(&self) -> bool {
        self.section == Section::Account
    }

    pub(crate) fn is_moderation(&self) -> bool {
        self.section == Section::Moderation
    }
}

/// Who asks for a page, and where.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) public_url: String,
    pub(crate) viewer: Option<SignedIn>,
    pub(crate) csrf: String,
    pub(crate) notice: Option<Notice>,
    /// Seconds since 1970.
    pub(crate) now: i64,
}
