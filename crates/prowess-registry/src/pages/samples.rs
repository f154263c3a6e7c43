//! Every page with invented content: what the tests render, with ordinary words and with hostile ones.

use askama::Template;

use super::account::{
    AccountPage, InvitationView, MembershipView, TokenView, TokensPage, TwoFactorPage,
    TwoFactorState,
};
use super::card::{CardView, TierWords};
use super::chart::Chart;
use super::error_page::ErrorPage;
use super::graph::{self, Neighbour};
use super::highlight::{self, Language};
use super::home::{CategoryView, HomeList, HomePage, RevokedView};
use super::layout::{Layout, Section, SignedIn, Visit};
use super::links::SkillLinks;
use super::markdown;
use super::moderation::{HeldView, ModerationPage, ReportRow, reason_words};
use super::permission_words::{self, PermissionRow, RiskLevel};
use super::publish_guide::PublishPage;
use super::publisher::{MemberView, PublisherPage};
use super::qr::QrDrawing;
use super::report::{ReportPage, reasons};
use super::search::{Choice, FacetView, SearchPage};
use super::sign_in::{SetUpPage, SignInPage};
use super::skill::compare::{ComparePage, DiffRow, FileChangeView};
use super::skill::dependencies::{DependenciesPage, DependencyRow};
use super::skill::files::{FilePage, FileView, FilesPage};
use super::skill::overview::{
    BadgeView, Detail, OverviewPage, TrustLineView, TrustState, install_commands,
};
use super::skill::reviews::{ReviewForm, ReviewRow, ReviewsPage};
use super::skill::security::{
    CapabilityView, FindingView, ProvenanceView, ScanView, SecurityPage, SignatureView,
};
use super::skill::tools::{ParameterView, QuestionView, QuizView, ToolView, ToolsPage, kind_words};
use super::skill::versions::{VersionRowView, VersionsPage};
use super::skill::{Banner, Frame, OutsideLink, Part, PartCounts, tabs};
use super::status::StatusPage;
use super::trusted_publishers::{TrustedPublisherView, TrustedPublishersPage};
use super::words::Moment;

const NOW: i64 = 1_789_000_000;
const DAY: i64 = 86_400;

fn at(days: i64) -> Moment {
    Moment::new(NOW - days * DAY, NOW)
}

/// The text that stands for everything that a stranger writes.
pub(super) struct Samples {
    /// Put into every free text; nothing if empty.
    pub(super) hostile: String,
}

impl Samples {
    fn text(&self, text: &str) -> String {
        if self.hostile.is_empty() { text.to_owned() } else { self.hostile.clone() }
    }

    fn visit() -> Visit {
        Visit {
            public_url: "https://skills.example".to_owned(),
            viewer: Some(SignedIn { username: "ada".to_owned(), is_administrator: true }),
            csrf: "csrf-token".to_owned(),
            notice: None,
            now: NOW,
        }
    }

    fn layout(&self, title: &str, path: &str) -> Layout {
        Layout::new(&Self::visit(), self.text(title), &self.text("A sentence about the page."))
            .at(path)
    }

    fn permissions(&self) -> Vec<PermissionRow> {
        let manifest = "---\nname: pdf-forms\nversion: 2.4.1\ndescription: d\npermissions:\n  - filesystem:write\n  \
                        - network:write:api.acme.dev\n  - shell:execute:qpdf,pdftk\n  - env:none\ntools:\n  - name: fill\n    description: d\n---\n";
        let checked = prowess_format::check(manifest, prowess_format::ReadOptions::DETECT);
        let mut rows =
            permission_words::rows(&prowess_policy::grants::of(&checked.skill), &[], true);
        let before: Vec<_> =
            rows.iter().filter(|row| !row.sentence.starts_with("Send")).cloned().collect();
        permission_words::mark_new(&mut rows, &before, "2.4.1");
        for row in &mut rows {
            for name in &mut row.names {
                *name = self.text(name);
            }
        }
        rows
    }

    fn card(&self, name: &str, tier: &str, risk: RiskLevel) -> CardView {
        CardView {
            namespace: "acme".to_owned(),
            name: name.to_owned(),
            version: "2.4.1".to_owned(),
            address: format!("/acme/{name}"),
            description: self.text("Fill in, check and flatten PDF forms, also those with XFA, without sending them anywhere."),
            tier: TierWords::of(tier),
            risk: Some(risk),
            installs: "41k installs".to_owned(),
            updated: at(3),
            rating: Some("4.25".to_owned()),
            license: Some(self.text("Apache-2.0")),
            warning: (tier == "experimental").then(|| self.text("Experimental: not signed, new publisher")),
            matches: Vec::new(),
        }
    }

    fn cards(&self) -> Vec<CardView> {
        vec![
            self.card("pdf-forms", "community", RiskLevel::High),
            self.card("release-notes", "verified", RiskLevel::None),
            self.card(
                "a-rather-long-name-of-a-skill-that-has-to-wrap-somewhere",
                "experimental",
                RiskLevel::Medium,
            ),
        ]
    }

    fn frame(&self, part: Part) -> Frame {
        let links = SkillLinks::new("acme", "pdf-forms", None);
        let counts = PartCounts {
            tools: 4,
            files: 9,
            versions: 12,
            dependencies: 2,
            findings: 2,
            reviews: 3,
        };
        Frame {
            namespace: "acme".to_owned(),
            name: "pdf-forms".to_owned(),
            version: "2.4.1".to_owned(),
            publisher: self.text("Acme Tools"),
            description: self.text("Fill in, check and flatten PDF forms, also those with XFA, without sending them anywhere."),
            tier: TierWords::of("experimental"),
            risk: Some(RiskLevel::High),
            published: at(3),
            installs: "41,207 installs".to_owned(),
            license: Some(self.text("Apache-2.0")),
            banners: vec![
                Banner {
                    class: "warn",
                    icon: "triangle-alert",
                    title: "Experimental.".to_owned(),
                    text: self.text("Nobody has signed it. It runs in a sandbox, and installing it needs --allow-experimental."),
                    action: Some(("What the tiers mean".to_owned(), "/publish#after".to_owned())),
                },
                Banner {
                    class: "warn",
                    icon: "triangle-alert",
                    title: "Asks for more than 2.3.0 did:".to_owned(),
                    text: self.text("send data to 1 site: api.acme.dev."),
                    action: Some(("See what changed".to_owned(), links.compare("2.3.0", "2.4.1"))),
                },
            ],
            tabs: tabs(&links, part, counts),
            outside: vec![
                OutsideLink { label: "Repository", icon: "git-branch", address: "https://code.example/acme".to_owned(), is_verified: true },
                OutsideLink { label: "Homepage", icon: "globe", address: "https://acme.example".to_owned(), is_verified: false },
            ],
            links,
        }
    }

    fn trust(&self) -> Vec<TrustLineView> {
        [
            (TrustState::Passed, "signed with a key of its publisher (oms)", "20 of 20"),
            (TrustState::Passed, "CI run of acme/skills from commit 1f3a9c0", "15 of 15"),
            (TrustState::NotEstablished, "the scan has 2 notes", "10 of 20"),
            (TrustState::NotChecked, "no auditor has signed it off", "0 of 15"),
        ]
        .into_iter()
        .map(|(state, text, points)| TrustLineView {
            class: state.class(),
            icon: state.icon(),
            word: state.word(),
            text: self.text(text),
            points: points.to_owned(),
            address: Some("/acme/pdf-forms/-/security".to_owned()),
        })
        .collect()
    }

    fn readme(&self) -> String {
        if !self.hostile.is_empty() {
            return format!(
                "# {0}\n\n{0}\n\n- {0}\n\n[{0}]({0})\n\n![{0}]({0})\n\n```{0}\n{0}\n```\n\n| {0} |\n|--|\n| {0} |\n\n<{0}>\n",
                self.hostile
            );
        }
        "# PDF forms\n\nFills in forms. See [the reference](references/fields.md) or <https://acme.example>.\n\n\
         ## Fields\n\n| Field | Type |\n|---|---|\n| name | text |\n| date | ISO 8601 |\n\n## In Python\n\n\
         ```python\nfrom acme import fill\n\nfill(\"form.pdf\", {\"name\": \"Ada\"})  # returns a path\n```\n\n\
         ### Notes\n\n1. Keep `form.pdf` in the working folder.\n2. Check the result.\n\n> XFA forms are flattened.\n\n## Limits\n\nNo encryption.\n"
            .to_owned()
    }

    fn version(
        &self,
        version: &str,
        mark: Option<(&'static str, &str)>,
        days: i64,
    ) -> VersionRowView {
        VersionRowView {
            version: version.to_owned(),
            address: format!("/acme/pdf-forms/{version}"),
            published: at(days),
            publisher: "ada".to_owned(),
            tier: TierWords::of("community"),
            size: "12.4 KiB".to_owned(),
            mark: mark.map(|(class, text)| (class, text.to_owned())),
            reason: mark.map(|_| self.text("loses the last field of long forms")),
            compare: (days < 100)
                .then(|| "/acme/pdf-forms/-/compare?from=2.3.0&to=2.4.1".to_owned()),
            is_yanked: mark.is_some(),
            is_revoked: false,
        }
    }

    /// Every page with a name.
    pub(super) fn all(&self) -> Vec<(&'static str, String)> {
        let mut pages = vec![
            ("home", self.home().render()),
            ("search", self.search(false).render()),
            ("search-empty", self.search(true).render()),
            ("publisher", self.publisher().render()),
            (
                "publish",
                PublishPage {
                    layout: self.layout("Publish a skill", "/publish").in_section(Section::Publish),
                    login: "prowess login --registry https://skills.example".to_owned(),
                    namespace: "ada".to_owned(),
                }
                .render(),
            ),
            ("status", self.status().render()),
            ("report", self.report().render()),
            ("sign-in", self.sign_in().render()),
            (
                "set-up",
                SetUpPage {
                    layout: self.layout("Make the administrator", "/set-up"),
                    token: self.text("token"),
                    error: Some(self.text("the password has fewer than 12 characters")),
                }
                .render(),
            ),
            ("moderation", self.moderation().render()),
            (
                "error",
                ErrorPage {
                    layout: self.layout("There is no such page", "/x"),
                    status: 404,
                    title: "There is no such page".to_owned(),
                    text: self.text("It may have moved, or it never existed."),
                    steps: vec![("Search for it".to_owned(), "/search".to_owned())],
                }
                .render(),
            ),
        ];
        pages.extend(self.skill_pages());
        pages.extend(self.account_pages());
        pages.into_iter().map(|(name, page)| (name, page.expect("templates render"))).collect()
    }

    fn home(&self) -> HomePage {
        let list = |title, skills| HomeList {
            title,
            address: "/search?sort=downloads",
            skills,
            empty: "There are no skills yet.",
        };
        HomePage {
            layout: self.layout("Skills for agents", "/").with_feed("/feed.atom", "New versions"),
            total: "214 skills".to_owned(),
            categories: ["Development", "Data", "DevOps", "Creative"]
                .map(|label| CategoryView {
                    label: label.to_owned(),
                    address: format!("/search?category={label}"),
                    count: "17".to_owned(),
                })
                .to_vec(),
            lists: vec![
                list("Most installed", self.cards()),
                list("New and signed", self.cards()[..2].to_vec()),
                list("Recently updated", Vec::new()),
            ],
            revoked: vec![RevokedView {
                skill: "mallory/helper".to_owned(),
                version: "1.2.0".to_owned(),
                address: "/mallory/helper/1.2.0".to_owned(),
                reason: self.text("sends SSH keys to a server"),
                at: at(1),
            }],
            login: "prowess login --registry https://skills.example".to_owned(),
        }
    }

    fn search(&self, is_empty: bool) -> SearchPage {
        let choice = |value: &str, is_chosen| Choice {
            value: value.to_owned(),
            label: self.text(value),
            count: Some("12".to_owned()),
            is_chosen,
        };
        let facet = |field, title, values: &[&str], on| FacetView {
            field,
            title,
            choices: values.iter().map(|value| choice(value, on)).collect(),
        };
        let mut layout = self.layout("pdf form", "/search").in_section(Section::Browse);
        layout.query = self.text("pdf form");
        SearchPage {
            query: layout.query.clone(),
            layout,
            total: if is_empty { "0 skills" } else { "214 skills" }.to_owned(),
            sorts: vec![choice("Best match", true), choice("Newest", false)],
            facets: vec![
                facet("can", "Can do", &["No network access", "No programs"], false),
                facet("tier", "Tier", &["verified", "community", "experimental"], true),
                facet("category", "Category", &["development", "data"], false),
                facet("agent", "Agent", &["claude-code", "codex"], false),
                facet("license", "Licence", &["MIT", "Apache-2.0"], false),
            ],
            results: if is_empty { Vec::new() } else { self.cards() },
            did_you_mean: Some((self.text("pdf forms"), "/search?q=pdf%20forms".to_owned())),
            active: vec![(self.text("Tier: verified"), "/search?q=pdf".to_owned())],
            without_filters: "/search?q=pdf".to_owned(),
            near: if is_empty { self.cards() } else { Vec::new() },
            next: (!is_empty).then(|| "/search?q=pdf&cursor=x".to_owned()),
        }
    }

    fn skill_pages(&self) -> Vec<(&'static str, askama::Result<String>)> {
        vec![
            ("skill", self.overview().render()),
            ("skill-tools", self.tools().render()),
            ("skill-files", self.files().render()),
            ("skill-file", self.file().render()),
            ("skill-versions", self.versions().render()),
            ("skill-dependencies", self.dependencies().render()),
            ("skill-security", self.security().render()),
            ("skill-reviews", self.reviews().render()),
            ("skill-compare", self.compare().render()),
        ]
    }

    fn overview(&self) -> OverviewPage {
        let frame = self.frame(Part::Overview);
        OverviewPage {
            layout: self.layout("acme/pdf-forms", "/acme/pdf-forms"),
            permissions: self.permissions(),
            permission_note: "This is what it declares. A run gets nothing else, and risky things are asked about first.",
            commands: install_commands("acme/pdf-forms", None, true),
            no_install: None,
            trust: self.trust(),
            score: Some("62 of 100".to_owned()),
            readme: markdown::render(&self.readme(), "pdf-forms", &frame.links),
            chart: Chart::new("install", &(0..90).map(|day| 200 + (day * 37) % 90 + day * 2).collect::<Vec<_>>(), NOW),
            details: vec![
                Detail { label: "Licence", value: self.text("Apache-2.0"), address: None, is_code: false },
                Detail { label: "Size", value: "12.4 KiB, 9 files".to_owned(), address: None, is_code: false },
                Detail { label: "SHA-256", value: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(), address: None, is_code: true },
                Detail { label: "Package", value: "pdf-forms-2.4.1.tar.gz".to_owned(), address: Some("/api/v1/skills/acme/pdf-forms/2.4.1/download".to_owned()), is_code: false },
            ],
            tags: vec![(self.text("pdf"), "/search?tag=pdf".to_owned()), (self.text("forms"), "/search?tag=forms".to_owned())],
            badge: BadgeView { address: "/acme/pdf-forms/-/badge.svg".to_owned(), alternative: "Prowess: 2.4.1, community".to_owned(), markdown: "[![Prowess](https://skills.example/acme/pdf-forms/-/badge.svg)](https://skills.example/acme/pdf-forms)".to_owned() },
            report: "/acme/pdf-forms/-/report".to_owned(),
            frame,
        }
    }

    fn parameters(&self) -> Vec<ParameterView> {
        let parameter = |name: &str, required| ParameterView {
            name: self.text(name),
            kind: self.text("string"),
            required,
            description: self.text("The form to fill in"),
            default: (!required).then(|| self.text("\"form.pdf\"")),
        };
        vec![parameter("path", true), parameter("output", false)]
    }

    fn tools(&self) -> ToolsPage {
        ToolsPage {
            layout: self.layout("Tools of acme/pdf-forms", "/acme/pdf-forms/-/tools"),
            frame: self.frame(Part::Tools),
            tools: vec![
                ToolView {
                    name: self.text("fill"),
                    description: self.text("Fill in a form"),
                    kind: kind_words("command"),
                    command: Some(self.text("qpdf --fill {{path}} {{output}}")),
                    parameters: self.parameters(),
                },
                ToolView {
                    name: self.text("flatten"),
                    description: self.text("Flatten a form"),
                    kind: kind_words("python"),
                    command: None,
                    parameters: Vec::new(),
                },
            ],
            inputs: self.parameters(),
            requirements: vec![("Programs", vec![self.text("qpdf"), self.text("pdftk")])],
            quizzes: vec![QuizView {
                title: self.text("The three traps"),
                description: Some(self.text("Before the first call")),
                is_gate: true,
                passing_score: "100 %".to_owned(),
                questions: vec![QuestionView {
                    question: self.text("Which unit does the field weight use?"),
                    options: vec![self.text("Kilograms"), self.text("Grams")],
                }],
            }],
            hooks: 2,
        }
    }

    fn files(&self) -> FilesPage {
        let file = |path: &str, mark: (&'static str, &str)| FileView {
            path: self.text(path),
            address: "/acme/pdf-forms/-/files/SKILL.md".to_owned(),
            size: "3.4 KiB".to_owned(),
            sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
            is_executable: path.ends_with("sh"),
            mark: (mark.0, mark.1.to_owned()),
        };
        FilesPage {
            layout: self.layout("Files of acme/pdf-forms", "/acme/pdf-forms/-/files"),
            frame: self.frame(Part::Files),
            files: vec![
                file("SKILL.md", ("ok", "nothing found")),
                file("scripts/post.sh", ("warn", "1 finding")),
                file("assets/form.pdf", ("none", "not analysed")),
            ],
            total: "3 files, 12.4 KiB".to_owned(),
            download: Some("/api/v1/skills/acme/pdf-forms/2.4.1/download".to_owned()),
        }
    }

    fn file(&self) -> FilePage {
        let source = self.text("#!/bin/sh\n# Sends the form.\nset -eu\nif [ -f \"$1\" ]; then\n  curl --fail -T \"$1\" https://api.acme.dev/forms\nfi\n");
        FilePage {
            layout: self.layout("scripts/post.sh", "/acme/pdf-forms/-/files/scripts/post.sh"),
            frame: self.frame(Part::Files),
            path: self.text("scripts/post.sh"),
            parts: vec![("scripts".to_owned(), None), (self.text("post.sh"), None)],
            size: "133 B".to_owned(),
            sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
            raw: "/acme/pdf-forms/2.4.1/scripts/post.sh".to_owned(),
            lines: highlight::lines(&source, Language::Shell),
            note: None,
            findings: vec![(5, self.text("sends a file to a host"), "warn")],
        }
    }

    fn versions(&self) -> VersionsPage {
        VersionsPage {
            layout: self.layout("Versions of acme/pdf-forms", "/acme/pdf-forms/-/versions"),
            frame: self.frame(Part::Versions),
            versions: vec![
                self.version("2.4.1", None, 3),
                self.version("2.3.0", Some(("warn", "yanked")), 40),
                self.version("1.0.0", None, 200),
            ],
            comparable: ["2.4.1", "2.3.0", "1.0.0"].map(str::to_owned).to_vec(),
            can_manage: true,
            can_revoke: true,
            deprecated: Some(self.text("use acme/forms")),
        }
    }

    fn dependencies(&self) -> DependenciesPage {
        let neighbour = |name: &str| Neighbour {
            namespace: "acme".to_owned(),
            name: name.to_owned(),
            exists: name != "gone",
        };
        let row = |name: &str| DependencyRow {
            skill: format!("acme/{name}"),
            address: (name != "gone").then(|| format!("/acme/{name}")),
            range: self.text("^1.0.0"),
            is_optional: name == "gone",
        };
        DependenciesPage {
            layout: self.layout("Dependencies of acme/pdf-forms", "/acme/pdf-forms/-/dependencies"),
            frame: self.frame(Part::Dependencies),
            graph: graph::draw(
                "acme/pdf-forms",
                &["invoices", "contracts", "onboarding"].map(neighbour),
                &["pdf-core", "gone"].map(neighbour),
            ),
            dependencies: vec![row("pdf-core"), row("gone")],
            dependents: vec![row("invoices"), row("contracts"), row("onboarding")],
            dependent_count: "3 skills depend on it".to_owned(),
            more_dependents: 0,
        }
    }

    fn security(&self) -> SecurityPage {
        let finding = |severity: &str, class| FindingView {
            rule: "sends-files".to_owned(),
            severity: severity.to_owned(),
            class,
            message: self.text("sends a file to a host"),
            place: self.text("scripts/post.sh:5"),
            address: "/acme/pdf-forms/-/files/scripts/post.sh#L5".to_owned(),
            excerpt: self.text("curl --fail -T \"$1\" https://api.acme.dev/forms"),
        };
        SecurityPage {
            layout: self.layout("Security of acme/pdf-forms", "/acme/pdf-forms/-/security"),
            frame: self.frame(Part::Security),
            score: Some("62 of 100".to_owned()),
            trust: self.trust(),
            scan: Some(ScanView {
                scanned: at(3),
                scanner: "0.1.0".to_owned(),
                verdict: ("warn", "needs a review".to_owned()),
                findings: vec![finding("high", "danger"), finding("low", "none")],
                more_findings: 3,
                not_analysed: vec![(self.text("assets/form.pdf"), self.text("not a text"))],
            }),
            signatures: vec![SignatureView {
                state: self.trust().remove(0),
                scheme: "oms".to_owned(),
                key_id: "SHA256:2f1c".to_owned(),
                identity: Some(self.text("release@acme.example")),
                file: self.text("skill.oms.sig"),
                made: Some(at(3)),
            }],
            provenance: Some(ProvenanceView {
                lines: vec![
                    (
                        "Repository",
                        self.text("acme/skills"),
                        Some("https://code.example/acme/skills".to_owned()),
                    ),
                    ("Commit", self.text("1f3a9c0"), None),
                ],
            }),
            permissions: self.permissions(),
            capabilities: vec![CapabilityView {
                kind: "host".to_owned(),
                text: self.text("api.acme.dev"),
                place: self.text("scripts/post.sh:5"),
                address: "/acme/pdf-forms/-/files/scripts/post.sh#L5".to_owned(),
            }],
            more_capabilities: 1,
            sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
            content_digest: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                .to_owned(),
            report: "/acme/pdf-forms/-/report?reason=false-positive".to_owned(),
        }
    }

    fn reviews(&self) -> ReviewsPage {
        ReviewsPage {
            layout: self.layout("Reviews of acme/pdf-forms", "/acme/pdf-forms/-/reviews"),
            frame: self.frame(Part::Reviews),
            mean: Some("4.25".to_owned()),
            count: "8 ratings".to_owned(),
            histogram: [(5, 5), (4, 2), (3, 0), (2, 0), (1, 1)]
                .map(|(rating, count)| (rating, count.to_string(), count * 100 / 8))
                .to_vec(),
            reviews: vec![
                ReviewRow {
                    username: "grace".to_owned(),
                    rating: 5,
                    text: self.text(
                        "Filled in 40 forms without a mistake.\n\nAsk it to check the dates.",
                    ),
                    version: Some("2.3.0".to_owned()),
                    written: at(12),
                    is_own: false,
                },
                ReviewRow {
                    username: "ada".to_owned(),
                    rating: 3,
                    text: self.text("Slow with XFA."),
                    version: None,
                    written: at(50),
                    is_own: true,
                },
            ],
            next: Some("/acme/pdf-forms/-/reviews?offset=20".to_owned()),
            form: ReviewForm::Open(Some(3)),
        }
    }

    fn compare(&self) -> ComparePage {
        let row = |before: &str, after: &str, sign, class, text: &str| DiffRow {
            before: before.to_owned(),
            after: after.to_owned(),
            sign,
            class,
            text: self.text(text),
        };
        ComparePage {
            layout: self.layout(
                "Changes from 2.3.0 to 2.4.1",
                "/acme/pdf-forms/-/compare?from=2.3.0&to=2.4.1",
            ),
            frame: self.frame(Part::Versions),
            from: "2.3.0".to_owned(),
            to: "2.4.1".to_owned(),
            versions: ["2.4.1", "2.3.0", "1.0.0"].map(str::to_owned).to_vec(),
            swapped: "/acme/pdf-forms/-/compare?from=2.4.1&to=2.3.0".to_owned(),
            summary: "1 file added, 1 changed, none removed".to_owned(),
            new_permissions: self.permissions()[..1].to_vec(),
            gone_permissions: Vec::new(),
            lists: vec![("Tools", vec![self.text("flatten")], vec![self.text("merge")])],
            proof: vec![
                ("Tier", "community".to_owned(), "experimental".to_owned(), true),
                ("Signatures", "1, oms".to_owned(), "none".to_owned(), true),
            ],
            files: vec![FileChangeView {
                id: "file-1".to_owned(),
                path: self.text("SKILL.md"),
                sign: "~",
                word: "changed",
                added: 2,
                removed: 1,
                lines: vec![
                    row("12", "12", " ", "", "name: pdf-forms"),
                    row("", "13", "+", "add", "network: api.acme.dev"),
                    row("13", "", "-", "del", "network: none"),
                    row("", "", "", "skip", "48 unchanged lines"),
                ],
                note: None,
                address: Some("/acme/pdf-forms/-/files/SKILL.md".to_owned()),
            }],
            same_files: 5,
        }
    }

    fn publisher(&self) -> PublisherPage {
        PublisherPage {
            layout: self
                .layout("acme", "/acme")
                .with_feed("/acme/-/feed.atom", "New versions of acme"),
            namespace: "acme".to_owned(),
            display_name: Some(self.text("Acme Tools")),
            kind: "Organisation",
            since: at(500),
            skill_count: "3 skills".to_owned(),
            installs: "52,118 installs".to_owned(),
            trust: self.trust(),
            members: vec![MemberView { username: "ada".to_owned(), role: "owner", since: at(500) }],
            keys: vec![(self.text("SHA256:2f1c"), None), ("SHA256:0a11".to_owned(), Some(at(90)))],
            skills: self.cards(),
            next: None,
            can_manage: true,
        }
    }

    fn status(&self) -> StatusPage {
        StatusPage {
            layout: self.layout("Status", "/status"),
            summary: ("ok", "circle-check", "Everything works.".to_owned()),
            lines: vec![
                ("Database", "sqlite, 0.2 ms".to_owned(), "the time that a query takes"),
                ("Search", "up to date".to_owned(), "how far the index is behind the database"),
            ],
        }
    }

    fn report(&self) -> ReportPage {
        ReportPage {
            layout: self.layout("Report acme/pdf-forms", "/acme/pdf-forms/-/report").unlisted(),
            skill: "acme/pdf-forms".to_owned(),
            address: "/acme/pdf-forms".to_owned(),
            version: self.text("2.4.1"),
            reasons: reasons(),
            chosen: "malicious".to_owned(),
            error: None,
        }
    }

    fn sign_in(&self) -> SignInPage {
        let mut layout = self.layout("Sign in", "/sign-in").in_section(Section::Account).unlisted();
        layout.viewer = None;
        SignInPage {
            layout,
            next: self.text("/account"),
            username: self.text("ada"),
            error: Some(self.text("the username or the password is wrong")),
            wants_code: true,
        }
    }

    fn moderation(&self) -> ModerationPage {
        ModerationPage {
            layout: self
                .layout("Moderation", "/moderation")
                .in_section(Section::Moderation)
                .unlisted(),
            held: vec![HeldView {
                card: self.card("pdf-form", "experimental", RiskLevel::High),
                reason: reason_words("name.typosquat:acme/pdf-forms"),
                code: "name.typosquat:acme/pdf-forms".to_owned(),
                is_hidden: false,
                state: "Held",
            }],
            reports: vec![ReportRow {
                skill: "mallory/helper".to_owned(),
                address: "/mallory/helper".to_owned(),
                namespace: "mallory".to_owned(),
                name: "helper".to_owned(),
                version: Some("1.2.0".to_owned()),
                username: "grace".to_owned(),
                reason: "malicious".to_owned(),
                detail: self.text("scripts/setup.sh reads ~/.ssh in line 12."),
                reported: at(1),
            }],
        }
    }

    fn account_pages(&self) -> Vec<(&'static str, askama::Result<String>)> {
        let layout = |title: &str, path: &str| {
            self.layout(title, path).in_section(Section::Account).unlisted()
        };
        let tabs = super::account::tabs;
        vec![
            (
                "account",
                AccountPage {
                    layout: layout("Account", "/account"),
                    tabs: tabs("/account"),
                    username: "ada".to_owned(),
                    memberships: vec![
                        MembershipView { namespace: "ada".to_owned(), kind: "User", role: "owner" },
                        MembershipView {
                            namespace: "acme".to_owned(),
                            kind: "Organisation",
                            role: "publisher",
                        },
                    ],
                    invitations: vec![InvitationView {
                        namespace: "tools".to_owned(),
                        role: "publisher",
                        invited_by: "grace".to_owned(),
                        is_transfer: false,
                        expires: at(-6),
                    }],
                    error: None,
                }
                .render(),
            ),
            (
                "account-tokens",
                TokensPage {
                    layout: layout("Tokens", "/account/tokens"),
                    tabs: tabs("/account/tokens"),
                    tokens: vec![TokenView {
                        id: "t1".to_owned(),
                        name: self.text("laptop"),
                        scopes: vec!["publish:acme/*".to_owned()],
                        created: at(20),
                        expires: Some(at(-70)),
                        last_used: None,
                    }],
                    made: Some("prw_0123456789abcdef".to_owned()),
                    namespace: "ada".to_owned(),
                    error: None,
                }
                .render(),
            ),
            (
                "account-publishers",
                TrustedPublishersPage {
                    layout: layout("Trusted publishers", "/account/trusted-publishers"),
                    tabs: tabs("/account/trusted-publishers"),
                    publishers: vec![TrustedPublisherView {
                        skill: "acme/*".to_owned(),
                        issuer: self.text("https://issuer.example"),
                        repository: self.text("acme/skills"),
                        workflow: self.text("release.yml"),
                        environment: self.text("release"),
                    }],
                    skills: vec!["acme/pdf-forms".to_owned()],
                    namespace: "ada".to_owned(),
                    error: Some(self.text("the issuer is not an https: address")),
                }
                .render(),
            ),
            (
                "account-two-factor",
                TwoFactorPage {
                    layout: layout("Two-factor sign-in", "/account/two-factor"),
                    tabs: tabs("/account/two-factor"),
                    state: TwoFactorState::Confirming {
                        secret: "JBSW Y3DP EHPK 3PXP".to_owned(),
                        uri: "otpauth://totp/Prowess:ada?secret=JBSWY3DPEHPK3PXP".to_owned(),
                        picture: QrDrawing::new("ada"),
                    },
                    error: None,
                }
                .render(),
            ),
        ]
    }
}

#[cfg(test)]
mod tests;
